"""Foreign text to readings. `kinds` lists the texts, `paste` takes a file apart."""

"""What is known: rows with a source and a date, read once from package data."""

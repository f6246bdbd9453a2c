"""An answer as people and programs read it. Every foreign string is escaped by its renderer."""

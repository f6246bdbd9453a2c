"""The rows of `readers.kinds`, one module for each family of tools."""

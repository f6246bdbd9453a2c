"""Reads facts about GPU hosts and says what to do about them."""

__version__ = "0.1.0"

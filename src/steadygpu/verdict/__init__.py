"""Findings to one answer. `rule` holds the contract of a rule, `judge` runs them."""

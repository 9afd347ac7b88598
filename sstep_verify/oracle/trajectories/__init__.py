"""A whole run again: to many digits, or enclosed."""

"""Searches for optima; they prove nothing."""

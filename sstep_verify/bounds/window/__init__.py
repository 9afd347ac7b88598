"""Bounds of replayed windows."""

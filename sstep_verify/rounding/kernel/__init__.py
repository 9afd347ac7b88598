"""Bounds of kernel entries and their products."""

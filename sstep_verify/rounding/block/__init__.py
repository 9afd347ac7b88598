"""Bounds of the block systems of kernel ridge regression."""

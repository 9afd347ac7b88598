"""Bounds at the optimum."""

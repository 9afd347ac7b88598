"""Bounds of whole trajectories from the start."""

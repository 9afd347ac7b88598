"""Stability campaigns: medians over the seeds, heat maps, curves, and the part of the page."""

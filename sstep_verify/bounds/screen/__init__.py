"""Bounds of whole windows, propagated with signs."""

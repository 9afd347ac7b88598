"""Checks on what a run records besides a: values it reports, panels, steps, counts, digests, a state."""

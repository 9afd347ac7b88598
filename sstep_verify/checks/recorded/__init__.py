"""Checks on what a run records beside a: values it reports, panels, steps, counts, digests, a state."""

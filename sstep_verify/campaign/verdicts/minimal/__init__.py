"""Minimal examples: a problem as small as can be found on which a solver still fails alike."""

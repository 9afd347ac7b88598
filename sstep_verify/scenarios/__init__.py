"""DRAWN: problems made from a few numbers: by seed, or by edge family."""

"""DRAWN: problems made from a few numbers: by seed, by Hypothesis, by edge family."""

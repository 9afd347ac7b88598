"""HOW GOOD: series for figures (gap, relative error, drift); never verdicts."""

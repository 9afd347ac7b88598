"""Local bounds of single steps, judged in float64."""

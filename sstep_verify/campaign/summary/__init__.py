"""Sums up the verdicts of a campaign: status of each case, one sentence, exit code."""

"""Numbers with a proven radius: kernel entries, sums, block solutions."""

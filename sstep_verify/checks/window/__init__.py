"""Windows of a run: chosen, replayed, compared, explained."""

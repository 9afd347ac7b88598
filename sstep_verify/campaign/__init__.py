"""Campaigns: what is run, the runner, the roll-up."""

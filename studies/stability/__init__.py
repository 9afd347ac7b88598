"""The kind of campaign that measures errors of s-step runs against exact trajectories."""

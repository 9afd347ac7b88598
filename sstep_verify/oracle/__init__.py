"""TRUTH: exact window replays, exact trajectories, enclosed optima."""

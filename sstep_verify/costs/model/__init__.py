"""A model of time per iteration by phase, fitted to published timings or to this machine."""

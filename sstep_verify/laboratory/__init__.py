"""Laboratory: what is timed - runs with latency injected into them, and what a speed-up is made of."""

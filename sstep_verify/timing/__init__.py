"""What is timed: this machine for predictions, runs with latency injected, what a speed-up is made of."""

"""HOW A RUN IS MADE: what it was asked for is written down, and what it changed is put back."""

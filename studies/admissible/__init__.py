"""One small correct solver for everything that a solver may declare, every operation one IEEE operation."""

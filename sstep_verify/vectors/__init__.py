"""VECTORS: small problems with certified trajectories, for solvers that no part of this package runs."""

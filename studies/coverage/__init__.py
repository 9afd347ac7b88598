"""Every check, crossed with every freedom that a solver and a case have, on runs of correct solvers."""

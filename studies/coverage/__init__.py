"""Every check, crossed with every implementation choice of a solver and a case, on correct runs."""

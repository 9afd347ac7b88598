"""HOW it is solved: the production solver, and adapters around other solvers."""

"""Training as `sstep-verify solve` does it: read, share out, train, measure, write.

The steps, in order, and where each is: `solver.settings` (everything asked for, checked once),
`pipeline` (the order of the steps), `samples` (data are read and their features shared out over the ranks),
`checkpoint` (where an earlier run stopped), `decisions` (exchange, interval),
`solver.training` (intervals of windows) with `production.monitor` (what is measured),
`prediction`, `summary` (what is said at the end).
"""

from sstep_verify.training.pipeline import Listener, solve

__all__ = ["Listener", "solve"]

"""Bound C for K-SVM: how far a whole run may be from the exact trajectory of the same stream.

Bound B (bounds/window/svm.py) follows the error through one window: every local error is a symbol, the
error of each coordinate a signed combination of symbols, a free step maps combinations exactly as it maps
errors, a certainly clipped coordinate has none, and a clip that the propagated radius cannot decide,
whose factor lies somewhere in [0, 1], becomes a new symbol of that radius. No step uses that the run
began with no error. So the same propagation goes through all windows of a run, with what changes at the
start of each:

* the stale products are made from the solver's a as it is then, ``|a^_i| <= |a_i| + radius_i``;
* the increments of the window, which enter the corrections, begin anew;
* or from the weights that it carries, whose drift grows beside (bounds/carried_run.py);
* where a was frozen, storing it at the window's end has added a rounding to each drawn coordinate.

Signed symbols are what keeps this of use: with absolute values the radius doubles in every step, while
the true sensitivity hardly grows. A first-order Jacobian of the run would be no bound, for it decides
every clip as the exact run does.

The oracle's run rounds as well, to many digits; the proven error of each of its steps is added to the
local error, so that the radius covers the distance of the two runs.

Underflow of a product or quotient is part of the local error. Where a size overflows float64 the bound is
infinite from that step on.
"""

from __future__ import annotations

from sstep_verify.bounds.window.svm_run import svm_trajectory_bound

__all__ = ["svm_trajectory_bound"]

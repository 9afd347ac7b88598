"""Stagnation: where training stops because float64 attains no more, although the tolerance is not reached.

Looked at when 16, 32, 64, ... measurements were made, from the history alone, so that all ranks and a
resumed run decide alike. Training is *stagnant* iff

1. no progress: the least relative value of the later half of the measurements is more than half of that of
   the earlier half. Whatever converges like 1/t or faster halves it where t doubles;
2. out of reach: the tolerance is `FAR` times further below that least value than that is below the later
   half's median, so that it is not reached by the noise of the measurements either;
3. at the level: it is at most what float64 attains, computed at the current dual vector
   (`Monitor.attainable`): one rounding of every term changes gap or residual by as much.

K-SVM: each margin ``(Qa)_i`` is a sum of terms ``Q_ij a_j``; one rounding of each changes it by at most
``u sum_j |Q_ij| |a_j|``, and the gap, whose terms hold it times at most C (L1; for L2 its rate near the
optimum is less), by at most C times the sum. K-RR: one rounding of each term of ``y - m a - K a / lambda``
changes its norm by at most ``u || |y| + m |a| + |K| |a| / lambda ||``. Real roundings cancel: runs on duke,
colon-cancer and diabetes_scale stagnated at 0.04 to 0.8 of it.

1 and 2 are needed because the level is an upper bound: a run below it that still falls goes on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sstep_verify.solvers.production.training_plan import Measured

FIRST = 16
"""Measurements at which is looked for the first time; then at twice as many, and so on."""

PROGRESS, FAR = 0.5, 1.5
"""Share of the least value that must not be reached any more; see condition 2."""


def best_without_progress(history: Sequence[Measured], tolerance: float) -> float | None:
    """The least relative value of the later half, where conditions 1 and 2 hold; else None.

    Parameters
    ----------
    history : sequence of Measured
        All measurements.
    tolerance : float
        Where training is to end; 0 for never, and then it is never stagnant.
    """
    count = len(history)
    if tolerance <= 0 or count < FIRST or count & (count - 1):
        return None
    relative = [found.values.relative for found in history]
    later = sorted(relative[count // 2 :])
    least, median = later[0], later[len(later) // 2]
    if least <= PROGRESS * min(relative[: count // 2]) or not least < math.inf:
        return None
    return least if least * (least / median) >= FAR * tolerance else None

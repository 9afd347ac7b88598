"""Check determinism: two runs of the same request end in the same bits.

Nothing in a run may depend on anything but its request: not on the time, the memory's earlier content,
the order in which threads finish, or what was run before. The bound is 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.check import Check
from sstep_verify.checks.shared.every_s import judge_every_s
from sstep_verify.checks.shared.finding import Finding
from sstep_verify.checks.shared.outcome import planted_term, record
from sstep_verify.oracle.facade import Oracle
from sstep_verify.solver import RunRequest
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Verdict

CHECK = "determinism"

CAUSES = (
    "sums whose order depends on threads or on arrival, memory used before it is written, a generator "
    "without a seed, state that one run leaves to the next"
)


def keys(s: int) -> tuple[str, str]:
    """Keys of the two runs of an s."""
    return f"determinism/first/s={s}", f"determinism/second/s={s}"


def runs(case: Case) -> dict[str, RunRequest]:
    """Two equal short runs of every s, recorded half way and at the end."""
    requests: dict[str, RunRequest] = {}
    for s in case.s_values:
        iterations = min(case.short, case.iterations)
        step = math.lcm(s, case.unit)
        half = iterations // 2 // step * step
        request = RunRequest(case.problem, case.stream, s, iterations, record=(half,))
        requests |= dict.fromkeys(keys(s), request)
    return requests


def judge(case: Case, trajectories: Mapping[str, Trajectory], oracle: Oracle) -> list[Verdict]:
    """Compare both runs of every s, bit for bit; the oracle is not used.

    Parameters and the list returned are those of `judge_every_s`.
    """
    return judge_every_s(case, trajectories, _judge, keys)


def _judge(case: Case, s: int, one: Trajectory, other: Trajectory) -> Verdict:
    differing, where = _differences(one, other)
    compared = int(one.alphas.size) if one.known is None else int(one.known.sum()) * len(one.alphas)
    what = (
        f"two runs of {case.declaration.name}, {one.length} iterations each: values with other bits{where}"
    )
    moved = int(np.count_nonzero(one.alphas != one.alphas[0]))
    still = f"a is what it was at the start at all {one.iterations.size} recorded iterations"
    return record(
        CHECK,
        case,
        s,
        Finding(what, differing, differing, 0.0),
        units="values",
        planned=compared,
        executed=compared,
        origin="a run depends on its request alone, so the bound is 0",
        causes=CAUSES,
        terms=(planted_term("run-dependent rounding", moved, 0.0, compared, compared, still),),
        evidence={"iterations": one.iterations.tolist(), "values that moved": moved},
    )


def _differences(one: Trajectory, other: Trajectory) -> tuple[float, str]:
    """Values of a whose bits differ, and where the first of them stands."""
    same_shape = one.alphas.shape == other.alphas.shape and one.alphas.dtype == other.alphas.dtype
    if not same_shape or not np.array_equal(one.iterations, other.iterations):
        shapes = f"{one.alphas.dtype} {one.alphas.shape} against {other.alphas.dtype} {other.alphas.shape}"
        return float(max(one.alphas.size, other.alphas.size)), f" (they recorded {shapes})"
    width = one.alphas.dtype.itemsize
    bits = [np.ascontiguousarray(run.alphas).view(np.uint8).reshape(-1, width) for run in (one, other)]
    # Of a longdouble of 16 bytes 6 are padding, which holds anything.
    used = 10 if one.alphas.dtype == np.longdouble and width == 16 else width
    differ = (bits[0][:, :used] != bits[1][:, :used]).any(axis=1).reshape(one.alphas.shape)
    if not differ.any():
        return 0.0, ""
    row, coordinate = (int(k) for k in np.argwhere(differ)[0])
    first, second = one.alphas[row, coordinate].item(), other.alphas[row, coordinate].item()
    place = f"iteration {int(one.iterations[row])}, coordinate {coordinate}"
    return float(differ.sum()), f" (first at {place}: {first!r} and {second!r})"


DECLARED = Check(
    id=CHECK,
    text=__doc__,
    needs="two equal short runs of every s, recorded half way and at the end",
    planted="rounding that depends on the run, on every value that moved",
    runs=runs,
    judge=judge,
    level=0,
)

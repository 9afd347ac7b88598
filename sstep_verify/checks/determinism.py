"""Check determinism: runs of the same request end in the same bits, however they are made.

Nothing in a run may depend on anything but its request: not on the time, the memory's earlier content,
the order in which threads finish, or what was run before. Nor may it depend on what is kept of it. A solver
may have another way to make its runs (the shipped ones: in one call, without log and records, as a user
makes them; continued from a checkpoint; by the command, through files). Then each plain run is made again
that way, and ends with the same alpha and the same claims. The bound is 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from sstep_verify.checks.shared.case import Case, Check, plain_request, run_key
from sstep_verify.checks.shared.comparison import wrong
from sstep_verify.checks.shared.outcome import verdict_from
from sstep_verify.checks.shared.terms import planted_term
from sstep_verify.oracle.facade import Oracle
from sstep_verify.protocol import RunRequest
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Coverage, Place, Verdict, Why

ID = "determinism"

AS_USED = "as-used"

AGAIN = {
    AS_USED: "as a user makes it (in one call, without log and records)",
    "resumed": "ended early and gone on with from its checkpoint",
}
"""Variants that make a run again in another way, which must end with the same bits, and which way it is."""

SECOND = "second run of the same request"
"""What is compared with the first of two equal short runs."""

AGAIN_OF = {way: f"run made again {how}" for way, how in AGAIN.items()}
"""What is compared with a plain run, by the way in which it is made again."""


def keys(s: int) -> tuple[str, str]:
    """Keys of the two short runs of an s."""
    return f"determinism/first/s={s}", f"determinism/second/s={s}"


def again_key(way: str, s: int) -> str:
    """Key of the plain run of an s, made again in a way of `AGAIN`."""
    return f"determinism/{way}/s={s}"


def runs(case: Case) -> dict[str, RunRequest]:
    """Two equal short runs of every s, recorded half way and at the end; plain ones to be made again.

    A solver whose runs are made again and show nothing but their end (level 0) makes no short ones.
    """
    requests: dict[str, RunRequest] = {}
    again = _ways(case)
    for s in case.s_values:
        if again:
            requests[run_key(s)] = plain_request(case, s)
        if again and case.formulas.level == 0:
            continue
        iterations = min(case.short, case.iterations)
        step = math.lcm(s, case.unit)
        half = iterations // 2 // step * step
        request = RunRequest(case.problem, case.stream, s, iterations, record=(half,))
        requests |= dict.fromkeys(keys(s), request)
    return requests


def continued(case: Case, trajectories: Mapping[str, Trajectory]) -> dict[str, RunRequest]:
    """Every plain run again in each way, as long as it was, in one call, and nothing kept but its end."""
    requests: dict[str, RunRequest] = {}
    for s in case.s_values:
        for way in _ways(case):
            requests |= made_again(case, way, s, trajectories)
    return requests


def made_again(
    case: Case, way: str, s: int, trajectories: Mapping[str, Trajectory]
) -> dict[str, RunRequest]:
    """The plain run of an s again in a way of `AGAIN`, by key."""
    length = trajectories[run_key(s)].length
    given = case.problem, case.stream, s, length, case.start, case.initial
    return {again_key(way, s): RunRequest(*given, variant=way)}


def _ways(case: Case) -> list[str]:
    return [way for way in AGAIN if way in case.variants]


def judge(case: Case, trajectories: Mapping[str, Trajectory], oracle: Oracle) -> list[Verdict]:
    """Compare the runs of every s, bit for bit.

    Parameters are those of `Check.judge`; the oracle is not used.

    Returns
    -------
    list of Verdict
        One per s.
    """
    return [_judge(case, s, trajectories) for s in case.s_values]


def _pairs(
    case: Case, s: int, trajectories: Mapping[str, Trajectory]
) -> Iterator[tuple[str, Trajectory, Trajectory, np.ndarray]]:
    """The second run by name, the two runs, and the alpha at which both began."""
    if keys(s)[0] in trajectories:
        # Two requests for a short run ask for no claims.
        run, again = (replace(trajectories[key], claims={}) for key in keys(s))
        yield SECOND, run, again, run.alphas[0]
    for way in _ways(case):
        plain = trajectories[run_key(s)]
        yield AGAIN_OF[way], _end(plain), _end(trajectories[again_key(way, s)]), plain.alphas[0]


def _judge(case: Case, s: int, trajectories: Mapping[str, Trajectory]) -> Verdict:
    pairs = list(_pairs(case, s, trajectories))
    # NaN and infinities hide how a number was rounded.
    moved = sum(int((np.isfinite(run.alphas) & (run.alphas != begin)).sum()) for _, run, _, begin in pairs)
    differences = [(what, *_differences(run, again)) for what, run, again, _ in pairs]
    first = next((replace(place, run=what) for what, count, place in differences if count), None)
    compared = sum(_compared(one) for _, one, *_ in pairs)
    counts = compared, compared
    return verdict_from(
        ID,
        case,
        s,
        wrong(sum(count for _, count, _ in differences), place=first),
        units="values",
        planned=compared,
        executed=compared,
        terms=(planted_term("run-dependent rounding", moved, 0.0, *counts, Why.NO_EFFECT, moved),),
        evidence={"compared": [what for what, *_ in differences], "values_moved": moved},
        coverage=Coverage("run", len(pairs), len(pairs)),
    )


def _compared(run: Trajectory) -> int:
    """Values that are compared in a run."""
    known = int(run.alphas.size) if run.known is None else int(run.known.sum()) * len(run.alphas)
    return known + len(run.claims)


def _end(run: Trajectory) -> Trajectory:
    """The end of a run alone."""
    return replace(run, iterations=run.iterations[-1:], alphas=run.alphas[-1:])


def _differences(run: Trajectory, again: Trajectory) -> tuple[float, Place]:
    """Values of alpha, and claims, whose bits differ, and the place of the first."""
    same_shape = run.alphas.shape == again.alphas.shape and run.alphas.dtype == again.alphas.dtype
    if not same_shape or not np.array_equal(run.iterations, again.iterations):
        return float(max(run.alphas.size, again.alphas.size)), Place(item="recorded shape")
    width = run.alphas.dtype.itemsize
    bits = [np.ascontiguousarray(each.alphas).view(np.uint8).reshape(-1, width) for each in (run, again)]
    # Of a longdouble of 16 bytes 6 are padding, which holds anything.
    used = 10 if run.alphas.dtype == np.longdouble and width == 16 else width
    differ = (bits[0][:, :used] != bits[1][:, :used]).any(axis=1).reshape(run.alphas.shape)
    both = run.claims.keys() & again.claims.keys()
    claims = sorted(name for name in both if not _same(run.claims[name].value, again.claims[name].value))
    if not differ.any():
        return float(len(claims)), Place(item=f"claimed {claims[0]}") if claims else Place()
    row, coordinate = (int(k) for k in np.argwhere(differ)[0])
    first, second = run.alphas[row, coordinate].item(), again.alphas[row, coordinate].item()
    where = int(run.iterations[row])
    return float(differ.sum()) + len(claims), Place(where, where, coordinate, found=second, expected=first)


def _same(one: float, other: float) -> bool:
    """Whether two numbers have the same bits."""
    return np.float64(one).tobytes() == np.float64(other).tobytes()


CHECK = Check(
    id=ID,
    text=__doc__,
    needs="two equal short runs of every s, recorded half way and at the end, and the plain run again in "
    "each way that the solver has",
    planted="rounding that depends on the run, on every value that moved",
    runs=runs,
    judge=judge,
    continued=continued,
    level=0,
)

"""Check message-count: s iterations per communication, counted.

The counts a run reports are compared with what the declared exchange implies, exactly. For "allreduce",
with W = ceil(H/s) windows and d_k distinct columns in window k,

    windows = W,   panel columns = sum d_k,   collectives = W + setup,   words = m (sum d_k + setup),

where setup is 1 for RBF by norm expansion (the squared norms, once) and else 0. For "kept-gram" all m
columns are formed once, R (the declared option "gram rows") in a collective, and never again as long as
the problem stays:

    panel columns = m or 0,   collectives = ceil(m / R) or 0, + setup,
    words = m (panel columns + setup).

One process counts what it would send. Counts alone are evidence that s was used: the iterates are not.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sstep_verify.checks.case import Case
from sstep_verify.checks.every_s import judge_every_s, plain_runs
from sstep_verify.checks.outcome import Finding, decisive, planted_term, record
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import RBFKernel
from sstep_verify.solver import RunRequest
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Term, Verdict

CHECK = "message-count"

COUNTED = ("windows", "panel columns", "collectives", "words")

DRAWS_AT_ONCE = 1 << 20
"""Drawn coordinates that are sorted at once."""

CAUSES = (
    "communication in every iteration instead of every window, columns sent as often as they are drawn, "
    "a message beside the declared ones, another set-up than the declared one, a window that is not s steps"
)


def runs(case: Case) -> dict[str, RunRequest]:
    """The plain run of every s."""
    return plain_runs(case)


def judge(case: Case, trajectories: Mapping[str, Trajectory], oracle: Oracle) -> list[Verdict]:
    """Compare the counts of every plain run with the declared exchange; the oracle is not used.

    Parameters and the list returned are those of `judge_every_s`. A solver that declares no exchange has
    no verdict; one that declares it and counts nothing is INCONCLUSIVE.
    """
    return judge_every_s(case, trajectories, _judge) if case.declaration.exchange else []


def _judge(case: Case, s: int, trajectory: Trajectory) -> Verdict:
    distinct, windows = distinct_columns(case, s, trajectory)
    expected = [_allreduce(case, distinct, windows)]
    if case.declaration.exchange == "kept-gram":
        expected = [_kept_gram(case, windows, formed) for formed in (True, False)]
    counts = trajectory.counters
    known = [name for name in COUNTED if name in counts]
    # A kept Gram matrix is formed by the first run that needs it, and later runs find it there.
    best = min(expected, key=lambda wanted: sum(counts[name] != wanted[name] for name in known))
    findings = [
        Finding(
            f"{case.declaration.name}, exchange {case.declaration.exchange}, {trajectory.length} "
            f"iterations: {name} counted {counts[name]}, expected {best[name]}; difference",
            abs(counts[name] - best[name]),
            abs(counts[name] - best[name]),
            0.0,
        )
        for name in known
    ]
    if len(known) < len(COUNTED):
        missing = ", ".join(name for name in COUNTED if name not in counts)
        findings.append(
            Finding(f"the declared exchange is not counted: {missing} missing", 0.0, np.inf, 0.0)
        )
    return record(
        CHECK,
        case,
        s,
        decisive(findings),
        units="messages or words",
        planned=len(COUNTED),
        executed=len(known),
        origin="what the declared exchange implies, so the bound is 0",
        causes=CAUSES,
        terms=_terms(case, s, trajectory, distinct, windows),
        evidence={"counted": {name: counts[name] for name in known}, "expected": best},
    )


def distinct_columns(case: Case, s: int, trajectory: Trajectory) -> tuple[int, int]:
    """Distinct coordinates, summed over the windows of a run, and the number of windows."""
    block, length = case.stream.block, trajectory.length
    step = max(DRAWS_AT_ONCE // (s * block), 1) * s
    total = 0
    for first in range(0, length, step):
        last = min(first + step, length)
        draws = case.stream.blocks(trajectory.start + first, trajectory.start + last)
        full = draws.shape[0] // s * s
        for part in (draws[:full].reshape(-1, s * block), draws[full:].reshape(1, -1)):
            if part.size:
                ordered = np.sort(part, axis=1)
                total += part.shape[0] + int(np.count_nonzero(ordered[:, 1:] != ordered[:, :-1]))
    return total, -(-length // s)


def _setup(case: Case) -> int:
    return int(isinstance(case.problem.kernel, RBFKernel) and case.declaration.rbf == "norm-expansion")


def _allreduce(case: Case, distinct: int, windows: int) -> dict[str, int]:
    samples, setup = case.problem.samples, _setup(case)
    return dict(
        zip(COUNTED, (windows, distinct, windows + setup, samples * (distinct + setup)), strict=True)
    )


def _kept_gram(case: Case, windows: int, formed: bool) -> dict[str, int]:
    samples, setup = case.problem.samples, _setup(case)
    rows = min(int(str(case.declaration.options.get("gram rows", samples))), samples)
    columns, messages = (samples, -(-samples // rows)) if formed else (0, 0)
    return dict(
        zip(COUNTED, (windows, columns, messages + setup, samples * (columns + setup)), strict=True)
    )


def _terms(case: Case, s: int, trajectory: Trajectory, distinct: int, windows: int) -> tuple[Term, ...]:
    """What communicating as the classical method does, or once per draw, would have added."""
    if case.declaration.exchange != "allreduce" or s == 1:
        return ()
    repeated = trajectory.length * case.stream.block - distinct
    return (
        planted_term(
            "communication in every iteration", trajectory.length - windows, 0.0, windows, windows,
            f"{trajectory.length} iterations are {windows} windows, as many as the classical method has",
        ),
        planted_term(
            "columns sent as often as drawn", repeated, 0.0, windows, windows,
            "no window draws a coordinate twice",
        ),
    )  # fmt: skip

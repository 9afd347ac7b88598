"""Check metamorphic-bounded: two ways to the same exact window end within the sum of their bounds.

From one recorded a, the same window is run on the original and on a transformed problem. Exact arithmetic
maps one end to the other; each computed end is within bound B of its own exact one, so the two, mapped
onto each other, differ by at most the sum of both bounds (triangle inequality; M-norm for K-RR).

relabelling
    Samples numbered anew, the stream with them: sums over samples run in another order.
zero-columns
    Columns of zeros appended: the data have another width, and BLAS cuts its sums elsewhere.
features
    Features in another order: sums over features run in another order.
data-scaled (polynomial by ``pow``)
    As in metamorphic-exact; ``pow`` errs by another fraction of an ulp at another scale.
variant-NAME
    The same problem on another variant of the solver, such as one that keeps the Gram matrix.

The planted defect of all of them: a transformed run that lost what the samples not drawn in the window, or
its earlier steps, contribute to the gradients - a wrong number, a wrong width, a stale cache.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sstep_verify.bounds.kernel_entries import kernel_entries
from sstep_verify.bounds.rounding import OUTWARD, magnitudes
from sstep_verify.bounds.trajectory_norm import energy_norm
from sstep_verify.checks.bounded_relations import Relation, relations, window_bound
from sstep_verify.checks.case import Case
from sstep_verify.checks.comparison import ratios
from sstep_verify.checks.metamorphic import metamorphic_key, original_request, seen_first
from sstep_verify.checks.outcome import Finding, decisive, planted_term, record
from sstep_verify.checks.window_replay import replayable
from sstep_verify.checks.windows import Window, choose_windows
from sstep_verify.oracle.facade import FIRST_BITS, MOST_BITS, Oracle
from sstep_verify.oracle.replay import Replay
from sstep_verify.solver import RunRequest
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Status, Verdict

CHECK = "metamorphic-bounded"

CAUSES = (
    "a place in the panel taken for the number of a sample or the reverse; labels or targets read in the "
    "wrong order; a number of features used where none matters; a cached column that belongs to another "
    "sample or problem"
)


def runs(case: Case) -> dict[str, RunRequest]:
    """The short run of every s."""
    return {metamorphic_key(s): original_request(case, s) for s in case.s_values}


def continued(case: Case, trajectories: Mapping[str, Trajectory]) -> dict[str, RunRequest]:
    """Every chosen window of the short runs, from its recorded a, for every relation."""
    wanted = {}
    for s in case.s_values:
        if not replayable(case, s):
            continue
        original = trajectories[metamorphic_key(s)]
        for window in _windows(case, original):
            for relation in relations(case):
                changed = relation.transformed
                wanted[metamorphic_key(s, relation.name, window.begin)] = RunRequest(
                    changed.problem,
                    changed.stream,
                    s,
                    window.end - window.begin,
                    start=window.begin,
                    initial=changed.forward(original.at(window.begin)),
                    variant=relation.variant,
                )
    return wanted


def judge(case: Case, trajectories: Mapping[str, Trajectory], oracle: Oracle) -> list[Verdict]:
    """Compare the ends of every window.

    Parameters
    ----------
    case : Case
        The case.
    trajectories : mapping of str to Trajectory
        The runs asked for by `runs` and `continued`, by key.
    oracle : Oracle
        Gives the exact steps, which the bounds are computed for.

    Returns
    -------
    list of Verdict
        One per s that has windows, within the case's replay limit; one term per relation.
    """
    return [
        _judge_run(case, s, trajectories, oracle)
        for s in case.s_values
        if replayable(case, s) and _windows(case, trajectories[metamorphic_key(s)])
    ]


def _windows(case: Case, original: Trajectory) -> list[Window]:
    """Windows with finite states: a state that is not finite is for other checks to report."""
    chosen = choose_windows(case.problem, case.stream, original, case.windows, case.seed)
    return [window for window in chosen if np.isfinite(original.at(window.begin)).all()]


def _judge_run(case: Case, s: int, trajectories: Mapping[str, Trajectory], oracle: Oracle) -> Verdict:
    original = trajectories[metamorphic_key(s)]
    shown: dict[str, list[_Compared]] = {relation.name: [] for relation in relations(case)}
    for window in _windows(case, original):
        exact = _ExactWindow(case, original, window, oracle)
        for relation in relations(case):
            ended = trajectories[metamorphic_key(s, relation.name, window.begin)].final
            shown[relation.name].append(exact.compare(relation, ended))
    findings = [item.finding for items in shown.values() for item in items]
    terms = []
    for relation in relations(case):
        items = shown[relation.name]
        seen = max(items, key=lambda item: float(ratios(np.array(item.effect), np.array(item.allowed))))
        executed = sum(item.finding.status is not Status.INCONCLUSIVE for item in items)
        effect = 0.0 if relation.blind else seen.effect
        reason = relation.blind or (
            f"lost contributions to the gradients change a by at most {seen.effect:.2g} in {len(items)} "
            f"windows, where {seen.allowed:.2g} is allowed"
        )
        terms.append(planted_term(relation.name, effect, seen.allowed, len(items), executed, reason))
    return record(
        CHECK,
        case,
        s,
        decisive(findings),
        units="absolute, largest coordinate" if case.problem.is_svm else "M-norm",
        planned=len(findings),
        executed=sum(finding.status is not Status.INCONCLUSIVE for finding in findings),
        origin="sum of the window bounds of both runs, bounds/window_svm.py and bounds/window_ridge.py",
        causes=CAUSES,
        terms=seen_first(terms),
        evidence={
            "relations": {relation.name: relation.claim for relation in relations(case)},
            "ratios": {name: max(item.finding.ratio for item in items) for name, items in shown.items()},
            "failed": [
                name
                for name, items in shown.items()
                if any(item.finding.status is Status.FAIL for item in items)
            ],
        },
    )


@dataclass(frozen=True)
class _Compared:
    """One window of one relation; effect of the planted defect and bound where it shows most."""

    finding: Finding
    effect: float
    allowed: float


class _ExactWindow:
    """A window of the original run: exact steps, bound, effect of the planted defect."""

    def __init__(self, case: Case, original: Trajectory, window: Window, oracle: Oracle):
        self._case, self._window, self._oracle = case, window, oracle
        self._begin, self._end = original.at(window.begin), original.at(window.end)
        self._draws = case.stream.blocks(window.begin, window.end)
        bits = FIRST_BITS
        while True:
            self._replay = self._replayed(self._begin, bits)
            self._bound = window_bound(case.problem, case.declaration, self._replay, self._begin)
            if np.isfinite(self._bound).all() or bits >= MOST_BITS:
                break
            bits *= 2
        self._effect = self._planted()

    def _replayed(self, begin: np.ndarray, bits: int) -> Replay:
        end = np.where(np.isfinite(self._end), self._end, 0.0)
        return self._oracle.replay(self._case.problem, begin, end, self._draws, bits)

    def _planted(self) -> np.ndarray:
        """Lower bound on what lost contributions change: of samples not drawn, or of earlier steps."""
        lost = np.zeros_like(self._begin)
        lost[self._replay.places] = self._begin[self._replay.places]
        effect = self._replayed(lost, self._replay.bits).lower
        correction = self._replay.effects.get("kernel-correction")
        return effect if correction is None else np.maximum(effect, correction.dropped)

    def compare(self, relation: Relation, ended: np.ndarray) -> _Compared:
        """Compare the original end with that of a transformed run, mapped back."""
        problem, places = self._case.problem, self._replay.places
        other = self._bound
        if relation.scales or relation.declaration is not self._case.declaration:
            other = relation.bound(problem, self._replay, self._begin)
        allowed = (self._bound + other) * OUTWARD
        state = relation.transformed.back(ended)
        low, high = self._difference(state)
        worst = int(np.argmax(ratios(low, allowed) if (low > allowed).any() else ratios(high, allowed)))
        where = f", coordinate {places[worst]}" if problem.is_svm else ""
        what = (
            f"{relation.name} ({relation.claim}): the two ends of the window of iterations "
            f"{self._window.begin + 1}..{self._window.end}{where}"
        )
        finding = Finding(what, float(low[worst]), float(high[worst]), float(allowed[worst]))
        outside = np.ones(problem.samples, dtype=bool)
        outside[places] = False
        if not np.array_equal(state[outside], self._end[outside]):
            moved = int(np.flatnonzero(outside & (state != self._end))[0])
            what += f": coordinate {moved}, not drawn, is {self._end[moved]!r} and {state[moved]!r}"
            finding = Finding(what, math.inf, math.inf, 0.0)
        most = int(np.argmax(ratios(self._effect, allowed)))
        return _Compared(finding, float(self._effect[most]), float(allowed[most]))

    def _difference(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Interval of the distance of the two ends: per distinct coordinate, or in the M-norm."""
        problem, places = self._case.problem, self._replay.places
        with np.errstate(invalid="ignore"):
            difference = self._end[places] - state[places]
        difference = np.where(np.isfinite(difference), difference, np.inf)
        if problem.is_svm:
            size = magnitudes(difference)
            return size / OUTWARD, size * OUTWARD
        entries = kernel_entries(problem, self._case.declaration, places)
        low, high = energy_norm(
            entries, places, difference.astype(np.float64), problem.samples, problem.ridge.penalty
        )
        return np.array([low]), np.array([high])

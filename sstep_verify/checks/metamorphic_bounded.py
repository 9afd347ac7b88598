"""Check metamorphic-bounded: two ways to the same exact window end within the sum of their bounds.

From one recorded a, the same window is run on the original and on a transformed problem. Exact arithmetic
maps one end to the other; each computed end is within bound B of its own exact one, which is that of
window-replay, so the two, mapped onto each other, differ by at most the sum of both bounds (triangle
inequality). Where the solver carries w, the transformed run forms it from that a; the original one goes on
from its own, and how far that has drifted from the w of a (sstep_verify/bounds/carried_run.py) is part of
its bound.

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

Where a whole window would take too much exact arithmetic (`affordable_steps`), its first steps are run
instead, as the short window of a run that ends there; the verdict says so.

The planted defect of all of them: a transformed run that lost what the samples not drawn in the window, or
its earlier steps, contribute to the gradients - a wrong number, a wrong width, a stale cache.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from sstep_verify.bounds.carried_run import carried_weights
from sstep_verify.checks.metamorphic import relations
from sstep_verify.checks.metamorphic.relations import Relation, metamorphic_key
from sstep_verify.checks.shared.case import Case, Check
from sstep_verify.checks.shared.finding import Finding, Window, decisive, ratios, wrong
from sstep_verify.checks.shared.outcome import ELSEWHERE, FIRST, executed, planted_term, record
from sstep_verify.checks.window.choose import choose_windows
from sstep_verify.checks.window.compare import RunWindow, bounded, compare, undrawn_apart
from sstep_verify.checks.window_replay import replayable
from sstep_verify.errors import counted
from sstep_verify.oracle.facade import FIRST_BITS, MOST_BITS, Oracle
from sstep_verify.oracle.window import Effect, Replay
from sstep_verify.problems.transforms import Transformed
from sstep_verify.protocol import RunRequest
from sstep_verify.quantities import KERNEL, STREAM, WRITE_BACK
from sstep_verify.rounding.arithmetic import OUTWARD, held_problem, magnitudes
from sstep_verify.rounding.block.energy import energy_norm
from sstep_verify.rounding.kernel.entries import kernel_entries
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Status, Term, Verdict

CHECK = "metamorphic-bounded"

SHORTENED = "first-steps"
"""Name, in keys, of a shortened window of the original run."""

WINDOW_WORK = 1 << 20
"""Kernel entries and products of increments that the exact replay of a window may take: seconds."""

LOST = "lost contributions"
"""The planted defect, as a quantity of the window: what samples not drawn, or earlier steps, contribute."""

ORIGIN = "sum of the window bounds of both runs (sstep_verify/bounds/window/{}.py)"
CAUSES = (
    "a place in the panel taken for the number of a sample or the reverse; labels or targets read in the "
    "wrong order; a number of features used where none matters; a cached column that belongs to another "
    "sample or problem"
)


def affordable_steps(case: Case) -> int:
    """Steps of a window whose exact replay stays within `WINDOW_WORK`, at least 2: one has no correction.

    A replay of d drawn and c <= min(d, m) distinct coordinates forms c kernel rows of m entries and, for
    every drawn coordinate, a product with c increments: c (m + d) in all.
    """
    samples = case.problem.samples
    drawn = (math.isqrt(samples**2 + 4 * WINDOW_WORK) - samples) // 2
    if drawn > samples:
        drawn = WINDOW_WORK // samples - samples
    return max(drawn // case.stream.block, 2)


def comparable(case: Case, s: int) -> bool:
    """Whether the affordable steps of a window of this s stay within the case's limit of kernel entries."""
    return replayable(case, min(s, affordable_steps(case)))


def runs(case: Case) -> dict[str, RunRequest]:
    """The short run of every s."""
    return {metamorphic_key(s): relations.original_request(case, s) for s in case.s_values}


def continued(case: Case, trajectories: Mapping[str, Trajectory]) -> dict[str, RunRequest]:
    """Every chosen window of the short runs, from its recorded a, for every relation."""
    wanted, related = {}, relations.within_bounds(case)
    first_steps = Relation(SHORTENED, "", Transformed(case.problem, case.stream))
    for s, windows in _windows(case, trajectories).items():
        request, original = relations.original_request(case, s), trajectories[metamorphic_key(s)]
        for window in windows:
            begin, end = window.begin, window.end
            for relation in (*related, *[first_steps] * (end not in original.iterations)):
                run = relation.request(request, begin, end, original.at(begin))
                wanted[metamorphic_key(s, relation.name, begin)] = run
    return wanted


def judge(case: Case, trajectories: Mapping[str, Trajectory], oracle: Oracle) -> list[Verdict]:
    """Compare the ends of every window; the oracle gives the exact steps that bounds are made of.

    One verdict per s that has windows, within the case's replay limit; one term per relation.
    """
    verdicts, related = [], relations.within_bounds(case)
    for s, windows in _windows(case, trajectories).items():
        compared: dict[str, list[Finding]] = {relation.name: [] for relation in related}
        for window in windows:
            exact = ExactWindow(case, _recorded(case, s, window, trajectories), oracle)
            for relation in related:
                ended = trajectories[metamorphic_key(s, relation.name, window.begin)].final
                compared[relation.name].append(exact.compare(relation, ended))
        verdicts += [_verdict(case, s, related, compared)] if windows else []
    return verdicts


def _windows(case: Case, trajectories: Mapping[str, Trajectory]) -> dict[int, list[Window]]:
    """Windows with finite states by s, as far as affordable: other checks report what is not finite.

    Of a carried state that is not recorded nothing is known but where the run begins.
    """
    problem = held_problem(case.problem, case.declaration) or case.problem  # as it is judged
    most, carried, windows = affordable_steps(case), case.declaration.state, {}
    for s in case.s_values:
        if comparable(case, s):
            original = trajectories[metamorphic_key(s)]
            known = not carried or original.state_at(carried[0], 0) is not None
            windows[s] = [
                replace(window, end=min(window.end, window.begin + most))
                for window in choose_windows(replace(case, problem=problem), original)
                if np.isfinite(original.at(window.begin)).all() and (known or window.begin == 0)
            ]
    return windows


def _recorded(case: Case, s: int, window: Window, trajectories: Mapping[str, Trajectory]) -> RunWindow:
    """A window of the original run, or its first steps made as a run of their own from its a.

    The state that steps are made from beside a is that which was carried; none where it was formed from a.
    """
    original, begin, carried = trajectories[metamorphic_key(s)], window.begin, case.declaration.state
    start, draws = original.at(begin), case.stream.blocks(begin, window.end)
    if window.end not in original.iterations:
        return RunWindow(window, start, trajectories[metamorphic_key(s, SHORTENED, begin)].final, draws)
    state = original.state_at(carried[0], begin) if carried and begin else None
    return RunWindow(window, start, original.at(window.end), draws, state)


def _verdict(
    case: Case, s: int, related: Sequence[Relation], compared: Mapping[str, list[Finding]]
) -> Verdict:
    """The verdict on the compared windows of an s, by name of a relation."""
    svm = case.problem.is_svm
    return record(
        CHECK,
        case,
        s,
        *chain.from_iterable(compared.values()),
        units="absolute, largest coordinate" if svm else "M-norm, or largest coordinate",
        origin=ORIGIN.format("svm" if svm else "ridge"),
        causes=CAUSES,
        terms=relations.seen_first([_term(relation, compared[relation.name]) for relation in related]),
        evidence={
            "steps of a window": f"{min(s, affordable_steps(case))} of {s}",
            "relations": {relation.name: relation.claim for relation in related},
            "ratios": {name: max(one.ratio for one in findings) for name, findings in compared.items()},
            "failed": [name for name in compared if decisive(compared[name]).status is Status.FAIL],
        },
    )


def _term(relation: Relation, findings: list[Finding]) -> Term:
    """What the planted defect would have shown in the windows of a relation."""
    share = max(finding.dropped.get(LOST, 0.0) for finding in findings)
    reason = relation.reason or (
        f"lost contributions to the gradients change a by at most {share:.2g} of what is allowed, in "
        f"{counted(len(findings), 'window')}"
    )
    counts = len(findings), executed(findings)
    return planted_term(relation.name, 0.0 if relation.reason else share, 1.0, *counts, reason)


class ExactWindow:
    """A window of the original run: exact steps, bound, effect of the planted defect."""

    def __init__(self, case: Case, recorded: RunWindow, oracle: Oracle):
        self._case, self._recorded, self._oracle = case, recorded, oracle
        self._alone = replace(recorded, carried=None)  # as transformed runs begin, whatever this carried
        bits = FIRST_BITS
        while True:
            replay, self._bound = _bounded(case, self._replayed(recorded.begin, bits), recorded)
            if np.isfinite(self._bound).all() or bits >= MOST_BITS:
                break
            bits *= 2
        carried = recorded.carried is not None
        self._afresh = _bounded(case, replay, self._alone)[1] if carried else self._bound
        effect = self._planted(replay)
        self._replay = replace(replay, effects={LOST: Effect(effect, effect)})

    def _replayed(self, begin: np.ndarray, bits: int) -> Replay:
        end = np.where(np.isfinite(self._recorded.end), self._recorded.end, 0.0)
        return self._oracle.replay(self._case.problem, begin, end, self._recorded.draws, bits)

    def _planted(self, right: Replay) -> np.ndarray:
        """Lower bound on what lost contributions change: of samples not drawn, or of earlier steps."""
        places, begin = right.places, self._recorded.begin
        lost = np.zeros_like(begin)
        lost[places] = begin[places]
        replay = self._replayed(lost, right.bits)
        if replay.lower.size < self._bound.size:
            replay = replay.with_components()
        correction = right.effects.get(KERNEL)
        return replay.lower if correction is None else np.maximum(replay.lower, correction.dropped)

    def _other(self, relation: Relation) -> np.ndarray:
        """Bound of the transformed run's window, carried back to the original problem.

        Renumbering, zero columns and another order of features leave the exact problem and every bound as
        it is: an exact zero adds no rounding, and the bounds hold for any order of summation.
        """
        changed, replay, window = relation.transformed, self._replay, self._alone
        if not relation.variant and not changed.kernel_exponent:
            return self._afresh
        declared = self._case.variants.get(relation.variant, self._case.declaration)
        case = replace(self._case, problem=changed.problem, stream=changed.stream, declaration=declared)
        if changed.kernel_exponent:
            window = replace(window, begin=changed.forward(window.begin))
            oracle = self._oracle.kept(f"scaled {case.problem.digest}", lambda: Oracle(case.problem))
            end = np.zeros_like(window.begin)
            replay = oracle.replay(case.problem, window.begin, end, window.draws, replay.bits)
        return np.ldexp(_bounded(case, replay, window)[1], -changed.exponent)

    def compare(self, relation: Relation, ended: np.ndarray) -> Finding:
        """Compare the original end with that of a transformed run, mapped back."""
        window, end, places = self._recorded.window, self._recorded.end, self._replay.places
        stretch = f"iterations {window.begin + 1}..{window.end}"
        what = f"{relation.name} ({relation.claim}): the two ends of the window of {stretch}"
        state = relation.transformed.back(ended)
        moved = undrawn_apart(end, state, self._recorded.draws)
        if moved is not None:
            ends = f"{end[moved]!s} at the one, {state[moved]!s} at the other"
            what += f": coordinate {moved}, not drawn in it, is {ends}; or, {ELSEWHERE}"
            size = abs(float(end[moved] - state[moved]))
            size = size if math.isfinite(size) else math.inf
            return wrong(what, size, window=window, signs=(STREAM, WRITE_BACK, FIRST))
        allowed = (self._bound + self._other(relation)) * OUTWARD
        low, high = self._distance(end[places], state[places])
        if self._case.problem.is_svm:
            what += f", coordinate {places[np.argmax(ratios(high, allowed))]}"
        replay = replace(self._replay, lower=low, upper=high)
        return replace(compare(window, replay, allowed, np.zeros(low.size)), what=what)

    def _distance(self, one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Interval of the distance of two ends, as the bound has it: K-RR in the M-norm first."""
        problem, places = self._case.problem, self._replay.places
        with np.errstate(invalid="ignore"):
            difference = one - other
        difference = np.where(np.isfinite(difference), difference, np.inf)
        low, high = magnitudes(difference) / OUTWARD, magnitudes(difference) * OUTWARD
        if problem.is_svm:
            return low, high
        entries = kernel_entries(problem, self._case.declaration, places)
        apart, count = difference.astype(np.float64), self._bound.size
        norm = energy_norm(entries, places, apart, problem.samples, problem.ridge.penalty)
        return np.array([norm[0], *low])[:count], np.array([norm[1], *high])[:count]


def _bounded(case: Case, replay: Replay, recorded: RunWindow) -> tuple[Replay, np.ndarray]:
    """What window-replay allows; a state that is carried is formed from a unless it was recorded."""
    begin = recorded.begin
    weights = carried_weights(case.problem, case.declaration, replay.places, begin, recorded.carried)
    carried = weights.begin(np.abs(begin), recorded.draws.size) if weights else None
    return bounded(case, replay, recorded, carried=carried)


DECLARED = Check(
    id=CHECK,
    text=__doc__,
    needs="the short run of every s, and its chosen windows, from its recorded a, for every relation",
    planted="a transformed run whose gradients lost what other samples or steps give",
    runs=runs,
    continued=continued,
    judge=judge,
    bounds=("bounds/window/svm", "bounds/window/ridge"),
    level=1,
    affordable=comparable,
)

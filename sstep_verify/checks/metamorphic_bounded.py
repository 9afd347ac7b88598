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

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from sstep_verify.checks.metamorphic.bounded import (
    LOST,
    ExactWindow,
    affordable_steps,
    comparable,
    relations,
)
from sstep_verify.checks.metamorphic.exact import Relation, metamorphic_key, original_request, seen_first
from sstep_verify.checks.shared.case import Case, Check
from sstep_verify.checks.shared.finding import Finding, Window, decisive
from sstep_verify.checks.shared.outcome import executed, planted_term, record
from sstep_verify.checks.window.choose import choose_windows
from sstep_verify.checks.window.compare import RunWindow
from sstep_verify.errors import counted
from sstep_verify.oracle.facade import Oracle
from sstep_verify.protocol import RunRequest
from sstep_verify.rounding.arithmetic import held_problem
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Status, Term, Verdict

CHECK = "metamorphic-bounded"

SHORTENED = "first-steps"
"""Name, in keys, of a shortened window of the original run."""

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
    wanted, pairs = {}, relations(case)
    for s in case.s_values:
        if not comparable(case, s):
            continue
        original = trajectories[metamorphic_key(s)]
        for window in _windows(case, original):
            begin, steps = window.begin, window.end - window.begin
            state = original.at(begin)
            if _shortened(window, original):
                wanted[metamorphic_key(s, SHORTENED, begin)] = RunRequest(
                    case.problem, case.stream, s, steps, start=begin, initial=state
                )
            for relation in pairs:
                changed = relation.transformed
                wanted[metamorphic_key(s, relation.name, begin)] = RunRequest(
                    changed.problem,
                    changed.stream,
                    s,
                    steps,
                    start=begin,
                    initial=changed.forward(state),
                    variant=relation.variant,
                )
    return wanted


def judge(case: Case, trajectories: Mapping[str, Trajectory], oracle: Oracle) -> list[Verdict]:
    """Compare the ends of every window.

    Parameters are those of `Check.judge`; the oracle gives the exact steps that bounds are made of.

    Returns
    -------
    list of Verdict
        One per s that has windows, within the case's replay limit; one term per relation.
    """
    pairs = relations(case)
    runs_of = {s: trajectories[metamorphic_key(s)] for s in case.s_values if comparable(case, s)}
    windows = {s: _windows(case, original) for s, original in runs_of.items()}
    return [_judge_run(case, s, windows[s], trajectories, oracle, pairs) for s in windows if windows[s]]


def _windows(case: Case, original: Trajectory) -> list[Window]:
    """Windows with finite states, as far as affordable: other checks report a state that is not finite.

    Of a carried state that is not recorded nothing is known but where the run begins.
    """
    problem = held_problem(case.problem, case.declaration) or case.problem  # as it is judged
    chosen = choose_windows(replace(case, problem=problem), original)
    most, carried = affordable_steps(case), case.declaration.state
    known = not carried or original.state_at(carried[0], 0) is not None
    return [
        replace(window, end=min(window.end, window.begin + most))
        for window in chosen
        if np.isfinite(original.at(window.begin)).all() and (known or window.begin == 0)
    ]


def _shortened(window: Window, original: Trajectory) -> bool:
    """Whether a window ends before its run's own does."""
    return window.end not in original.iterations


def _recorded(
    case: Case, s: int, window: Window, original: Trajectory, trajectories: Mapping[str, Trajectory]
) -> RunWindow:
    """A window of the original run, or its first steps made as a run of their own from its a.

    The state that steps are made from beside a is that which was carried; none where it was formed from a.
    """
    shortened, carried = _shortened(window, original), case.declaration.state
    again = trajectories[metamorphic_key(s, SHORTENED, window.begin)] if shortened else None
    end = original.at(window.end) if again is None else again.final
    state = (
        original.state_at(carried[0], window.begin) if carried and window.begin and not shortened else None
    )
    draws = case.stream.blocks(window.begin, window.end)
    return RunWindow(window, original.at(window.begin), end, draws, state)


def _judge_run(
    case: Case,
    s: int,
    windows: Sequence[Window],
    trajectories: Mapping[str, Trajectory],
    oracle: Oracle,
    pairs: Sequence[Relation],
) -> Verdict:
    original = trajectories[metamorphic_key(s)]
    compared: dict[str, list[Finding]] = {relation.name: [] for relation in pairs}
    for window in windows:
        recorded = _recorded(case, s, window, original, trajectories)
        exact = ExactWindow(case, recorded, oracle)
        for relation in pairs:
            ended = trajectories[metamorphic_key(s, relation.name, window.begin)].final
            compared[relation.name].append(exact.compare(relation, ended))
    findings = [finding for related in compared.values() for finding in related]
    kind = "svm" if case.problem.is_svm else "ridge"
    failed = [name for name, related in compared.items() if decisive(related).status is Status.FAIL]
    return record(
        CHECK,
        case,
        s,
        *findings,
        units="absolute, largest coordinate" if case.problem.is_svm else "M-norm, or largest coordinate",
        origin=f"sum of the window bounds of both runs (sstep_verify/bounds/window/{kind}.py)",
        causes=CAUSES,
        terms=seen_first([_term(relation, compared[relation.name]) for relation in pairs]),
        evidence={
            "steps of a window": f"{min(s, affordable_steps(case))} of {s}",
            "relations": {relation.name: relation.claim for relation in pairs},
            "ratios": {name: max(pair.ratio for pair in related) for name, related in compared.items()},
            "failed": failed,
        },
    )


def _term(relation: Relation, findings: list[Finding]) -> Term:
    """What the planted defect would have shown in the windows of a relation."""
    share = max(finding.dropped.get(LOST, 0.0) for finding in findings)
    reason = relation.reason or (
        f"lost contributions to the gradients change a by at most {share:.2g} of what is allowed, in "
        f"{counted(len(findings), 'window')}"
    )
    effect = 0.0 if relation.reason else share
    return planted_term(relation.name, effect, 1.0, len(findings), executed(findings), reason)


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

"""Check contract: a run is what was asked for.

Judged before all others, on every run that was made, whichever check asked for it. Of each run: the
iterations made are those asked for, unless its observer or its own rule ended it; s and the start in the
index stream are those asked for; a is recorded exactly where it was to be, in ascending order; the first a
is a0 as the declared precision holds it; a has the shape (k, m) and no narrower type than declared; all
values are finite; no input array was changed; the reason given for stopping is the true one; every declared
state is recorded, in its shape; panels have the shapes they must have. A declared panel or count that a run
does not give is said to be unproved, and so is a state that is said to be formed anew: within its rounding
one that is carried on cannot be told from it. The bound is 0.

A value that is not finite is a FAIL wherever no correct run can form a number beyond the largest of the
declared precision, and so is an error that a solver of K-RR raises wherever no factorisation of a correct
run can break down (bounds/largest_number.py); every other error is a FAIL. A run that broke its contract is
judged by no other check.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

import numpy as np

from sstep_verify.bounds.largest_number import largest_number, largest_value
from sstep_verify.checks.contract_items import FINITE, ITEMS, faults_of, not_finite
from sstep_verify.checks.shared.case import Case, plain_request, run_key
from sstep_verify.checks.shared.check import Check, plain_run
from sstep_verify.checks.shared.finding import Finding, Window
from sstep_verify.checks.shared.outcome import planted_term, record
from sstep_verify.costs.messages import COUNTED
from sstep_verify.declaration import Declaration
from sstep_verify.errors import NoLogError, NoResultError, ResultError
from sstep_verify.oracle.facade import Oracle
from sstep_verify.rounding.arithmetic import TYPES, held_problem
from sstep_verify.runs import asked_of
from sstep_verify.trajectory import RAISED, Asked, Trajectory
from sstep_verify.verdict import Verdict

CHECK = "contract"

STEPS_LOST = "a run that ended early, a window lost or made twice"
CAUSES = {
    "length": STEPS_LOST,
    "recorded iterations": STEPS_LOST,
    "start": "a start other than the one asked for",
    "first a": "a start other than the one asked for",
    FINITE: "a division by 0 or a number out of range",
    "inputs": "what is given or shared used as work space",
}
"""Likely causes of what is wrong, by item, where it does not say them itself, as an error does."""

BEYOND = (
    "a correct run may form numbers beyond its precision, or meet a block system that it cannot factor "
    "(bounds/largest_number.py)"
)

_Runs = dict[str, tuple[Trajectory, Asked]]
"""Runs, and what each was asked for, by key."""

OF_ERROR = {
    "IncoherenceError": "coherence",
    ResultError.__name__: "shape",
    NoResultError.__name__: "shape",
    NoLogError.__name__: "no step log",
}
"""Stands for the item `stop reason` where an error says that ranks differ, or what of a result is wrong."""


def judge(case: Case, trajectories: Mapping[str, Trajectory], oracle: Oracle) -> list[Verdict]:
    """Hold every run against what it was asked for.

    Parameters are those of `Check.judge`; the oracle is not used. What each run was asked for is what
    `Trajectory.asked` says; a plain run without it is held against the plain request, any other is left
    out.

    Returns
    -------
    list of Verdict
        One per s.
    """
    asked = {key: _asked(case, key, run) for key, run in trajectories.items()}
    of_s: dict[int, _Runs] = {s: {} for s in case.s_values}
    for key, request in asked.items():
        if request is not None and request.s in of_s:
            of_s[request.s][key] = trajectories[key], request
    return [_judge(case, s, runs) for s, runs in of_s.items() if runs]


def broken(case: Case, key: str, trajectory: Trajectory) -> str:
    """What is wrong with a run, in words; empty if it is what was asked for, or nobody knows that."""
    asked = _asked(case, key, trajectory)
    return "; ".join(_faults(case, trajectory, asked).values()) if asked else ""


def _asked(case: Case, key: str, trajectory: Trajectory) -> Asked | None:
    """What a run was asked for; None if nobody knows."""
    plain = {run_key(s): s for s in case.s_values}
    if trajectory.asked is None and key in plain:
        return asked_of(plain_request(case, plain[key]))
    return trajectory.asked


def _judge(case: Case, s: int, runs: _Runs) -> Verdict:
    wrong = {key: faults for key, (run, asked) in runs.items() if (faults := _faults(case, run, asked))}
    lacking = (_unproved(case, run, asked, key == run_key(s)) for key, (run, asked) in runs.items())
    unproved = list(dict.fromkeys(chain.from_iterable(lacking)))
    planned = len(runs) * len(ITEMS)
    count = sum(len(faults) for faults in wrong.values())
    raised = {key: [error.kind, error.message] for key in wrong if (error := runs[key][0].raised)}
    bound, origin = 0.0, "a run is what was asked for, so the bound is 0"
    # A factorisation may break down where numbers may be beyond the range, which K-RR tells by an error.
    ended = set() if case.problem.is_svm else set(raised)
    beyond = bool(wrong) and all(set(faults) == {FINITE} or key in ended for key, faults in wrong.items())
    if beyond and not any(finite_promised(case, runs[key][0]) for key in wrong):
        bound, origin = np.inf, BEYOND
    what = f"{len(runs)} runs of the {case.declaration.name} solver held against what they were asked for"
    if wrong:
        what += f"; {_in_words(wrong)}"
    if unproved:
        what += f"; unproved: {', '.join(unproved)}"
    spoiled = next((not_finite(runs[key][0]) for key, faults in wrong.items() if FINITE in faults), None)
    steps = sum(asked.iterations for _, asked in runs.values())
    return record(
        CHECK,
        case,
        s,
        Finding(f"{what}; violations", count, count, bound, Window(0, spoiled[1] if spoiled else 0)),
        units="violations",
        planned=planned,
        executed=planned,
        origin=origin,
        causes=", ".join(
            dict.fromkeys(CAUSES[item] for faults in wrong.values() for item in faults if item in CAUSES)
        ),
        terms=(
            planted_term(
                "a run cut short", steps, 0.0, planned, planned, "no run was to make an iteration"
            ),
        ),
        evidence={"runs": len(runs), "violations": wrong, "unproved": unproved}
        | ({RAISED: raised} if raised else {}),
        signs=dict.fromkeys(_sign(item, runs[key][0]) for key, faults in wrong.items() for item in faults),
        each=True,
    )


def _in_words(wrong: Mapping[str, Mapping[str, str]]) -> str:
    """What is wrong with the first three runs, or once with all if it is the same."""
    said = {key: "; ".join(faults.values()) for key, faults in wrong.items()}
    shown = list(said)[: 1 if len(set(said.values())) == 1 else 3]
    parts = [f"run {key}: {said[key]}" for key in shown]
    if len(said) > len(shown):
        alike = " alike" if len(shown) == 1 else ""
        parts.append(f"{len(said) - len(shown)} more runs{alike}")
    return "; ".join(parts)


def _sign(item: str, trajectory: Trajectory) -> str:
    """The item whose sentence a fault breaks."""
    ended = item == "stop reason" and trajectory.raised
    return OF_ERROR.get(ended.kind, item) if ended else item


def _faults(case: Case, trajectory: Trajectory, asked: Asked) -> dict[str, str]:
    """What is wrong with a run, by item."""
    # Scaled data have another range of numbers: the metamorphic checks compare such runs as they are.
    scaled = asked.problem != case.problem.digest
    declared = _declared(case, asked)
    faults = faults_of(declared, trajectory, asked)
    return {name: fault for name, fault in faults if not (scaled and name == FINITE)}


def _declared(case: Case, asked: Asked) -> Declaration:
    """What the solver that made a run declares: a variant need not carry what the tested solver does."""
    return case.variants.get(asked.variant, case.declaration)


def _unproved(case: Case, trajectory: Trajectory, asked: Asked, plain: bool) -> list[str]:
    """What is declared and not given, so that no check can hold the run to it."""
    declared, lacking = _declared(case, asked), []
    if declared.exposes and asked.panels and asked.iterations and not trajectory.panels:
        lacking.append("panels, declared and not exposed")
    if declared.recompute:
        lacking.append(f"the state formed anew after every {declared.recompute} windows")
    if declared.exchange and plain:
        lacking += [f"count of {name}" for name in COUNTED if name not in trajectory.counters]
    return lacking


def finite_promised(case: Case, trajectory: Trajectory) -> bool:
    """Whether no correct run can form a number that its precision does not hold."""
    asked = trajectory.asked or asked_of(plain_request(case, trajectory.s))
    held = held_problem(case.problem, case.declaration)
    if held is None:
        return False
    drawn = held, case.declaration, min(asked.s, max(asked.iterations, 1)), case.stream.block
    if trajectory.log is not None:
        logged = np.asarray(trajectory.log).ravel()
        first = np.argmin(np.isfinite(logged)) if not np.isfinite(logged).all() else logged.size
        before = np.concatenate([asked.initial, logged[:first]])
        largest = float(np.abs(before).max(initial=0.0))
    else:
        largest = largest_value(*drawn, asked.iterations, asked.initial)
    return largest_number(*drawn, largest) < float(np.finfo(TYPES[case.declaration.precision]).max)


DECLARED = Check(
    id=CHECK,
    text=__doc__,
    needs="the plain run of every s, and every run that another check asks for",
    planted="a run cut short",
    runs=lambda case: {key: run for s in case.s_values for key, run in plain_run(case, s).items()},
    judge=judge,
    given=True,
    bounds=("bounds/largest_number",),
    vacuous="no iteration was asked for, or a correct run may form numbers beyond its precision",
    level=0,
    all_runs=True,
)

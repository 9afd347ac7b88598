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
run can break down (sstep_verify/bounds/largest_number.py); every other error is a FAIL. A run that broke
its contract is judged by no other check.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

import numpy as np

from sstep_verify.checks.shared.case import Case, Check, plain_request, plain_run, run_key
from sstep_verify.checks.shared.finding import Finding, Window
from sstep_verify.checks.shared.outcome import NO_LOG, finite_promised, planted_term, record
from sstep_verify.costs.messages import COUNTED
from sstep_verify.declaration import Declaration
from sstep_verify.errors import counted
from sstep_verify.oracle.facade import Oracle
from sstep_verify.rounding.arithmetic import TYPES
from sstep_verify.runs import asked_of
from sstep_verify.trajectory import RAISED, Asked, Trajectory
from sstep_verify.verdict import Verdict

CHECK = "contract"

OWN = ("tolerance", "stagnation")
"""Reasons for stopping that are a solver's own rule."""

FINITE = "finite"
"""The item that depends on the arithmetic of a run; all others do not."""

STOPS = ("iterations", "observer", *OWN)
"""All of them, see `Trajectory.stopped`."""

LENGTH, RECORDED = "length", "recorded iterations"
ITEMS = (
    LENGTH, "start", "s", RECORDED, "first a", "shape", "type", FINITE, "inputs", "stop reason", "state",
    "panels",
)  # fmt: skip
"""Items held against the request."""

Faults = Iterator[tuple[str, str]]
"""Items that are wrong, in the order of `ITEMS`, each with what is wrong."""

CAUSES = {
    **dict.fromkeys((LENGTH, RECORDED), "a run that ended early, a window lost or made twice"),
    **dict.fromkeys(("start", "first a"), "a start other than the one asked for"),
    FINITE: "a division by 0 or a number out of range",
    "inputs": "what is given or shared used as work space",
}
"""Likely causes of what is wrong, by item, where it does not say them itself, as an error does."""

OF_ERROR = {"IncoherenceError": "coherence", "NoLogError": NO_LOG, "RepeatedDrawError": "repeated draw"}
OF_ERROR |= {"ResultError": "shape", "NoResultError": "shape", "WitnessError": ""}
"""In the place of `stop reason` where an error says what else is wrong; empty: no sentence is on that."""

QUOTED = {"ProgramError", *OF_ERROR} - {"IncoherenceError"}
"""Errors that are ours and say what is wrong with a run; its solver raised none of them itself."""


def judge(case: Case, trajectories: Mapping[str, Trajectory], oracle: Oracle) -> list[Verdict]:
    """Hold every run against what it was asked for: a verdict per s; see `Check.judge`.

    That is what `Trajectory.asked` says; a plain run without it is held against the plain request, any
    other is left out. The oracle is not used.
    """
    of_s: dict[int, dict[str, tuple[Trajectory, Asked]]] = {s: {} for s in case.s_values}
    for key, run in trajectories.items():
        asked = _asked(case, key, run)
        if asked is not None and asked.s in of_s:
            of_s[asked.s][key] = run, asked
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


def _judge(case: Case, s: int, runs: dict[str, tuple[Trajectory, Asked]]) -> Verdict:
    wrong = {key: faults for key, (run, asked) in runs.items() if (faults := _faults(case, run, asked))}
    lacking = (_unproved(case, run, asked, key == run_key(s)) for key, (run, asked) in runs.items())
    unproved = list(dict.fromkeys(chain.from_iterable(lacking)))
    planned, items = len(runs) * len(ITEMS), [(key, item) for key in wrong for item in wrong[key]]
    count = len(items)
    raised = {key: [error.kind, error.message] for key in wrong if (error := runs[key][0].raised)}
    bound, origin = 0.0, "a run is what was asked for, so the bound is 0"
    # A factorisation may break down where numbers may be beyond the range, which K-RR tells by an error.
    ended = set() if case.problem.is_svm else set(raised)
    beyond = bool(wrong) and all(set(faults) == {FINITE} or key in ended for key, faults in wrong.items())
    if beyond and not any(finite_promised(case, runs[key][0]) for key in wrong):
        bound, origin = np.inf, "a correct run may form numbers beyond its precision, or meet a block "
        origin += "system that it cannot factor (sstep_verify/bounds/largest_number.py)"
    made = f"{counted(len(runs), 'run')} of the {case.declaration.name} solver"
    what = f"{made} held against what was asked for"
    what += f"; {_in_words(wrong)}" if wrong else ""
    what += f"; unproved: {', '.join(unproved)}" if unproved else ""
    spoiled = next((not_finite(runs[key][0]) for key, item in items if item == FINITE), None)
    steps = sum(asked.iterations for _, asked in runs.values())
    unseen = "no run was to make an iteration"
    return record(
        CHECK,
        case,
        s,
        Finding(f"{what}; violations", count, count, bound, Window(0, spoiled[1] if spoiled else 0)),
        units="violations",
        planned=planned,
        executed=planned,
        origin=origin,
        causes=", ".join(dict.fromkeys(CAUSES[item] for _, item in items if item in CAUSES)),
        terms=(planted_term("a run cut short", steps, 0.0, planned, planned, unseen),),
        evidence={"runs": len(runs), "violations": wrong, "unproved": unproved}
        | ({RAISED: raised} if raised else {}),
        signs=dict.fromkeys(
            OF_ERROR.get(raised[key][0], item) if item == "stop reason" and key in raised else item
            for key, item in items
        ),
        each=True,
        claimed=False,
    )


def _in_words(wrong: Mapping[str, Mapping[str, str]]) -> str:
    """What is wrong with the first three runs, or once with all if it is the same."""
    said = {key: "; ".join(faults.values()) for key, faults in wrong.items()}
    shown = list(said)[: 1 if len(set(said.values())) == 1 else 3]
    more = len(said) - len(shown)
    rest = [f"{counted(more, 'more run')}{' alike' if len(shown) == 1 else ''}"] if more else []
    return "; ".join([*(f"run {key}: {said[key]}" for key in shown), *rest])


def _faults(case: Case, trajectory: Trajectory, asked: Asked) -> dict[str, str]:
    """What is wrong with a run, by item."""
    # Scaled data have another range of numbers: the metamorphic checks compare such runs as they are.
    scaled = asked.problem != case.problem.digest
    # A variant need not carry what the tested solver does.
    faults = faults_of(case.variants.get(asked.variant, case.declaration), trajectory, asked)
    return {name: fault for name, fault in faults if not (scaled and name == FINITE)}


def _unproved(case: Case, trajectory: Trajectory, asked: Asked, plain: bool) -> list[str]:
    """What is declared and not given, so that no check can hold the run to it."""
    declared, lacking = case.variants.get(asked.variant, case.declaration), []
    if declared.exposes and asked.panels and asked.iterations and not trajectory.panels:
        lacking.append("panels, declared and not exposed")
    if declared.recompute:
        lacking.append(f"the state formed anew after every {counted(declared.recompute, 'window')}")
    if declared.exchange and plain:
        lacking += [f"count of {name}" for name in COUNTED if name not in trajectory.counters]
    return lacking


def faults_of(declaration: Declaration, trajectory: Trajectory, asked: Asked) -> Faults:
    """What is wrong with a run of a solver that declares this."""
    yield from _of_steps(trajectory, asked)
    yield from _of_values(declaration, trajectory, asked)
    if asked.changed:
        yield "inputs", f"the run changed what it was given or shares: {', '.join(asked.changed)}"
    if fault := _stop(trajectory, asked):
        yield "stop reason", fault
    for name in declaration.state if declaration.level >= 2 else ():
        width = asked.features if name == "weights" else asked.initial.size
        wanted, state = (len(trajectory.iterations), width), trajectory.state.get(name)
        if state is None:
            yield "state", f"the declared state {name!r} is not recorded"
            break
        if np.shape(state) != wanted:
            yield "state", f"the state {name!r} has the shape {np.shape(state)} instead of {wanted}"
            break
    for begin, panel in trajectory.panels.items():
        columns, among, fault = np.asarray(panel.columns), panel.among, ""
        wanted = (columns.size, asked.initial.size if among is None else np.size(among))
        if np.shape(panel.entries) != wanted or columns.dtype.kind not in "iu":
            fault = f"the panel of iteration {begin} has the shape {np.shape(panel.entries)}, not {wanted}"
        elif 0 in wanted:
            fault = f"the panel of iteration {begin} holds no entry, but its window drew coordinates"
        elif begin not in trajectory.iterations:
            fault = f"a panel is exposed at iteration {begin}, where a is not recorded"
        if fault:
            yield "panels", fault
            break


def _of_steps(trajectory: Trajectory, asked: Asked) -> Faults:
    length = trajectory.length
    if trajectory.stopped == "iterations" and length != asked.iterations:
        yield LENGTH, f"{length} of {counted(asked.iterations, 'iteration')} made"
    elif length > asked.iterations:
        yield LENGTH, f"{counted(length, 'iteration')} made, {asked.iterations} asked for"
    if trajectory.start != asked.start:
        yield "start", f"began at position {trajectory.start} of the index stream instead of {asked.start}"
    if trajectory.s != asked.s:
        yield "s", f"windows of s = {trajectory.s} instead of {asked.s}"
    recorded = np.asarray(trajectory.iterations)
    if recorded.ndim != 1 or recorded.size == 0 or recorded.dtype.kind not in "iu":
        what = f"recorded iterations are a {recorded.dtype} array of shape {recorded.shape}"
        yield RECORDED, what
        return
    due = [stop for stop in asked.points if stop <= length]
    if trajectory.stopped in OWN and length % asked.s == 0:
        due = sorted({*due, length})  # Its own rule may end it at any window's end.
    if recorded.tolist() != due:
        missing, beside = set(due) - set(recorded.tolist()), set(recorded.tolist()) - set(due)
        what = (
            f"a is recorded at {counted(recorded.size, 'iteration')} instead of {len(due)}: missing "
            f"{sorted(missing)[:3]}, not asked for {sorted(beside)[:3]}"
        )
        yield RECORDED, what


def _of_values(declaration: Declaration, trajectory: Trajectory, asked: Asked) -> Faults:
    alphas = np.asarray(trajectory.alphas)
    # Another shape is wrong by itself.
    if alphas.ndim == 2 and alphas.shape[0] and alphas.shape[1:] == asked.initial.shape:
        with np.errstate(over="ignore"):
            held = asked.initial.astype(TYPES[declaration.precision])
        if (places := np.flatnonzero(~(alphas[0] == held))).size:
            first = int(places[0])
            what = f"coordinate {first} is {alphas[0, first]!r}, a0 {held[first]!r}"
            yield "first a", f"the first a differs from a0: {what}"
    wanted = (len(trajectory.iterations), asked.initial.size)
    if alphas.shape != wanted:
        yield "shape", f"a has the shape {alphas.shape} instead of {wanted}"
    held_in, needed = alphas.dtype, TYPES[declaration.precision]
    if isinstance(trajectory.alphas, np.ma.MaskedArray):
        yield "type", "a is a masked array; needed is a plain one, whose every value counts"
    elif held_in.kind != "f" or np.finfo(held_in).nmant < np.finfo(needed).nmant:
        yield "type", f"a is held in {held_in}, which cannot hold the declared {declaration.precision}"
    if (spoiled := not_finite(trajectory)) is not None:
        name, iteration, value = spoiled
        where = f" at iteration {iteration}" if iteration >= 0 else ""
        yield FINITE, f"{name} is not finite, first{where}: {value}"


def not_finite(trajectory: Trajectory) -> tuple[str, int, object] | None:
    """The first value that is not finite: of what, at which iteration (-1: none is recorded), which."""
    for name, array in {"a": trajectory.alphas, **trajectory.state}.items():
        values = np.asarray(array)
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            place = tuple(int(k) for k in np.argwhere(~np.isfinite(values))[0])
            row = min(place[0], len(trajectory.iterations) - 1) if place else 0
            return name, int(trajectory.iterations[row]) if row >= 0 else -1, values[place]
    return None


def _stop(trajectory: Trajectory, asked: Asked) -> str:
    """What is wrong with how it ended; empty if nothing is."""
    reason, length = trajectory.stopped, trajectory.length
    if trajectory.raised:
        kind, message = trajectory.raised.kind, trajectory.raised.message
        if kind in QUOTED:
            return message
        return f"the solver {RAISED} {kind}{': ' * bool(kind)}{message}"
    if reason not in STOPS:
        return f"the reason for stopping, {reason!r}, is none of {', '.join(STOPS)}"
    if asked.ended is not None and (reason, length) != ("observer", asked.ended):
        return f"the observer ended it at iteration {asked.ended}, but it stopped by {reason} at {length}"
    if reason == "observer" and asked.ended is None and trajectory.asked is not None:
        return f"it says that its observer ended it at iteration {length}, which it did not"
    if reason in OWN and not trajectory.claims:
        return f"it stopped by its own rule at iteration {length} and claims nothing of its result"
    return ""


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

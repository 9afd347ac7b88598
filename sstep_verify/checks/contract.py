"""Check contract: a run is what was asked for.

It is judged before all others, on every run that was made, whichever check asked for it. Of each run:

* The iterations made are those asked for, unless its observer or its own rule ended it. s and the start in
  the index stream are those asked for.
* alpha is recorded exactly where it was to be, in ascending order. The first alpha is the requested one, as
  the declared precision holds it. alpha has the shape (k, m) and no narrower type than declared.
* All values are finite, and no input array was changed.
* The reason given for stopping is the true one. Of a plain run it is one for which it may end, where these
  are known. A run that its own rule ended need not say what it reached.
* Declared weights are recorded, in their shape. Counts are whole numbers. Panels have the shapes they must
  have.

Items that an adapter took from the request, since a function or program states none of them, are no
evidence: they are named, and not counted. The type is that in which alpha came back. A declared panel or
count that a run does not give is reported as unproved, and so are weights that are said to be formed again:
within their rounding those that are maintained cannot be distinguished from them. The bound is 0.

A value that is not finite is a FAIL wherever no correct run can form a number beyond the largest of the
declared precision. So is an error that a solver of K-RR raises wherever no factorisation of a correct run
can break down (sstep_verify/bounds/overflow.py). Every other error is a FAIL. A run that violates its
contract is judged by no other check.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain

import numpy as np

from sstep_verify.checks.shared.case import Case, Check, plain_request, run_key
from sstep_verify.checks.shared.comparison import Comparison
from sstep_verify.checks.shared.outcome import verdict_from
from sstep_verify.checks.shared.overflow import finite_promised
from sstep_verify.checks.shared.signs import NO_LOG
from sstep_verify.checks.shared.terms import planted_term
from sstep_verify.costs.messages import COUNTED
from sstep_verify.declaration import Declaration
from sstep_verify.oracle.facade import Oracle
from sstep_verify.protocol import RunRequest
from sstep_verify.rounding.arithmetic import TYPES
from sstep_verify.runs import asked_of
from sstep_verify.specification import of_verdict
from sstep_verify.trajectory import OWN_RULE, RAISED, STOPS, Asked, Trajectory
from sstep_verify.verdict import Coverage, Note, NoteKind, Place, RunError, Verdict, Violation, Why

ID = "contract"

STEPS = "step-replay"
"""Id of the check whose requirement a step violates that makes a value that is not finite."""

FINITE = "finite"
"""The item that depends on the arithmetic of a run; all others do not."""

LENGTH, RECORDED, STOP = "length", "recorded iterations", "stop reason"
ITEMS = (
    LENGTH, "start", "s", RECORDED, "first a", "shape", "type", FINITE, "inputs", STOP, "weights",
    "counts", "panels",
)  # fmt: skip
"""Items held against the request."""

Faults = Iterator[Violation]
"""Items that are violated, in the order of `ITEMS`, of a run without its key."""

OF_ERROR = {"IncoherenceError": "coherence", "NoLogError": NO_LOG, "RepeatedDrawError": "repeated draw"}
OF_ERROR |= {"ResultError": "shape", "NoResultError": "shape", "WitnessError": "", "ConductError": ""}
"""Item that an error violates, by its type, if not `stop reason`; empty where no requirement is on it."""

QUOTED = {"ProgramError", *OF_ERROR} - {"IncoherenceError"}
"""Errors that are ours and say what is wrong with a run; its solver raised none of them itself."""


def runs(case: Case) -> dict[str, RunRequest]:
    """The plain run of every s, by key."""
    return {run_key(s): plain_request(case, s) for s in case.s_values}


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


def violations_of(case: Case, key: str, trajectory: Trajectory) -> list[Violation]:
    """What a run violates; nothing if it is what was asked for, or nobody knows that."""
    asked = _asked(case, key, trajectory)
    return _faults(case, key, trajectory, asked) if asked else []


def _asked(case: Case, key: str, trajectory: Trajectory) -> Asked | None:
    """What a run was asked for; None if nobody knows."""
    plain = {run_key(s): s for s in case.s_values}
    if trajectory.asked is None and key in plain:
        return asked_of(plain_request(case, plain[key]))
    return trajectory.asked


def _judge(case: Case, s: int, runs: dict[str, tuple[Trajectory, Asked]]) -> Verdict:
    violations = [one for key, (run, asked) in runs.items() for one in _faults(case, key, run, asked)]
    lacking = (_unproved(case, run, asked, key == run_key(s)) for key, (run, asked) in runs.items())
    unproved = tuple(dict.fromkeys(chain.from_iterable(lacking)))
    broken = {one.run for one in violations}
    # A factorisation may break down where numbers may be beyond the range, which K-RR tells by an error.
    ended = set() if case.problem.is_svm else {key for key in broken if runs[key][0].raised}
    beyond = bool(broken) and all(one.item == FINITE or one.run in ended for one in violations)
    # A block may be singular to rounding though no number is large.
    open_why = Why.NO_BOUND if broken <= ended else Why.OVERFLOW
    promised = not beyond or any(finite_promised(case, runs[key][0]) for key in broken)
    planned, count = len(runs) * len(ITEMS), len(violations)
    filled = tuple(dict.fromkeys(name for run, _ in runs.values() for name in run.filled))
    # A run that raised an error gave nothing back but that.
    executed = sum(1 if run.raised else len(ITEMS) - len(run.filled) for run, _ in runs.values())
    steps = sum(asked.iterations for _, asked in runs.values())
    # One item of each run shows either defect, where the run makes a step.
    back = [(run, asked) for run, asked in runs.values() if not run.raised]
    made = [LENGTH not in run.filled for run, asked in back if asked.iterations]
    stated = sum(LENGTH not in run.filled for run, _ in back)
    none = Why.NONE_DECIDED if not back else Why.NO_STEPS
    why = Why.FILLED_IN if back and steps else none
    terms = (
        planted_term("a stated length that is short", sum(made), 0.0, len(runs), stated, why, sum(made)),
        planted_term("a value that is not finite", len(made), 0.0, len(runs), len(back), none, len(made)),
    )
    first = next((runs[one.run][0] for one in violations if one.item == FINITE), None)
    step = _step_not_finite(case, first) if first is not None else None
    comparison = Comparison(
        count,
        count,
        0.0 if promised else np.inf,
        why=None if promised else open_why,
        place=step or (_spoiled(first) if first is not None else None),
    )
    raised = [(key, run.raised) for key, (run, _) in runs.items() if run.raised and key in broken]
    verdict = verdict_from(
        ID,
        case,
        s,
        comparison,
        units="violations",
        bound_origin="" if promised else "bounds/overflow",
        planned=planned,
        executed=executed,
        terms=terms,
        required=terms[1:],
        signs=[_sign(runs, one) for one in violations][:1],
        claimed=False,
        violations=tuple(violations),
        raised=tuple(
            RunError(key, error.kind, error.message, error.kind in QUOTED, error.frames, error.said)
            for key, error in raised
        ),
        notes=tuple(
            Note(kind, names)
            for kind, names in ((NoteKind.UNPROVED, unproved), (NoteKind.FILLED, filled))
            if names
        ),
        coverage=Coverage("run", len(runs), len(runs)),
    )
    if step is None or not verdict.requirement or violations[0].item != FINITE:
        return verdict
    return replace(verdict, requirement=of_verdict(STEPS, case.problem.loss.task)[0].number)


def _sign(runs: dict[str, tuple[Trajectory, Asked]], one: Violation) -> str:
    """Name of a violated item in the specification: of an error, what that says is wrong."""
    error = runs[one.run][0].raised
    return OF_ERROR.get(error.kind, one.item) if error and one.item == STOP else one.item


def _faults(case: Case, key: str, trajectory: Trajectory, asked: Asked) -> list[Violation]:
    """What a run violates."""
    # Scaled data have another range of numbers: the metamorphic checks compare such runs as they are.
    scaled = asked.problem != case.problem.digest
    # A variant need not carry what the tested solver does.
    faults = list(faults_of(case.variants.get(asked.variant, case.formulas), trajectory, asked))
    # An observer that was told the same tolerance may end a run where its own rule does.
    if key == run_key(asked.s) and asked.ended is None and all(one.item != STOP for one in faults):
        faults += _end(case, trajectory)
    return [replace(one, run=key) for one in faults if not (scaled and one.item == FINITE)]


def _unproved(case: Case, trajectory: Trajectory, asked: Asked, plain: bool) -> list[str]:
    """What is declared and not given, so that no check can hold the run to it."""
    declared, lacking = case.variants.get(asked.variant, case.formulas), []
    if declared.panels and asked.panels and asked.iterations and not trajectory.panels:
        lacking.append("panels, declared and not exposed")
    if declared.weights:
        every = "window" if declared.weights == 1 else f"{declared.weights} windows"
        lacking.append(f"the weights formed again after every {every}")
    if declared.exchange and plain:
        lacking += [f"count of {name}" for name in COUNTED if name not in trajectory.counters]
    return lacking


def faults_of(declaration: Declaration, trajectory: Trajectory, asked: Asked) -> Faults:
    """Yield what a run of a solver that declares this violates."""
    yield from _of_steps(trajectory, asked)
    yield from _of_values(declaration, trajectory, asked)
    if asked.changed:
        yield Violation("", "inputs", ", ".join(asked.changed))
    yield from _stop(trajectory, asked)
    if declaration.weights is not None and declaration.level >= 2:
        wanted, weights = (len(trajectory.iterations), asked.features), trajectory.weights
        if weights is None or np.shape(weights) != wanted:
            found = "none" if weights is None else str(np.shape(weights))
            yield Violation("", "weights", found, str(wanted))
    for name, made in trajectory.counters.items():
        if isinstance(made, bool) or not isinstance(made, int | np.integer):
            yield Violation("", "counts", f"{made} ({type(made).__name__})", "a whole number", name)
            break
    for begin, panel in trajectory.panels.items():
        columns, among = np.asarray(panel.columns), panel.among
        wanted = (columns.size, asked.initial.size if among is None else np.size(among))
        where = str(begin)
        if np.shape(panel.entries) != wanted or columns.dtype.kind not in "iu":
            yield Violation("", "panels", str(np.shape(panel.entries)), str(wanted), where)
        elif 0 in wanted:
            yield Violation("", "panels", "no entry", "the coordinates drawn", where)
        elif begin not in trajectory.iterations:
            yield Violation("", "panels", "a panel", "recorded iterations", where)
        else:
            continue
        break


def _of_steps(trajectory: Trajectory, asked: Asked) -> Faults:
    length = trajectory.length
    if length > asked.iterations or (trajectory.stopped == "iterations" and length != asked.iterations):
        yield Violation("", LENGTH, str(length), str(asked.iterations))
    if trajectory.start != asked.start:
        yield Violation("", "start", str(trajectory.start), str(asked.start))
    if trajectory.s != asked.s:
        yield Violation("", "s", str(trajectory.s), str(asked.s))
    recorded = np.asarray(trajectory.iterations)
    if recorded.ndim != 1 or recorded.size == 0 or recorded.dtype.kind not in "iu":
        yield Violation("", RECORDED, f"{recorded.dtype} of shape {recorded.shape}", "whole numbers")
        return
    due = [stop for stop in asked.points if stop <= length]
    if trajectory.stopped in OWN_RULE and length % asked.s == 0:
        due = sorted({*due, length})  # Its own rule may end it at any window's end.
    if recorded.tolist() != due:
        missing, more = sorted(set(due) - {*recorded.tolist()}), sorted({*recorded.tolist()} - set(due))
        detail = f"missing {missing[:3]}, not requested {more[:3]}"
        yield Violation("", RECORDED, str(recorded.size), str(len(due)), detail)


def _of_values(declaration: Declaration, trajectory: Trajectory, asked: Asked) -> Faults:
    alphas = np.asarray(trajectory.alphas)
    # Another shape is wrong by itself.
    if alphas.ndim == 2 and alphas.shape[0] and alphas.shape[1:] == asked.initial.shape:
        with np.errstate(over="ignore"):
            held = asked.initial.astype(TYPES[declaration.precision])
        if (places := np.flatnonzero(~(alphas[0] == held))).size:
            first = int(places[0])
            values = str(alphas[0, first]), str(held[first])
            yield Violation("", "first a", *values, f"coordinate {first}")
    wanted = (len(trajectory.iterations), asked.initial.size)
    if alphas.shape != wanted:
        yield Violation("", "shape", str(alphas.shape), str(wanted))
    held_in = np.dtype(trajectory.returned) if trajectory.returned else alphas.dtype
    needed = TYPES[declaration.precision]
    if isinstance(trajectory.alphas, np.ma.MaskedArray):
        yield Violation("", "type", "a masked array", "a plain array")
    elif held_in.kind != "f" or np.finfo(held_in).nmant < np.finfo(needed).nmant:
        yield Violation("", "type", str(held_in), declaration.precision)
    if (spoiled := not_finite(trajectory)) is not None:
        name, iteration, value = spoiled
        detail = f"{name} at iteration {iteration}" if iteration >= 0 else name
        yield Violation("", FINITE, str(value), "finite values", detail)


def not_finite(trajectory: Trajectory) -> tuple[str, int, object] | None:
    """The first value that is not finite: of what, at which iteration (-1: none is recorded), which."""
    recorded = {"alpha": trajectory.alphas}
    if trajectory.weights is not None:
        recorded["weights"] = trajectory.weights
    for name, array in recorded.items():
        values = np.asarray(array)
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            place = tuple(int(k) for k in np.argwhere(~np.isfinite(values))[0])
            row = min(place[0], len(trajectory.iterations) - 1) if place else 0
            return name, int(trajectory.iterations[row]) if row >= 0 else -1, values[place]
    return None


def _spoiled(trajectory: Trajectory) -> Place | None:
    """The iterations up to the first value that is not finite."""
    first = not_finite(trajectory)
    return Place(0, max(first[1], 0)) if first else None


def _step_not_finite(case: Case, trajectory: Trajectory) -> Place | None:
    """The step that made the first value that is not finite of a finite alpha; None where no log tells it.

    The log leads from the first alpha to the one that was recorded with such a value.
    """
    spoiled, log = _spoiled(trajectory), trajectory.log
    length = spoiled.end if spoiled else 0
    if not length or log is None or log.shape != (trajectory.length, case.stream.block):
        return None
    draws, alpha = case.stream.blocks(trajectory.start, trajectory.start + length), trajectory.alphas[0]
    led = np.array(alpha)
    led[draws.ravel()] = log[:length].ravel()
    wrong = np.argwhere(~np.isfinite(log[:length]))
    if not (wrong.size and np.isfinite(alpha).all()):
        return None
    if not np.array_equal(led, trajectory.at(length), equal_nan=True):
        return None
    step, place = wrong[0].tolist()
    return Place(step, step + 1, int(draws[step, place]), found=float(log[step, place]))


def _stop(trajectory: Trajectory, asked: Asked) -> Faults:
    """Yield what is wrong with how the run ended."""
    reason, length = trajectory.stopped, trajectory.length
    if trajectory.raised:
        yield Violation("", STOP, trajectory.raised.message, "", RAISED)
    elif reason not in STOPS:
        yield Violation("", STOP, repr(reason), ", ".join(STOPS))
    elif asked.ended is not None and (reason, length) != ("observer", asked.ended):
        asked_for = f"observer at iteration {asked.ended}"
        yield Violation("", STOP, f"{reason} at iteration {length}", asked_for)
    elif reason == "observer" and asked.ended is None and trajectory.asked is not None:
        yield Violation("", STOP, f"observer at iteration {length}", "no end by the observer")


def _end(case: Case, trajectory: Trajectory) -> Faults:
    """Yield that a plain run ended for another reason than those for which it may."""
    if case.ends and trajectory.stopped not in case.ends:
        found = f"{trajectory.stopped} at iteration {trajectory.length}"
        yield Violation("", STOP, found, " or ".join(case.ends))


CHECK = Check(
    id=ID,
    text=__doc__,
    needs="the plain run of every s, and every run that another check asks for",
    planted="a stated length that is short",
    runs=runs,
    judge=judge,
    given=True,
    bounds=("bounds/overflow",),
    vacuous="no iteration was asked for, or a correct run may form numbers beyond its precision, or break "
    "down in a factorisation of K-RR",
    level=0,
    all_runs=True,
)

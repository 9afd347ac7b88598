"""The words of a verdict: its record as the lines of a reason, in English.

`reason_of` gives the lines that the terminal, the page, `explain`, JUnit and results.json show. The first
line states the place, what was measured and what is allowed. After a FAIL the second line names the defects
that reproduce it and the requirement that it violates. Evidence, what it was compared with, and coverage
follow. After a PASS the last line names what was not tested. Nothing here decides anything.

Some words are made elsewhere. The page's template (report/templates/index.html) adds a line on each term
and on each failing check. Detection limits are put into words by report/verdicts.py (`visibility`) and
cli/verdicts.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from sstep_verify.errors import counted, visible
from sstep_verify.meanings import meaning_of
from sstep_verify.quantities import required_quantities
from sstep_verify.report.plain import at_least, at_most, grouped
from sstep_verify.report.results import TooFew
from sstep_verify.specification import text_of
from sstep_verify.verdict import (
    BY_INCREMENT,
    COUNTED_WINDOWS,
    ESTIMATED,
    FIRST_STEP,
    LOG,
    MAINTAINED_WEIGHTS,
    MESSAGES_ONLY,
    WORST_STEP,
    Coverage,
    Defect,
    Hint,
    HintKind,
    Note,
    NoteKind,
    Place,
    ReadingKind,
    RunError,
    Sensitivity,
    Status,
    Verdict,
    Why,
)

RARE = 1e-3
"""Probability for which the chance of missing a defect in unjudged windows or steps is stated."""

COMPARED = {
    "step-replay": "each step, repeated in float64 from the run's own alpha; notable steps exactly",
    "window-replay": "the exact replay of the window from the run's own alpha, kernel from the data",
    "trajectory": "the exact trajectory of the same index stream",
    "sstep-equals-classical": "the solver's own run with s = 1",
    "kernel-entries": "exact kernel values",
    "box": "the box constraint of the problem",
    "optimum": "the certified optimum",
    "claim-honesty": "the true value at the last alpha, enclosed",
    "residual-gap": "the weights that belong to the recorded alpha",
    "determinism": "a second run of the same request, bit for bit",
    "rank-coherence": "the values of rank 0, bit for bit",
    "message-count": "the counts that the declared communication scheme implies",
    "metamorphic-exact": "the run of the scaled problem, bit for bit",
    "contract": "the request of every run",
}
"""What each check compares a run with."""

EXPECTED_AS = {
    **dict.fromkeys(("step-replay", "window-replay", "kernel-entries", "claim-honesty"), "exact"),
    "box": "limit",
    "determinism": "first run",
    "sstep-equals-classical": "s = 1",
}
"""What the other value of a place is, by check; of all others it is the expected one."""

AT_ITS_PLACE = ("step-replay", "window-replay", "kernel-entries", "claim-honesty")
"""Checks that measure a value at the place itself: its distance from the exact one, or its residual."""

REPLAYS, TRAJECTORY = ("step-replay", "window-replay"), "trajectory"
"""Checks that judge one and the same run from its own alpha, and the one that judges a short run."""

NORM = "M-norm"
"""Begins the units of a check that measures a whole vector of K-RR in that norm."""

MOST_GROUPS = 8
"""Numbers of problems that are distinguished by the s of which something is said."""

SHOWN = 3
"""Defects that are named before the evidence."""

LARGEST = "metamorphic-exact"
"""Check that measures the largest difference, and whose place is that of the first."""

OF_A_VECTOR = "judged_by_final_vector_only"
"""Key of the evidence on a vector that was handed over: no run was made."""

DIGITS = "The vector has too few digits: write each value with 17 significant ones (%.17g)."
"""What to do where most of a bound is the rounding of printed digits."""

AT_MOST, AT_LEAST = "at most ", "at least "
LIMITED: dict[str, Callable[[float], str]] = {AT_MOST: at_most, AT_LEAST: at_least}
"""How a number is written that is stated as a limit."""

RESIDUAL = "bounds/step/residual"
"""Where the bound of a step is derived that is on its residual, not on its new value."""

SCREEN = "bounds/screen"
"""Where the bound of a window is derived that was not replayed."""

CONTINUES = "S-2.8"
"""What a run violates of which only the one continued from it was found to be faulty."""

SCREENED = "the judge's own steps of the window in float64"
"""What a window is compared with that was not replayed."""

WHY = {
    Why.NO_STEPS: "There is nothing to judge: the run makes no iteration.",
    Why.NOT_APPLICABLE: "Nothing was judged: the check does not apply to this problem, solver and run.",
    Why.TOO_LARGE: "Not judged for its cost: a window holds more kernel entries than the limit allows.",
    Why.NO_BOUND: "No finite bound is derived: a block is too ill-conditioned, a sum too long, a number "
    "too near the ends of the range, or weights are maintained in float32 over a whole run.",
    Why.OVERFLOW: "No finite bound exists: a number may exceed the range of the declared precision.",
    Why.OUT_OF_RANGE: "Nothing was compared: a number of the problem exceeds the declared precision.",
    Why.NO_EFFECT: "No change of what was compared is certain where the quantity is left out.",
    Why.WITHIN_BOUND: "What leaving the quantity out is certain to change is less than twice the bound.",
    Why.NONE_DECIDED: "None of the comparisons was decided.",
    Why.TOO_WIDE: "Not decided: the enclosure of the measured value holds the bound at every precision.",
    Why.NOT_REPLAYED: "Not decided: a window exceeds the bound of the float64 screen and was not replayed.",
    Why.ENDS_APART: "Not decided: a window lies between two runs, which may not begin alike.",
    Why.NOT_RECORDED: "Nothing was compared: the run left nothing that this check compares.",
    Why.NOT_KEPT: "Nothing was compared: the kept runs do not hold it.",
    Why.PREREQUISITE: "Not decided: a check that this one rests on failed.",
    Why.DRAWS_DIFFER: "Not judged: the runs drew different coordinates, so they cannot be compared.",
    Why.ALTERED: "Not decided: the arithmetic was not that of IEEE 754 in round-to-nearest.",
    Why.UNKNOWN_CLAIM: "Not decided: the run reports a value whose name is unknown.",
    Why.FILLED_IN: "Nothing was compared: the solver states none of it.",
    Why.WRONG_BY_ITSELF: "Not decided: a run is faulty by itself.",
    Why.ON_TRUST: "Not tested: what the run recorded was taken as given.",
    Why.OWN_DRAWS: "Nothing was compared: the run itself logged the draws that it is compared with.",
    Why.NEEDS_BALLS: "Not decided: the chosen oracle cannot certify it; use the ball oracle.",
}
"""Why a verdict decides nothing, by `Why`."""

TERM_WHY = {
    Why.NO_EFFECT: "no certain effect",
    Why.WITHIN_BOUND: "certain effect {largest:.2g} of the bound",
    Why.NONE_DECIDED: "no comparison was decided",
    Why.NO_STEPS: "no steps",
    Why.OVERFLOW: "no finite bound",
    Why.NOT_APPLICABLE: "does not apply here",
    Why.OUT_OF_RANGE: "numbers would leave the range",
    Why.NO_BOUND: "no finite bound",
    Why.FILLED_IN: "the solver does not state it",
    Why.ON_TRUST: "made from recorded values that no check passed",
    Why.OWN_DRAWS: "compared with the draws that the run itself logged",
}
"""Why a quantity was not tested, by `Why`."""

NO_FAILURE = "This is not counted as a failure."
"""Said of a violation where nothing was promised, or where the arithmetic was altered."""

UNCOUNTED = (
    "A program writes them into counters.txt, or names the compiler wrapper of its MPI (--set "
    "witness=mpicc). A Python solver returns them as counters. Otherwise declare no exchange."
)
"""What makes a declared communication countable."""

COUNTED = {"values": "value", "ranks": "rank"}
"""Units of which a comparison of bits counts those that differ, each as one."""

ITEMS = {
    "length": "{found} iterations made, {asked} requested",
    "start": "it began at position {found} of the index stream, requested {asked}",
    "s": "it made windows of s = {found}, requested s = {asked}",
    "recorded iterations": "alpha is recorded at {found} iterations, requested {asked} ({detail})",
    "first a": "its first alpha is not the requested start: {detail} is {found}, requested {asked}",
    "shape": "alpha has the shape {found}, expected {asked}",
    "type": "alpha is held in {found}, expected {asked}",
    "finite": "{detail} is not finite: {found}",
    "inputs": "it changed what it was given or shares: {found}",
    "stop reason": "it stopped by {found}, expected {asked}",
    "weights": "the declared weights have the shape {found}, expected {asked}",
    "counts": "the count of {detail} is {found}, expected {asked}",
    "panels": "the panel of iteration {detail} has {found}, expected {asked}",
}
"""What is said of each violated item of the contract."""

UNOBSERVED = "that windows of s were made was not observed"
"""Said of runs whose windows could not be distinguished from single steps."""

SMALL = 1e-3
"""Relative gap or error below which a vector may be that of a solver which stops early."""


def larger_tolerance(over: float, tolerance: float) -> str:
    """Name the option for a solver that stops as near as `over` to the optimum; empty if far from it.

    Its value is the power of ten above. It asks another question, and changes no verdict.
    """
    if not tolerance < over < SMALL:
        return ""
    wider = next(ten for k in range(-16, 0) if (ten := float(f"1e{k}")) >= over)
    return f" If the solver stops at a relative {wider:g}, state --tolerance {wider:g}."


def relative_of(over: float, tolerance: float, *, moved: bool = False) -> str:
    """How near a final vector is to the optimum, and the way out, also for one that was `moved`."""
    way_out = larger_tolerance(over, tolerance)
    box = " Then the vector may leave its box by that times C." * (moved and bool(way_out))
    near = (
        f"Relative to the optimum it is at most {at_most(float(over), 2)}; the tolerance is {tolerance:g}."
    )
    return f"{near}{way_out}{box}"


NOTES: dict[NoteKind, Callable[..., str]] = {
    NoteKind.ALTERED: lambda *left: f"The run left its process in another arithmetic: {', '.join(left)}.",
    NoteKind.ROUNDED: lambda largest, count, of: (
        f"Most of the bound is the rounding of printed digits: up to {largest:.2g}"
        # Of a norm there is one number, whatever was printed.
        + (f", in {count:.0f} of {counted(int(of), 'value')}." if of > 1 else ".")
    ),
    NoteKind.UNPROVED: lambda *names: f"Declared, but shown by nothing: {', '.join(names)}.",
    NoteKind.PRINTED: lambda known, of: f"Only {known:.0f} of {of:.0f} entries were printed.",
    NoteKind.MOVED: lambda: "The final vector was moved into the box first.",
    NoteKind.OWN_WORD: lambda: "The solver counted its messages itself; nothing else observed them.",
    NoteKind.RELATIVE: relative_of,
    NoteKind.FILLED: lambda *names: (
        f"Taken from the request, not stated by the solver: {', '.join(map(_of_request, names))}."
    ),
    NoteKind.SEE: lambda check, s: "",  # The first line says it.
    NoteKind.NAMED_BY_STEPS: lambda check: "",  # The second line says it.
    NoteKind.DECIDES: lambda: (
        "No check of the steps decided on all of these runs, so this comparison decides."
    ),
    NoteKind.THESE_RUNS: lambda: (
        "Both runs leave the exact trajectory. The bound is an estimate of their rounding, and not proved."
    ),
    NoteKind.LOG_CONTRADICTS: lambda check: (
        f"The log contradicts a recorded alpha (see {check}). "
        "Alpha that was not recorded is that of the log."
    ),
    NoteKind.UNOBSERVED: lambda: f"{UNOBSERVED[:1].upper()}{UNOBSERVED[1:]}.",
    NoteKind.OTHER_RUN: lambda iteration: (
        f"Made again for the float64 screen, the run has another alpha after iteration {iteration:.0f}."
    ),
    NoteKind.CONTINUED: lambda iteration, count, unit: (
        f"The run continued after iteration {iteration:.0f} is judged as well: {counted(int(count), unit)}."
    ),
    NoteKind.SCREENED: lambda count: (
        f"Compared in float64 only, within a wider bound: {counted(int(count), 'window')}."
    ),
    NoteKind.EVALUATED: lambda: "Exact values are evaluated at two precisions, not enclosed.",
    NoteKind.CONDITION: lambda condition: f"The numbers are of the problem of condition {condition:.3g}.",
}
"""What each note says."""


def _other_parameter(name: str, how: str = "", value: float = 0.0, asked: float = 0.0) -> str:
    if name == "linear":
        return "the optimum with the linear kernel"
    if name == "n":
        return "the optimum of (offset + <x, z>/n)^d: inner products divided by the number of features"
    if how:
        return f"the optimum with {how} = {value:.6g} instead of {name} = {asked:.6g}"
    return f"the optimum with {name} {value:g} instead of {asked:g}"


NOT_JUDGED = " (a known convention that is not judged)"
"""Said of readings as the optimum of a problem that is none of ours."""


def _with_bias(free: str) -> str:
    return ", with a bias that is not regularised, as in LIBSVM" * (free == "free")


def _scaled(factor: float, *names: str) -> str:
    known = " = ".join(dict.fromkeys((*names, f"{factor:.6g}")))
    known += "" if names else ", no known scale"
    return f"proportional to the optimum: c alpha with c = {known} (undo it with --scale)"


READINGS: dict[ReadingKind, Callable[..., str]] = {
    ReadingKind.SIGNED: lambda how: (
        f"the optimum with the signs of the labels: its entries are {how} (undo it with --signed)"
    ),
    ReadingKind.SCALED: _scaled,
    ReadingKind.GROUPED: lambda first, appears_first: (
        f"the optimum with the samples grouped by class, class {first:+.0f} first"
        + ", the order of first appearance" * bool(appears_first)
    ),
    ReadingKind.SHIFTED: lambda where: (
        f"the optimum, every entry one place {where}: one program numbers samples from 1, the other from 0"
    ),
    ReadingKind.REORDERED: lambda: (
        "a permutation of the optimum: its samples are in another order than in the data"
    ),
    ReadingKind.NO_MEAN: lambda scale: (
        "the optimum of K + lambda I instead of K + lambda m I"
        + (": d with (K + lambda I) d = y" if scale == "d" else ": alpha = (lambda/m) d of it")
    ),
    ReadingKind.M_AS_ONE: lambda: "the optimum with 1 instead of m on the diagonal: of K/lambda + I",
    ReadingKind.NO_UPPER: lambda C: f"the optimum without the upper limit C = {C:g} of the box",
    ReadingKind.OTHER_LOSS: lambda task: f"the optimum of the other loss, {task} with the same C",
    ReadingKind.OTHER_PENALTY: _other_parameter,
    ReadingKind.LABELS_INSIDE: lambda name: f"the optimum of {name}: K(y_i x_i, y_j x_j)",
    ReadingKind.LABELS_LEFT_OUT: lambda: "the optimum of K instead of Q: the labels were left out",
    ReadingKind.OTHER_KERNEL: _other_parameter,
    ReadingKind.REGULARISED_BIAS: lambda: (
        "the optimum with a constant feature 1 for a bias, as -B 1 in LIBLINEAR (state --bias 1)"
    ),
    ReadingKind.FREE_BIAS: lambda: (
        "the optimum with a bias that is not regularised, as in LIBSVM (y'alpha = 0)"
    ),
    ReadingKind.C_BY_CLASS: lambda least, positive, negative, free: (
        f"the optimum where C differs by class, {least}{positive:g} for label 1 and "
        f"{least}{negative:g} for label -1{_with_bias(free)}{NOT_JUDGED}"
    ),
    ReadingKind.C_BY_SAMPLE: lambda free: (
        f"the optimum of weighted samples, each with a C of its own{_with_bias(free)}{NOT_JUDGED}"
    ),
    ReadingKind.FEATURE_LOST: lambda end, part: (
        f"the optimum without the {end} half of the features: a part of a sum was lost"
        if part == "half"
        else f"the optimum without the {end} feature: indices count from 1 in the file"
    ),
}
"""What each reading of a vector says that it is."""


def reading(kind: str, near: float, signed: str, *detail: str | float) -> str:
    """What a vector may be, by the detail of a hint on a reading."""
    return f"{READINGS[ReadingKind(kind)](*detail)}{', written as ' * bool(signed)}{signed}"


HINTS: dict[HintKind, Callable[..., str]] = {
    HintKind.DECLARE_WEIGHTS: lambda: (
        "If the solver maintains w = A'(y alpha) or A'alpha, declare and record it, "
        "or form it again in every window."
    ),
    HintKind.FACTORISATION: lambda name: f"Check the declared factorisation: {name} would allow this.",
    HintKind.LOG_OF_INCREMENTS: lambda: "The log holds increments; it must hold the new values.",
    HintKind.LOG_NOT_WRITTEN: lambda count, of, first: (
        f"{count:.0f} of {of:.0f} entries of the log {'is' if count == 1 else 'are'} NaN, "
        f"the first in step {first:.0f}."
        if count < of
        else "No entry of the log was written; write the new values into it, or declare no log."
    ),
    HintKind.LOG_IN_FLOAT64: lambda held: "Log and alpha agree in float64.",
    HintKind.LOG_IN_FLOAT32: lambda by: (
        "The logged values look rounded to float32 (24 bits): "
        + (
            "alpha so rounded agrees with the log. "
            if by == "alpha"
            else "with the bounds of float32 every step is correct. "
        )
        + "Log them in float64"
        + (", or declare float32 if the run computes in it." if by == "steps" else ".")
    ),
    HintKind.PARTS_IN_FLOAT32: lambda over, of: (
        f"{over:.0f} of {of:.0f} steps exceed the bound of float64, and none exceeds that of float32. "
        "A kernel, gradient, increment or the data may be in float32: "
        "compute it in float64, or declare float32."
    ),
    HintKind.NOT_IN_FLOAT32: lambda others, of: (
        f"Float32 is declared, but {others:.0f} of {of:.0f} logged values are no numbers of float32. "
        "Data and parameters are judged as float32 holds them: declare float64 if the run computes in it."
    ),
    HintKind.NOTHING_MOVED: lambda task: (
        "Alpha stays at its start in the whole run, so no cause can be distinguished. "
        "New values are not stored, or every increment is 0"
        + (", as it is without targets from a start of 0." if task == "krr" else ".")
    ),
    HintKind.STOPPED: lambda first: (
        f"No value moves from iteration {int(first)} on, and all that is faulty is there: "
        "the run may have stopped early."
    ),
    HintKind.WINDOWS_CORRECT: lambda: (
        "The windows that hold faulty steps end within their bounds. Either windows cannot show so small "
        "an error, or the log holds other values than the steps made."
    ),
    HintKind.UNDRAWN_MOVED: lambda apart="": (
        "The window is between the results of two runs, and no step of it drew this coordinate. "
        "Earlier steps may differ."
        if apart
        else "No step drew this coordinate since alpha was last known, by a record or by the log."
    ),
    HintKind.STARTED_ELSEWHERE: lambda: "The run may have started from another alpha.",
    HintKind.STARTED_AT_ZERO: lambda: "The run started from 0, and not from the alpha asked for.",
    HintKind.DEPENDS_ON_RECORDING: lambda: (
        "Made again with every window's end recorded, the run is correct: "
        "it depends on what is recorded, or differs from run to run."
    ),
    HintKind.AT_LIMITS: lambda: (
        "Every wrong value lies on a limit of the box, so one term of the step decides its side."
    ),
    HintKind.SIGNED_BY_LABELS: lambda: (
        "Multiplied by its label, every recorded value lies in the box: return alpha_i, not y_i alpha_i."
    ),
    HintKind.PART_OF_RUN: lambda: "The same defect in the whole run would change correct steps too.",
    HintKind.LAST_WINDOW: lambda steps, s: (
        f"Only the last window is faulty, which has {steps:.0f} of {counted(int(s), 'step')}."
    ),
    HintKind.READING: lambda kind, near, *rest: (
        f"The vector may be {reading(kind, near, *rest)}: so read, it is the optimum to {at_most(near, 1)}."
    ),
    HintKind.CONVENTION: lambda name: f"The runs are correct with {name} under [conventions].",
    HintKind.DRAWS: lambda declared="": (
        f"Its draws are taken to be {declared}; if they are others, declare them under [stream]."
        if declared
        else "If the program draws its coordinates itself, declare that under [stream]."
    ),
    HintKind.VALUE_OF_EARLIER: lambda of: f"The wrong values are those of alpha at iteration {of:.0f}.",
    HintKind.SCALED_RUNS: lambda *relations: (
        f"Runs of scaled problems differ too ({', '.join(relations)}). "
        "An absolute constant may have an effect."
    ),
    HintKind.SMALL_PROBLEMS: lambda most: f"Defects are searched for up to m = {most:.0f} only.",
}
"""What each hint says."""

BRIEF_HINTS = (
    HintKind.NOTHING_MOVED,
    HintKind.STOPPED,
    HintKind.WINDOWS_CORRECT,
    HintKind.STARTED_AT_ZERO,
    HintKind.READING,
    HintKind.CONVENTION,
    HintKind.DRAWS,
    HintKind.LOG_OF_INCREMENTS,
    HintKind.LOG_NOT_WRITTEN,
    HintKind.LAST_WINDOW,
    HintKind.SIGNED_BY_LABELS,
    HintKind.LOG_IN_FLOAT32,
    HintKind.PARTS_IN_FLOAT32,
    HintKind.NOT_IN_FLOAT32,
)
"""Hints that are shown wherever a failure is."""


COUNTED_HINTS = (HintKind.PARTS_IN_FLOAT32, HintKind.NOT_IN_FLOAT32)
"""Hints whose details are counts, so that those of several runs add up."""


def reason_of(verdict: Verdict) -> str:
    """The lines of a verdict, joined by line breaks."""
    return "\n".join(lines_of(verdict))


def brief_of(verdict: Verdict) -> str:
    """The first line; of a FAIL a second one, with its cause and under what else it would be correct."""
    second = " ".join([*_second_line(verdict), *brief_hints(verdict.hints)])
    return "\n".join(filter(None, (first_line(verdict), second)))


def together(hints: Sequence[Hint]) -> list[str]:
    """Several hints of one kind in words, each wording once; counts are added up.

    Nothing of a kind that is not shown wherever a failure is.
    """
    if hints[0].kind in COUNTED_HINTS:
        sums = map(sum, zip(*(one.detail for one in hints), strict=True))
        hints = [replace(hints[0], detail=tuple(sums))]
    return [*dict.fromkeys(brief_hints(hints))]


def brief_hints(hints: Iterable[Hint]) -> list[str]:
    """Those of some hints, in words, that are shown wherever a failure is."""
    return [_hint(hint) for hint in hints if hint.kind in BRIEF_HINTS]


def passed_in_words(check: str, passed: Iterable[str]) -> str:
    """Checks that pass at the s at which another one fails, with the run that they judge."""

    def run(one: str) -> str:
        if check not in REPLAYS:
            return ""
        return " (same run)" if one in REPLAYS else " (short run)" * (one == TRAJECTORY)

    return ", ".join(one + run(one) for one in passed)


def lines_of(verdict: Verdict) -> Iterator[str]:
    """Yield the lines of a verdict: first what was found, then the cause of a FAIL, then the rest."""
    yield first_line(verdict)
    yield from _second_line(verdict)
    evidence = [
        _further(verdict.defects[SHOWN:]),
        _largest(verdict),
        _first_window(verdict),
        *map(_left, verdict.raised[:1]),
        *(_note(note, verdict) for note in verdict.notes),
        *map(_hint, verdict.hints),
        _only_continued(verdict),
    ]
    if evidence := [*filter(None, evidence)]:
        yield f"Evidence: {' '.join(evidence)}"
    if verdict.executed and verdict.check in COMPARED:
        yield f"Compared with: {_compared(verdict)}."
    if verdict.coverage is not None:
        over = verdict.evidence.get("steps_over_bound", 0)
        exceed = f" {over} of these exceed{'s' * (over == 1)} the bound." if over else ""
        failed = verdict.status is Status.FAIL
        ended = len({one.run for one in verdict.raised})
        of = "it" if ended == 1 else "them"
        these = f" {counted(ended, 'run')} failed: nothing else was compared of {of}."
        these *= bool(ended)
        yield f"Coverage: {coverage(verdict.coverage, failed=failed)}{exceed}{these}"
    if verdict.status is Status.PASS and (missing := not_tested(verdict.terms)):
        yield f"Not tested: {missing}."


def _only_continued(verdict: Verdict) -> str:
    """That the plain run may be faulty, too, where it was judged in part and the continued one is."""
    seen = verdict.coverage
    if verdict.status is not Status.FAIL or verdict.requirement != CONTINUES or seen is None:
        return ""
    if seen.judged == seen.of:
        return ""
    return f"The {seen.unit}s of the plain run that were not judged may be faulty, too."


def _compared(verdict: Verdict) -> str:
    """What the run was compared with."""
    if verdict.bound_origin == SCREEN:
        return SCREENED
    gap = verdict.check == "optimum" and verdict.place is not None and verdict.place.item == "gap"
    return "the exact gap of the final vector, enclosed" if gap else COMPARED[verdict.check]


def _second_line(verdict: Verdict) -> Iterator[str]:
    """What reproduces a FAIL, and what it violates, where any of it is known."""
    if verdict.status is Status.FAIL:
        in_part = any(hint.kind is HintKind.PART_OF_RUN for hint in verdict.hints)
        known = cause(verdict.defects, in_part=in_part) if verdict.diagnosed or verdict.defects else ""
        for note in verdict.notes:
            if note.kind is NoteKind.NAMED_BY_STEPS:
                known = f"{note.detail[0]} names the cause."
        if words := " ".join(filter(None, (known, violated(verdict)))):
            yield words


def first_line(verdict: Verdict) -> str:
    """Place, measured value and allowed value; or why nothing was decided."""
    if verdict.violations:
        # Where numbers may leave the range of the precision, a violation need not be a failure.
        why = "" if verdict.why is None else f"{NO_FAILURE} {WHY[verdict.why]}"
        return " ".join([*_all_raised(verdict), *_violated(verdict), *filter(None, (why,))])
    nothing = not verdict.executed and verdict.why in (Why.NO_STEPS, Why.NO_BOUND)
    if verdict.why in TERM_WHY and not nothing and any(not term.seen for term in verdict.terms):
        hidden = [term for term in verdict.terms if not term.seen]
        decisive = [term for term in hidden if term.name in required_quantities(verdict.s)] or hidden[:1]
        if verdict.evidence.get(OF_A_VECTOR):
            return " ".join(_vector_shows_nothing(verdict, decisive[0]))
        return f"The run could not have shown an error in: {not_tested(decisive)}."
    if see := next((one.detail for one in verdict.notes if one.kind is NoteKind.SEE), None):
        return f"Not decided: a run is faulty by itself, see {see[0]} of s = {int(see[1])}."
    if verdict.check == "message-count" and verdict.why is Why.NOT_RECORDED and verdict.place is not None:
        return f"Nothing was compared: {verdict.place.item} were not counted. {UNCOUNTED}"
    if verdict.why is Why.TOO_WIDE and verdict.status is Status.VACUOUS:  # Of a vector: a number is known.
        return (
            f"Not decided: the enclosure of the {_end_item(verdict)} holds the bound, {verdict.bound:.3g}."
        )
    if verdict.why is not None:
        return " ".join([WHY[verdict.why], *_undecided(verdict)])
    if verdict.check == "contract":
        runs = counted(verdict.coverage.of if verdict.coverage else 0, "run")
        filled = any(note.kind is NoteKind.FILLED for note in verdict.notes)
        return f"{runs} made as requested{', as far as the solver states it' * filled}."
    if verdict.check == "message-count" and verdict.place is not None:
        return count_line(verdict, verdict.place)
    if verdict.place is not None and verdict.place.item in CONTRADICTIONS:
        words = CONTRADICTIONS[verdict.place.item](verdict, verdict.place)
        return f"{words[:1].upper()}{words[1:]}."
    where = place(verdict)
    if verdict.units in COUNTED:
        count = 0 if math.isinf(verdict.measured) else int(verdict.measured)
        first = f"; the first: {where}{_with_expected(verdict)}" if where and count else ""
        verb = "differs" if count == 1 else "differ"
        return f"{counted(count, COUNTED[verdict.units])} {verb}, allowed 0{first}."
    found = verdict.place.found if verdict.place else None
    if verdict.place is not None and found is not None and not math.isfinite(found):
        named = _named(verdict, verdict.place)
        return f"{named[:1].upper()}{named[1:]} is not finite: {found}."
    if verdict.check == "box" and verdict.measured == 0.0:
        return "No value is outside the box."
    if verdict.measured == verdict.bound == 0.0:
        return f"{where[:1].upper()}{where[1:]} agrees exactly." if where else "Agrees exactly."
    most = AT_MOST * _is_upper_end(verdict)
    if verdict.check == "optimum" and verdict.status is Status.FAIL:
        most = AT_LEAST
    off = _off(verdict, most)
    if verdict.place is not None and verdict.place.coordinate is None and verdict.units.startswith(NORM):
        off = f"{off} (in the {NORM})"
    if verdict.check == "optimum" and where and math.isinf(verdict.measured):
        return f"{where[:1].upper()}{where[1:]} is of a size that the optimum does not have."
    if verdict.check == "optimum":
        return f"{where[:1].upper()}{where[1:]} is {most}{off}." if where else f"Measured {most}{off}."
    if verdict.check == LARGEST and _is_of_another_value(verdict):
        return f"{where[:1].upper()}{where[1:]}{_with_expected(verdict)}. The largest difference is {off}."
    if verdict.place is not None and _is_of_another_value(verdict):
        return f"{where[:1].upper()}{where[1:]}{_with_expected(verdict)}. The measured error is {off}."
    if verdict.place is not None and is_too_long(verdict, verdict.place.end):
        step, _, named = where.partition(": ")
        why = _too_long(*_first_off(verdict))
        value = f" {named[:1].upper()}{named[1:]}{_with_expected(verdict)}."
        return f"{step[:1].upper()}{step[1:]} is too long: {why}.{value}"
    verb = f"{_verb(verdict)} {most}".strip()
    return (
        f"{where[:1].upper()}{where[1:]} {verb} {off}{_with_expected(verdict)}."
        if where
        else f"Off by {most}{off}."
    )


def _vector_shows_nothing(verdict: Verdict, term: Sensitivity) -> Iterator[str]:
    """Why a vector would pass whatever it is, and what to do; the term is the one that was not tested."""
    certain = term.why is Why.WITHIN_BOUND and term.largest > 0.0
    size = f"{term.largest:.2g} of the bound"
    if verdict.check != "optimum":
        few = f"is certain to change only {size}" if certain else "changes nothing for certain"
        yield f"Nothing is shown: leaving the clip out {few}."
        return
    if not certain:
        yield "Nothing is shown: the zero vector may be the optimum itself, so it would pass too."
        return
    yield (
        "Nothing is shown: the bound is too wide to reject even the zero vector for certain "
        f"(its {_end_item(verdict)} is {size})."
    )
    rounded = any(note.kind is NoteKind.ROUNDED for note in verdict.notes)
    yield DIGITS if rounded else "State a smaller --tolerance."


def _end_item(verdict: Verdict) -> str:
    """What is measured of a final vector: its gap, or its distance from the optimum."""
    gap = verdict.place is None or verdict.place.item == "gap"
    return "gap" if gap else "distance from the optimum"


def count_line(verdict: Verdict, at: Place) -> str:
    """Both values of a count, and how many more or fewer a window has, where the mean is a whole number."""
    found, expected = int(cast(float, at.found)), int(cast(float, at.expected))
    run = f"{at.run[:1].upper()}{at.run[1:]}: " * bool(at.run)
    words = " Words were not compared." * (verdict.units == MESSAGES_ONLY)
    if verdict.measured == 0.0:
        return f"{run}{found} {at.item}, as expected.{words}"
    windows = 0 if at.item == "windows" else cast(int, verdict.evidence.get(COUNTED_WINDOWS, 0))
    each, rest = divmod(abs(found - expected), windows or 1)
    more = "more" if found > expected else "fewer"
    often = f": {each} {more} a window on average" if windows and not rest else ""
    return f"{run}{found} {at.item}, expected {expected}{often}.{words}"


def _is_upper_end(verdict: Verdict) -> bool:
    """Whether what was measured is the upper end of an enclosure, not the distance from a float64 value."""
    by_judge = verdict.check == "step-replay" or verdict.bound_origin == SCREEN
    counted = verdict.check == "message-count" or verdict.units in COUNTED
    return verdict.status is Status.PASS and verdict.measured > 0.0 and not (by_judge or counted)


def _off(verdict: Verdict, most: str = "") -> str:
    """The measured and the allowed value at the place, with what is not proved of the latter.

    A measured value that is stated as a limit, after `most`, is rounded to the side of that limit.
    """
    said = " (estimated, not proved)" * (verdict.bound_origin == ESTIMATED)
    measured, bound = _first_off(verdict)
    known = LIMITED.get(most, "{:.3g}".format)(measured)
    return f"{known}, allowed {_size(bound)}{said}"


def _first_off(verdict: Verdict) -> tuple[float, float]:
    """The measured and the allowed value at the place: of a log those of its first wrong step."""
    first = verdict.evidence.get(FIRST_STEP)
    if not isinstance(first, dict):
        return verdict.measured, verdict.bound
    measured, bound = (math.inf if first[name] is None else first[name] for name in ("measured", "bound"))
    return measured, bound


def is_too_long(verdict: Verdict, step: object) -> bool:
    """Whether a step of a failed log is measured by the norm of its increment, and not by a residual."""
    return step in cast(list, verdict.evidence.get(BY_INCREMENT, ()))


def _too_long(measured: float, bound: float) -> str:
    """What is said of an increment that is longer than that of any correct step."""
    return f"its increment has norm {_size(measured)}, that of a correct step at most {_size(bound)}"


def _verb(verdict: Verdict) -> str:
    """What was measured of a step, or of anything else that has one value."""
    return "leaves a residual of" if verdict.bound_origin == RESIDUAL else "is off by"


def _size(value: float | None) -> str:
    """A number that a report may hold, in which an infinite one is None."""
    return "inf" if value is None else f"{value:.3g}"


def _largest(verdict: Verdict) -> str:
    """Which step has the largest ratio, where the place is that of another one.

    The place of a failed step-replay is the first wrong step. No comparison is said to be off by most:
    others may be, within larger bounds.
    """
    if FIRST_STEP not in verdict.evidence:
        return ""
    number = verdict.evidence[WORST_STEP]
    said = f"{_verb(verdict)} {verdict.measured:.3g}, allowed {verdict.bound:.3g}"
    if is_too_long(verdict, number):
        said = f"is too long: {_too_long(verdict.measured, verdict.bound)}"
    return f"The largest ratio is that of step {number}, which {said}."


def _first_window(verdict: Verdict) -> str:
    """Which window is the first that exceeds its bound, where the place is that of a later one.

    The place of a failed window-replay is the window with the largest ratio.
    """
    at = verdict.place
    if verdict.check != "window-replay" or verdict.status is not Status.FAIL or at is None or at.run:
        return ""
    windows = cast(Sequence[dict[str, Any]], verdict.evidence.get("windows", ()))
    over = [one for one in windows if one["status"] == Status.FAIL]
    first = min(((one["begin"], one["end"]) for one in over), default=(at.begin, at.end))
    if first[0] >= at.begin:
        return ""
    return f"The first compared window that exceeds its bound is of {_made(*first)}."


def _is_of_another_value(verdict: Verdict) -> bool:
    """Whether what was measured is not the difference of both values at the place, such as a first one."""
    at = verdict.place
    if at is None or at.found is None or at.expected is None or verdict.check in AT_ITS_PLACE:
        return False
    return not math.isclose(abs(at.found - at.expected), verdict.measured, rel_tol=0.01)


def _undecided(verdict: Verdict) -> Iterator[str]:
    """Where nothing could be decided, and between which values."""
    if verdict.status is not Status.INCONCLUSIVE or not (where := place(verdict)):
        return
    if math.isfinite(verdict.measured):
        yield f"{where[:1].upper()}{where[1:]} is off by at most {_off(verdict, AT_MOST)}."
    else:
        yield f"Place: {where}."


def place(verdict: Verdict) -> str:
    """What decided a verdict, with its place and both values."""
    at = verdict.place
    if at is None:
        return ""
    named = _named(verdict, at)
    passed = verdict.status is Status.PASS and verdict.check in AT_ITS_PLACE
    if at.found is None or passed:
        return named
    return f"{named} = {_values(at)[0]}"


def _named(verdict: Verdict, at: Place) -> str:
    """What decided a verdict, with its place and no value."""
    return _NAMED.get(verdict.check, _alpha)(verdict, at)


def _with_expected(verdict: Verdict) -> str:
    """What the value at the place was compared with; empty where that is the same number of float64."""
    passed = verdict.status is Status.PASS and verdict.check in AT_ITS_PLACE
    _, expected = _values(verdict.place) if verdict.place and not passed else ("", "")
    return f" ({EXPECTED_AS.get(verdict.check, 'expected')}: {expected})" if expected else ""


def _values(at: Place) -> tuple[str, str]:
    """The value at a place and the other one, with as many digits as it takes to distinguish both.

    The other one is empty where there is none, or where both are the same number of float64: an exact value
    may be nearer to another one than its rounding shows.
    """
    if at.found is None:
        return "", ""
    if at.expected is None or at.found == at.expected or not math.isfinite(at.found - at.expected):
        return _value(at.found), "" if at.expected in (None, at.found) else _value(at.expected)
    larger, apart = max(abs(at.found), abs(at.expected)), abs(at.found - at.expected)
    digits = min(max(math.ceil(math.log10(larger) - math.log10(apart)) + 2, 3), 17)
    return _value(at.found, digits), _value(at.expected, digits)


def _value(value: float, digits: int = 17) -> str:
    """A value in so many digits at most; one without a fraction as files hold a count."""
    if float(value).is_integer() and abs(value) < 2**53:
        return str(int(value))
    return min(repr(float(value)), f"{value:.{digits}g}", key=len)


def _alpha(verdict: Verdict, at: Place) -> str:
    entry = at.item or ("alpha" if at.coordinate is None else f"alpha[{at.coordinate}]")
    run = f"{at.run}, " if at.run else ""
    return f"{run}after {counted(at.end, 'iteration')}: {entry}" if at.end else f"{run}{entry}"


def _step(verdict: Verdict, at: Place) -> str:
    return f"{_run(at)}step {at.begin + 1}: the logged alpha[{at.coordinate}]"


def _window(verdict: Verdict, at: Place) -> str:
    entry = (at.item or "alpha") if at.coordinate is None else f"alpha[{at.coordinate}]"
    return f"{_run(at)}window of {_made(at.begin, at.end)}: {entry}"


def _made(begin: int, end: int) -> str:
    """The iterations of a window, in words."""
    return f"iteration {end}" if begin + 1 == end else f"iterations {begin + 1}..{end}"


def _run(at: Place) -> str:
    return f"run {at.run}, " if at.run else ""


def _log_elsewhere(verdict: Verdict, at: Place) -> str:
    entry = f"{_run(at)}after {counted(at.end, 'iteration')}: alpha[{at.coordinate}] is recorded"
    held = next((one.detail[0] for one in verdict.hints if one.kind is HintKind.LOG_IN_FLOAT64), None)
    if held is not None:
        return f"{entry} in {held}, and the log holds it in float64, as {at.expected!r}"
    if at.expected is None or math.isnan(at.expected):  # In plain values NaN is None.
        return f"{entry} as {at.found!r}, but the log holds no finite number for it"
    explained = {HintKind.LOG_OF_INCREMENTS, HintKind.LOG_IN_FLOAT32} & {one.kind for one in verdict.hints}
    either = "" if explained else ". Either may be wrong"
    return f"{entry} as {at.found!r}, but the log leads to {at.expected!r}{either}"


def _log_shape(verdict: Verdict, at: Place) -> str:
    shapes = (verdict.evidence.get(key) for key in ("log_shape", "expected_shape"))
    return f"{_run(at)}the step log has another shape than expected: " + ", not ".join(map(str, shapes))


CONTRADICTIONS: dict[str, Callable[[Verdict, Place], str]] = {
    LOG: _log_elsewhere,
    MAINTAINED_WEIGHTS: lambda verdict, at: f"{_window(verdict, at)} are not finite",
    "log missing": lambda verdict, at: f"{_run(at)}the run left no step log, though one is declared",
    "log shape": _log_shape,
}
"""What is said of a step log that contradicts its run, and of weights, by the item of the place."""


def _kernel(verdict: Verdict, at: Place) -> str:
    return f"window after iteration {at.begin}: kernel entry K({at.coordinate}, {at.column})"


def _item(verdict: Verdict, at: Place) -> str:
    return f"the reported {at.item}"


def _count(verdict: Verdict, at: Place) -> str:
    return f"{at.run}: " * bool(at.run) + f"the count of {at.item}"


def _weights(verdict: Verdict, at: Place) -> str:
    entry = "the maintained w" if at.coordinate is None else f"w[{at.coordinate}], which is maintained,"
    return f"after {counted(at.end, 'iteration')}: {entry}"


def _end(verdict: Verdict, at: Place) -> str:
    moved = any(note.kind is NoteKind.MOVED for note in verdict.notes)
    return f"the {at.item} of {'the nearest vector in the box' if moved else 'the final vector'}"


_NAMED: dict[str, Callable[[Verdict, Place], str]] = {
    "step-replay": _step,
    "window-replay": _window,
    "kernel-entries": _kernel,
    "claim-honesty": _item,
    "message-count": _count,
    "residual-gap": _weights,
    "optimum": _end,
}
"""How the place of a verdict is named, by check; `_alpha` for all others."""


def cause(defects: tuple[Defect, ...], *, in_part: bool = False) -> str:
    """The defects that reproduce a FAIL, the first three in words, each with its name, and how many more.

    In a part of the run only, where each would change correct values. It is called the cause where it is
    the only one, in the whole run, and nothing else is known to end there.
    """
    if not defects:
        return "No known defect that was tried reproduces it."
    shared = " Other defects may end there as well." if any(one.shared for one in defects) else ""
    if len(defects) == 1 and not (shared or in_part):
        of = "" if defects[0].part is None else f" of {_part(defects[0].part)}"
        return f"Cause{of}: {defect_in_words(defects[0])}."
    more = (f"and {len(defects) - SHOWN} more",) * (len(defects) > SHOWN)
    several = "; ".join((*map(_with_part, defects[:SHOWN]), *more))
    where = " if present only in a part of the run" * in_part
    reproduce = f"reproduce{'s' * (len(defects) == 1)} it{where}"
    return f"{counted(len(defects), 'known defect')} {reproduce}: {several}.{shared}"


def defect_in_words(defect: Defect) -> str:
    """What a defect, or both of a pair, is, and the name by which it is known."""
    meaning = ", and ".join(meaning_of(name, defect.factor, defect.symbol) for name in defect.names)
    return f"{meaning} ({', '.join(defect.names)})"


def _with_part(defect: Defect) -> str:
    part = "" if defect.part is None else f", in {_part(defect.part)}"
    return defect_in_words(defect) + part


def _part(part: tuple[int, int]) -> str:
    return "{} of {} faulty steps tried".format(*part)


def _further(defects: tuple[Defect, ...]) -> str:
    """The defects beyond those that are named before the evidence."""
    words = "; ".join(map(_with_part, defects))
    return f"The further known defects are: {words}." if defects else ""


def violated(verdict: Verdict) -> str:
    """The requirement that a FAIL violates, with its text; empty where none is named.

    A vector that may be read otherwise proves no cause, nor does a defect where others may end there as
    well. What these would violate is a possibility.
    """
    number = verdict.requirement
    read = any(hint.kind is HintKind.READING for hint in verdict.hints)
    may = read or any(one.shared and number in one.requirements for one in verdict.defects)
    return f"{'May violate' if may else 'Violates'} {number}: {text_of(number)}" if number else ""


def coverage(looked_at: Coverage, *, failed: bool = False) -> str:
    """How much was judged; and, unless it `failed`, the chance to miss what happens rarely."""
    words = [f"{looked_at.judged} of {counted(looked_at.of, looked_at.unit)}."]
    if looked_at.flagged:
        words.append(
            f"The float64 screen marked {looked_at.flagged}; "
            f"{looked_at.replayed} {'was' if looked_at.replayed == 1 else 'were'} replayed exactly."
        )
    if not failed and 0 < looked_at.judged < looked_at.of and looked_at.unit in ("step", "window"):
        missed = (1.0 - RARE) ** looked_at.judged
        words.append(
            f"A defect that occurs in each {looked_at.unit} independently with probability {RARE:g} "
            f"would be missed with probability {missed:.3g}. One confined to a part of the run would be "
            f"missed, unless a judged {looked_at.unit} lies there."
        )
    return " ".join(words)


def not_tested(terms: Iterable[Sensitivity]) -> str:
    """The quantities that were not tested, each with its reason; empty if all were."""
    return "; ".join(f"{term.name} ({term_reason(term)})" for term in terms if not term.seen)


def term_reason(term: Sensitivity) -> str:
    """Why a quantity was not tested; empty if it was."""
    return term_why(term.why, term.largest)


def term_why(why: str | None, largest: float | None) -> str:
    """The same of the values that a report holds, in which an infinite number is None."""
    if why is None:
        return ""
    reason = Why(why)
    if reason is Why.WITHIN_BOUND and largest == 0.0:
        reason = Why.NO_EFFECT
    return TERM_WHY.get(reason, WHY[reason]).format(largest=math.inf if largest is None else largest)


def compared_in_words(verdict: Mapping[str, Any], number: Callable[[int], str] = str) -> str:
    """How many comparisons were made for a verdict of a report, of those possible; a window counts once."""
    unit, made = ("window", "compared") if verdict["check"] == "window-replay" else ("comparison", "made")
    units = unit + "s" * (verdict["planned"] != 1)
    was = "was" if verdict["executed"] == 1 else "were"
    return f"{number(verdict['executed'])} of {number(verdict['planned'])} {units} {was} {made}"


def term_in_counts(term: Mapping[str, Any], number: Callable[[int], str] = str) -> str:
    """How many comparisons tested a quantity of a report, and why none did."""
    of = f"{number(term['planned'])} comparison{'s' * (term['planned'] != 1)}"
    why = term_why(term.get("why"), term.get("largest"))
    if not term["decided"]:
        said = (
            f"none of its {of} was decided"
            if term["planned"] != 1
            else "its one comparison was not decided"
        )
        return said + f": {why}" * (bool(why) and term["why"] != Why.NONE_DECIDED)
    was = "was" if term["decided"] == 1 else "were"
    said = f"tested by {number(term['seen'])} of {of}, of which {number(term['decided'])} {was} decided"
    return said + f": {why}" * bool(why)


def _of_request(item: str | float) -> str:
    """An item of a request in words."""
    return str(item).replace("first a", "first alpha")


def _note(note: Note, verdict: Verdict) -> str:
    """What a note says among all that is known of its verdict."""
    if note.kind is NoteKind.RELATIVE:
        over, tolerance = map(float, note.detail)
        return relative_of(over, tolerance, moved=any(one.kind is NoteKind.MOVED for one in verdict.notes))
    # Of a run that failed a witness may have counted, and nothing is taken from it.
    if note.kind is NoteKind.UNPROVED and verdict.raised:
        return f"Declared, but not compared of every run: {', '.join(map(str, note.detail))}."
    return NOTES[note.kind](*note.detail)


def _hint(hint: Hint) -> str:
    return HINTS[hint.kind](*hint.detail)


def _left(error: RunError) -> str:
    """Where an error was raised, the innermost frame last; what a program printed last."""
    found = [f"The last frames are {'; '.join(error.frames)}."] if error.frames else []
    if error.said and not (len(error.said) == 1 and error.message.endswith(error.said[0])):
        lines = "; ".join(f'"{visible(line)}"' for line in error.said)
        found.append(f"The program printed last: {lines}.")
    return " ".join(found)


def _raised(error: RunError) -> str:
    message = error.message.removesuffix(".")
    if error.quoted:
        return f"Run {error.run}: {message}."
    at = f" at {error.frames[-1].partition(' in ')[0]}" if error.frames else ""
    return f"Run {error.run}: the solver raised {': '.join(filter(None, (error.kind, message)))}{at}."


def _all_raised(verdict: Verdict) -> Iterator[str]:
    """The error of the first run that raised one, and how many more did."""
    yield from map(_raised, verdict.raised[:1])
    if more := verdict.raised[1:]:
        alike = len({(one.kind, one.message) for one in verdict.raised}) == 1
        yield f"{counted(len(more), 'more run')} {'likewise' if alike else 'failed too'}."


def _violated(verdict: Verdict) -> Iterator[str]:
    """The items that the first three runs violate, and how many more runs there are."""
    raised = {error.run for error in verdict.raised}
    items: dict[str, list[str]] = {}
    for one in verdict.violations:
        if one.run not in raised or one.item != "stop reason":
            items.setdefault(one.run, []).append(ITEMS[one.item].format_map(vars(one)))
    alike = grouped(items, lambda run: tuple(items[run]))
    shown = list(alike.items())[:3]
    for words, (run, *others) in shown:
        also = f" {counted(len(others), 'more run')} likewise." if others else ""
        yield f"Run {run}: {'; '.join(words)}.{also}"
    if more := len(items) - sum(len(runs) for _, runs in shown):
        yield f"{counted(more, 'more run')} {'violates' if more == 1 else 'violate'} the contract."


def s_in_words(values: Iterable[int]) -> str:
    """A set of s, each named: ``s = 1, 7 and 64``; ``s <= S`` only of all from 1 to S."""
    found = sorted(set(values))
    if len(found) > 1 and found[-1] == len(found):
        return f"s <= {found[-1]}"
    *most, last = map(str, found)
    return f"s = {', '.join(most)} and {last}" if most else f"s = {last}"


def s_on(parts: Mapping[int, str]) -> tuple[str, ...]:
    """What is said of each s: ``s = 6 and 7 on 3 of 3 problems each``, those with the same words together.

    Beyond `MOST_GROUPS` of these, how many values of s are left.
    """
    groups = list(grouped(parts, parts.__getitem__).items())
    told = [
        f"{s_in_words(own)} on {words}" + " each" * bool(own[1:]) for words, own in groups[:MOST_GROUPS]
    ]
    left = sum(len(own) for _, own in groups[MOST_GROUPS:])
    return (*told, *[f"{counted(left, 'other value')} of s"] * bool(left))


def lacking(few: TooFew) -> str:
    """How few comparisons a check executed."""
    (line,) = lacking_together([few])
    return line


def lacking_together(several: Iterable[TooFew]) -> list[str]:
    """The same of several, those with the same counts together: ``box and contract, case, s = 1, 6``."""
    by_check = grouped(several, lambda one: (one.check, one.case, one.executed, one.planned, one.needed))
    alike = grouped(by_check, lambda key: (*key[1:], tuple(one.s for one in by_check[key])))
    return [
        f"{' and '.join(check for check, *_ in keys)}, {case}, s = {', '.join(map(str, values))}: "
        f"{executed} of {counted(planned, 'possible comparison')} made, {needed} needed"
        for (case, executed, planned, needed, values), keys in alike.items()
    ]

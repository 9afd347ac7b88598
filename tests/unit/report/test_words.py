"""The words of a verdict: one of each kind, as the golden file next to this test has them.

A change of words is seen here and nowhere else: ``python tests/unit/report/test_words.py`` writes the file.
"""

from __future__ import annotations

import ast
import math
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest

from sstep_verify import checks
from sstep_verify.checks.contract import ITEMS as CONTRACT_ITEMS
from sstep_verify.checks.registry import CHECKS
from sstep_verify.checks.shared.final_vector import ALONE
from sstep_verify.meanings import MEANINGS
from sstep_verify.report import words
from sstep_verify.verdict import (
    BY_INCREMENT,
    COUNTED_WINDOWS,
    FIRST_STEP,
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
    Violation,
    Why,
)

GOLDEN = Path(__file__).with_name("words.txt")

STEP = Place(1, 2, 20, found=1.5534930892, expected=1.5534930886)
KERNEL = Sensitivity(
    "kernel-correction", Status.VACUOUS, math.inf, 5, 5, 0, why=Why.WITHIN_BOUND, largest=0.25
)
TAIL = Sensitivity("tail", Status.VACUOUS, math.inf, 5, 5, 0, why=Why.NO_EFFECT)
CORRECTION = Defect(("kernel-correction off by a factor",), 1.000000001, ("S-3.5",))
PAIR = Defect(("labels inside the kernel", "norms dropped"), None, ("S-1.2", "S-1.7"), shared=True)


def verdict(check, status, measured=0.5, bound=1.0, *, units="absolute", executed=4, **fields):
    """One verdict of a check on a case named case."""
    ratio = measured / bound if bound else math.inf
    numbers = ratio, measured, bound, units, 4, executed
    return Verdict(check, "case", "problem", 8, 1, status, *numbers, **fields)


NOT_MADE = replace(KERNEL, name="no step made", largest=0.33)


def of_vector(check, term, item="gap", notes=()):
    """A verdict on a vector that was handed over, which tested nothing."""
    return verdict(
        check, Status.VACUOUS, why=term.why, terms=(term,), place=Place(item=item), notes=notes,
        evidence={words.OF_A_VECTOR: True},
    )  # fmt: skip


FAIL, PASS, VACUOUS, OPEN = Status.FAIL, Status.PASS, Status.VACUOUS, Status.INCONCLUSIVE

KINDS = {
    "step-replay, wrong by a factor": verdict(
        "step-replay", FAIL, 6e-10, 2e-14, place=STEP, defects=(CORRECTION,), diagnosed=True,
        requirement="S-3.5", bound_origin="bounds/step/clip", coverage=Coverage("step", 205, 205),
        evidence={"steps_over_bound": 31},
    ),
    "step-replay, of most wrong steps": verdict(
        "step-replay", FAIL, 6e-10, 2e-14, place=STEP, diagnosed=True, requirement="S-3.9",
        defects=(Defect(("upper-end left out",), None, ("S-3.9",), part=(67, 74)),),
    ),
    "step-replay, all and most": verdict(
        "step-replay", FAIL, 6e-10, 2e-14, place=STEP, diagnosed=True,
        defects=(CORRECTION, Defect(("upper-end left out",), None, ("S-3.9",), part=(67, 74))),
    ),
    "step-replay, unknown": verdict(
        "step-replay", FAIL, 6e-10, 2e-14, place=STEP, diagnosed=True, requirement="S-3.1",
        hints=(
            Hint(HintKind.LOG_NOT_WRITTEN, (3, 205, 17)),
            Hint(HintKind.LOG_OF_INCREMENTS),
            Hint(HintKind.LAST_WINDOW, (3, 8)),
        ),
    ),
    "step-replay, a part in float32": verdict(
        "step-replay", FAIL, 6e-10, 2e-14, place=STEP, diagnosed=True, requirement="S-3.1",
        coverage=Coverage("step", 60, 205), hints=(Hint(HintKind.PARTS_IN_FLOAT32, (42, 60)),),
    ),
    "window-replay, of two defects": verdict(
        "window-replay", FAIL, 0.07, 0.0, place=Place(0, 8, 3), defects=(CORRECTION, PAIR),
        diagnosed=True, bound_origin="bounds/window/svm", coverage=Coverage("window", 7, 38, 17, 4),
        hints=(Hint(HintKind.AT_LIMITS), Hint(HintKind.PART_OF_RUN), Hint(HintKind.DECLARE_WEIGHTS)),
    ),
    "window-replay, passed in part": verdict(
        "window-replay", PASS, place=Place(8, 16, 3),
        terms=(KERNEL, TAIL, replace(TAIL, why=Why.WITHIN_BOUND)),
        coverage=Coverage("window", 7, 38), bound_origin="bounds/window/ridge",
        notes=(Note(NoteKind.EVALUATED),),
    ),
    "trajectory, printed": verdict(
        "trajectory", FAIL, 2.0, 1.0, place=Place(0, 64), requirement="S-4.1",
        notes=(Note(NoteKind.PRINTED, (6, 12)), Note(NoteKind.ROUNDED, (5e-7, 12, 12))),
    ),
    "trajectory, printed, in a norm": verdict(
        "trajectory", PASS, place=Place(0, 64), notes=(Note(NoteKind.ROUNDED, (1.1e-13, 1, 1)),),
    ),
    "sstep-equals-classical": verdict(
        "sstep-equals-classical", FAIL, 2.0, 1.0, place=Place(0, 64, 3, found=0.5, expected=0.0),
        requirement="S-4.2", hints=(Hint(HintKind.UNDRAWN_MOVED), Hint(HintKind.STARTED_ELSEWHERE)),
    ),
    "kernel-entries": verdict(
        "kernel-entries", FAIL, 0.1, 1e-15, place=Place(16, 16, 3, 5, found=0.4, expected=0.3),
        defects=(PAIR,), diagnosed=True, bound_origin="rounding/kernel/entries",
    ),
    "box": verdict(
        "box", FAIL, 0.1, 0.0, place=Place(0, 40, 3, found=-0.1, expected=0.0), requirement="S-3.8"
    ),
    "box, passed": verdict("box", PASS, 0.0, 5e-5, place=Place(0, 40), bound_origin="bounds/box"),
    "step-replay, worst elsewhere": verdict(
        "step-replay", FAIL, 0.79, 5e-15, place=STEP, diagnosed=True,
        evidence={WORST_STEP: 4, FIRST_STEP: {"measured": 6e-10, "bound": 2e-14}},
    ),
    "step-replay, residual elsewhere": verdict(
        "step-replay", FAIL, 0.79, 5e-15, place=STEP, diagnosed=True, bound_origin="bounds/step/residual",
        evidence={WORST_STEP: 4, FIRST_STEP: {"measured": None, "bound": 2e-14}},
    ),
    "step-replay, longer than any": verdict(
        "step-replay", FAIL, 0.79, 5e-15, place=STEP, diagnosed=True, bound_origin="bounds/step/residual",
        evidence={
            WORST_STEP: 4, FIRST_STEP: {"measured": 1.12, "bound": 0.172}, BY_INCREMENT: [2],
        },
    ),
    "step-replay, below the last digit": verdict(
        "step-replay", FAIL, 4e-17, 2e-17, place=replace(STEP, found=0.3, expected=0.3), diagnosed=True,
    ),
    "step-replay, by four defects": verdict(
        "step-replay", FAIL, 6e-10, 2e-14, place=STEP, diagnosed=True,
        defects=(
            *(Defect((name,), None, ("S-3.6",)) for name in ("assigned-once", "tail-lost", "stale-alpha")),
            Defect(("upper-end left out",), None, ("S-3.9",), part=(67, 74)),
        ),
    ),
    "window-replay, in the M-norm": verdict(
        "window-replay", FAIL, 0.07, 1e-15, place=Place(0, 8), bound_origin="bounds/window/ridge",
        units="M-norm, or largest coordinate",
    ),
    "step-replay, of a residual": verdict(
        "step-replay", PASS, 7e-17, 3e-15, place=replace(STEP, expected=None),
        bound_origin="bounds/step/residual",
    ),
    "log in float64": verdict(
        "step-replay", FAIL, math.inf, 0.0, executed=0, requirement="S-5.2",
        place=Place(0, 1, 11, found=0.9090909, expected=0.9090909, item="log"),
        hints=(Hint(HintKind.LOG_IN_FLOAT64, ("float128",)),),
    ),
    "log not written": verdict(
        "step-replay", FAIL, math.inf, 0.0, executed=0, requirement="S-5.2",
        place=Place(0, 52, 3, found=0.5, expected=math.nan, item="log"),
    ),
    "log of another run": verdict(
        "step-replay", FAIL, math.inf, 0.0, executed=0, requirement="S-5.2",
        place=Place(0, 52, 3, found=0.5, expected=0.25, item="log"),
    ),
    "contract, out of range": verdict(
        "contract", VACUOUS, 0.0, 0.0, why=Why.OVERFLOW, units="violations",
        violations=(Violation("s=1", "finite", "nan", detail="alpha at iteration 29"),),
    ),
    "determinism": verdict(
        "determinism", FAIL, 3.0, 0.0, units="values",
        place=Place(40, 40, 3, found=0.2, expected=0.1, run="second run of the same request"),
    ),
    "rank-coherence": verdict(
        "rank-coherence", FAIL, 1.0, 0.0, units="ranks", place=Place(0, 40, item="rank 2"),
        requirement="S-6.3",
    ),
    "message-count": verdict(
        "message-count", FAIL, 4.0, 0.0, place=Place(found=12, expected=8, item="collectives"),
        requirement="S-6.1", notes=(Note(NoteKind.OWN_WORD),),
    ),
    "message-count, as used": verdict(
        "message-count", FAIL, 10.0, 0.0, requirement="S-6.1",
        place=Place(
            found=21, expected=11, item="allreduces that entered the MPI library",
            run="run without log and records",
        ),
        evidence={COUNTED_WINDOWS: 8},
    ),
    "message-count, twice a window": verdict(
        "message-count", FAIL, 48.0, 0.0, requirement="S-6.1", evidence={COUNTED_WINDOWS: 48},
        place=Place(found=96, expected=48, item="collectives"),
    ),
    "message-count, not counted": verdict(
        "message-count", OPEN, 0.0, math.inf, why=Why.NOT_RECORDED, place=Place(item="collectives, words"),
    ),
    "message-count, passed": verdict(
        "message-count", PASS, 0.0, 0.0, place=Place(found=8.0, expected=8, item="collectives"),
    ),
    "message-count, of messages": verdict(
        "message-count", PASS, 0.0, 0.0, place=Place(found=8.0, expected=8, item="collectives"),
        units=MESSAGES_ONLY,
    ),
    "window-replay, made again as another run": verdict(
        "window-replay", PASS, 1e-17, 1e-15, place=Place(8, 16, 3), notes=(Note(NoteKind.OTHER_RUN, (8.0,)),),
    ),
    "window-replay, of the continued run": verdict(
        "window-replay", FAIL, requirement="S-2.8", place=Place(0, 1, 3, run="s=8/continued"),
        coverage=Coverage("window", 7, 205, 0, 0),
    ),
    "window-replay, of a log that contradicts": verdict(
        "window-replay", PASS, place=Place(8, 16, 3), notes=(Note(NoteKind.LOG_CONTRADICTS, ("step-replay",)),),
    ),
    "window-replay, between two runs": verdict(
        "window-replay", FAIL, requirement="S-3.1", place=Place(8, 16, 3),
        hints=(Hint(HintKind.UNDRAWN_MOVED, ("two runs",)),),
    ),
    "window-replay, nothing moved": verdict(
        "window-replay", FAIL, 0.1, 0.0, requirement="S-3.2", place=Place(8, 16, 3),
        hints=(Hint(HintKind.NOTHING_MOVED, ("krr",)), Hint(HintKind.NOTHING_MOVED, ("svm-l1",))),
    ),
    "step-replay, stopped": verdict(
        "step-replay", FAIL, 0.4, 0.0, requirement="S-3.1", place=STEP,
        hints=(Hint(HintKind.STOPPED, (36.0,)), Hint(HintKind.WINDOWS_CORRECT)),
    ),
    "step-replay, started at 0": verdict(
        "step-replay", FAIL, 0.4, 0.0, requirement="S-2.1",
        place=replace(STEP, run="s=8/continued"),
        hints=(Hint(HintKind.STARTED_AT_ZERO), Hint(HintKind.CONVENTION, ('start = "zero"',))),
    ),
    "several runs": verdict("window-replay", PASS, notes=(Note(NoteKind.CONDITION, (1e8,)),)),
    "claim-honesty": verdict(
        "claim-honesty", FAIL, 3.0, 1e-12, place=Place(found=1e-9, expected=3.0, item="gap"),
        requirement="S-5.4", bound_origin="bounds/optimum/reported",
        hints=(Hint(HintKind.VALUE_OF_EARLIER, (40,)),),
    ),
    "residual-gap": verdict(
        "residual-gap", FAIL, 1.0, 1e-12, place=Place(0, 40, 2, item="weights"), requirement="S-5.3"
    ),
    "metamorphic-exact": verdict(
        "metamorphic-exact", FAIL, 1.0, 0.0, requirement="S-4.5",
        place=Place(0, 8, 3, found=0.2, expected=0.1, run="run data-up"),
    ),
    "optimum, passed": verdict("optimum", PASS, 2.9e-6, 7.8e-6, place=Place(item="gap")),
    "optimum, not finite": verdict(
        "optimum", FAIL, math.inf, 0.0, place=Place(coordinate=0, found=math.nan, item="largest entry"),
    ),
    "optimum, too large": verdict(
        "optimum", FAIL, math.inf, 0.0, place=Place(coordinate=0, found=1e300, item="largest entry"),
    ),
    "step-replay, not finite": verdict(
        "step-replay", FAIL, math.inf, 1.0, place=Place(1, 2, 20, found=math.inf, expected=0.5),
    ),
    "optimum, read otherwise": verdict(
        "optimum", FAIL, 1.0, 1e-8, place=Place(item="gap"),
        notes=(Note(NoteKind.MOVED), Note(NoteKind.RELATIVE, (0.5, 1e-8))),
        hints=(Hint(HintKind.READING, (ReadingKind.REORDERED, 1e-9, "")),),
    ),
    "vector, too few digits": of_vector("optimum", NOT_MADE, notes=(Note(NoteKind.ROUNDED, (5.0, 40, 40)),)),
    "vector, a wide tolerance": of_vector("optimum", NOT_MADE),
    "vector of an optimum of 0": of_vector(
        "optimum", replace(NOT_MADE, why=Why.NO_EFFECT, largest=0.0), item="distance"
    ),
    "vector, a wide box": of_vector("box", replace(NOT_MADE, name="clip dropped")),
    "vector on no limit": of_vector("box", replace(NOT_MADE, name="clip dropped", why=Why.NO_EFFECT)),
    "vector, enclosed too widely": verdict(
        "optimum", VACUOUS, why=Why.TOO_WIDE, place=Place(item="gap"), evidence={words.OF_A_VECTOR: True}
    ),
    "contract, violated": verdict(
        "contract", FAIL, 12.0, 0.0, requirement="S-2.3",
        violations=tuple(Violation("s=8", item, "found", "asked", "detail") for item in CONTRACT_ITEMS),
        coverage=Coverage("run", 2, 2),
    ),
    "contract, raised": verdict(
        "contract", FAIL, 1.0, 0.0, requirement="S-2.7",
        violations=(Violation("s=8", "stop reason", "no", "", "raised"),),
        raised=(RunError("s=8", "ValueError", "no", frames=("mine.py:12 in solve",)),),
    ),
    "contract, program ended": verdict(
        "contract", FAIL, 1.0, 0.0, requirement="S-2.7",
        violations=(Violation("s=8", "stop reason", "exit code 3; its last words: no", "", "raised"),),
        raised=(RunError("s=8", "ProgramError", "exit code 3; its last words: no", True, (), ("a", "no")),),
    ),
    "contract, all runs ended": verdict(
        "contract", FAIL, 1.0, 0.0, requirement="S-2.7",
        violations=[Violation(f"s={s}", "stop reason", "exit code 3", "", "raised") for s in (1, 4, 8)],
        raised=[RunError(f"s={s}", "ProgramError", "exit code 3", True) for s in (1, 4, 8)],
        coverage=Coverage("run", 3, 3),
    ),
    "contract, runs ended in several ways": verdict(
        "contract", FAIL, 1.0, 0.0, requirement="S-2.7",
        violations=[Violation(f"s={s}", "stop reason", f"exit code {s}", "", "raised") for s in (1, 4)],
        raised=[RunError(f"s={s}", "ProgramError", f"exit code {s}", True) for s in (1, 4)],
    ),
    "contract, passed": verdict(
        "contract", PASS, 0.0, 0.0, coverage=Coverage("run", 8, 8),
        notes=(Note(NoteKind.UNPROVED, ("count of words",)),),
    ),
    "contract, counts of runs that failed": verdict(
        "contract", FAIL, 1.0, 0.0, coverage=Coverage("run", 1, 1), notes=(Note(NoteKind.UNPROVED, ("count of words",)),),
        violations=[Violation("s=1", "stop reason", "words 0, but the witness counted 2660", "", "raised")],
        raised=[RunError("s=1", "WitnessError", "words 0, but the witness counted 2660", True)],
    ),
    "contract, of a function": verdict(
        "contract", PASS, 0.0, 0.0, coverage=Coverage("run", 8, 8),
        notes=(Note(NoteKind.FILLED, ("length", "s", "first a")),),
        terms=(Sensitivity("a stated length that is short", VACUOUS, math.inf, 5, 3, 0, why=Why.FILLED_IN),),
    ),
    "wrong by itself": verdict(
        "sstep-equals-classical", VACUOUS, why=Why.WRONG_BY_ITSELF,
        notes=(Note(NoteKind.SEE, ("step-replay", 8)),),
    ),
    "named by its steps": verdict(
        "window-replay", FAIL, 6e-10, 2e-14, place=Place(0, 8, 3), diagnosed=True, requirement="S-3.5",
        notes=(Note(NoteKind.NAMED_BY_STEPS, ("step-replay",)),),
    ),
    "log in float32": verdict(
        "step-replay", FAIL, 6e-8, 2e-14, place=STEP, diagnosed=True, requirement="S-3.1",
        hints=(Hint(HintKind.LOG_IN_FLOAT32, ("steps",)),),
    ),
    "recorded alpha, log in float32": verdict(
        "step-replay", FAIL, executed=0, place=replace(STEP, item="log"), requirement="S-3.12",
        hints=(Hint(HintKind.LOG_IN_FLOAT32, ("alpha",)),),
    ),
    "the relation decides": verdict(
        "sstep-equals-classical", FAIL, 2.0, 1.0, place=Place(0, 64, 3, found=0.5, expected=0.0),
        requirement="S-4.2", notes=(Note(NoteKind.THESE_RUNS), Note(NoteKind.DECIDES)),
        bound_origin="checks/short/runs",
    ),
    "scaled runs differ too": verdict(
        "step-replay", FAIL, 6e-10, 2e-14, place=STEP, diagnosed=True, requirement="S-3.1",
        hints=(Hint(HintKind.SCALED_RUNS, ("data-up", "targets-down")),),
    ),
    "continued, and screened": verdict(
        "window-replay", PASS, place=Place(8, 16, 3), coverage=Coverage("window", 20, 52),
        notes=(Note(NoteKind.SCREENED, (13.0,)), Note(NoteKind.CONTINUED, (48.0, 1.0, "window"))),
    ),
    "continued log": verdict(
        "step-replay", PASS, 1e-17, 1e-15, place=replace(STEP, run="s=8/continued", expected=None),
        notes=(Note(NoteKind.CONTINUED, (49.0, 46.0, "step")),),
    ),
    "no windows observed": verdict(
        "window-replay", PASS, place=Place(8, 16, 3), notes=(Note(NoteKind.UNOBSERVED),),
    ),
    "taken on trust": verdict(
        "window-replay", PASS, place=Place(8, 16, 3), coverage=Coverage("window", 38, 38),
        terms=(Sensitivity("stream", VACUOUS, math.inf, 5, 5, 0, why=Why.OWN_DRAWS),),
    ),
    "weights taken on trust": verdict(
        "window-replay", VACUOUS, why=Why.ON_TRUST,
        terms=(Sensitivity("stale-product", VACUOUS, math.inf, 5, 5, 0, why=Why.ON_TRUST),),
    ),
    "conventions": verdict(
        "window-replay", FAIL, 1.0, 0.1, place=Place(0, 8),
        hints=(Hint(HintKind.CONVENTION, ('scale = "m"',)), Hint(HintKind.DRAWS, ("cyclic",)), Hint(HintKind.DRAWS)),
    ),
    "declared float32": verdict(
        "step-replay", FAIL, 1e-8, 0.0, place=STEP, hints=(Hint(HintKind.NOT_IN_FLOAT32, (95.0, 95.0)),),
    ),
    "altered": verdict(
        "step-replay", OPEN, why=Why.ALTERED, notes=(Note(NoteKind.ALTERED, ("flush-to-zero",)),)
    ),
    "not shown": verdict("window-replay", VACUOUS, why=Why.WITHIN_BOUND, terms=(KERNEL, TAIL)),
    **{
        f"why {why}": verdict("window-replay", OPEN, why=why, executed=0)
        for why in Why
        if why not in (Why.WITHIN_BOUND, Why.ALTERED)
    },
}  # fmt: skip


def text() -> str:
    return "".join(f"== {name}\n{one.reason}\n\n" for name, one in KINDS.items())


def test_the_words_are_those_of_the_golden_file():
    assert text() == GOLDEN.read_text("utf-8")


@pytest.mark.parametrize("status", [Status.FAIL, Status.INCONCLUSIVE])
@pytest.mark.parametrize("requirement", ["S-2.8", "S-3.1"])
@pytest.mark.parametrize("judged", [7, 205])
def test_windows_that_were_not_judged_may_be_faulty_where_the_continued_run_is(status, requirement, judged):
    one = verdict(
        "window-replay", status, requirement=requirement, place=Place(0, 1, 3, run="s=8/continued"),
        coverage=Coverage("window", judged, 205, 0, 0),
    )  # fmt: skip
    named = "of the plain run that were not judged" in one.reason
    assert named == (status is Status.FAIL and requirement == "S-2.8" and judged < 205)


@pytest.mark.parametrize("seed", range(8))
def test_the_first_window_beyond_its_bound_is_named_where_the_worst_is_a_later_one(seed):
    drawn = random.Random(seed)
    windows = [
        {"begin": 8 * number, "end": 8 * number + 8, "status": drawn.choice([FAIL, PASS]).value}
        for number in drawn.sample(range(20), 6)
    ]
    over = sorted((one["begin"], one["end"]) for one in windows if one["status"] == FAIL.value)
    for begin, end in over:
        for run in ("", "s=8/continued"):
            one = verdict(
                "window-replay", FAIL, place=Place(begin, end, 3, run=run), evidence={"windows": windows}
            )
            (named,) = re.findall(r"exceeds its bound is of iterations (\d+)\.\.(\d+)\.", one.reason) or [
                None
            ]
            later = not run and begin > over[0][0]
            assert named == ((str(over[0][0] + 1), str(over[0][1])) if later else None)
        passed = verdict("window-replay", PASS, place=Place(begin, end, 3), evidence={"windows": windows})
        assert "exceeds its bound" not in passed.reason


def test_a_vector_of_too_few_digits_is_asked_to_have_more_and_no_run_is_named():
    said = {name: one.reason for name, one in KINDS.items() if one.evidence.get(ALONE)}
    assert [name for name, reason in said.items() if words.DIGITS in reason] == ["vector, too few digits"]
    assert [name for name, reason in said.items() if "--tolerance" in reason] == [
        "vector, a wide tolerance"
    ]
    assert len(set(said.values())) == len(said) > 5
    assert not [name for name, reason in said.items() if re.search(r"\brun\b", reason)]


def test_runs_that_ended_in_an_error_are_counted_in_what_was_covered():
    """Nothing of them was compared but that, and no comparison of a quantity was decided."""
    ended = KINDS["contract, all runs ended"]
    (line,) = (one for one in words.lines_of(ended) if one.startswith("Coverage"))
    assert f"{len(ended.raised)} runs" in line
    term = {"planned": 9, "decided": 0, "seen": 0, "why": Why.NONE_DECIDED, "largest": 0.0}
    assert words.TERM_WHY[Why.NONE_DECIDED] not in words.term_in_counts(term)
    seen = {"planned": 9, "decided": 8, "seen": 1}
    numbers = [int(one) for one in re.findall(r"\d+", words.term_in_counts(seen))]
    assert numbers == [1, 9, 8]
    assert "comparison," in words.term_in_counts({"planned": 1, "decided": 1, "seen": 0})
    one = {"check": "window-replay", "planned": 1, "executed": 1}
    assert "window was" in words.compared_in_words(one)
    assert "windows were" in words.compared_in_words(one | {"planned": 9, "executed": 2})


def test_a_limit_in_a_reason_is_rounded_to_its_own_side():
    """The nearest three digits of an upper end may be below it."""
    at = Place(0, 6, 3)
    upper = verdict("trajectory", PASS, 1.0001, 2.0, place=at)
    assert "is off by at most 1.01, allowed 2" in upper.reason
    lower = verdict("optimum", FAIL, 3.9399, 1.0, place=Place(0, 0, item="gap"))
    assert "is at least 3.93, allowed 1" in lower.reason
    over = verdict("optimum", PASS, place=at, notes=(Note(NoteKind.RELATIVE, (3.9365e-06, 1e-08)),))
    assert "it is at most 4e-06" in over.reason


def test_the_way_out_of_a_vector_outside_its_box_names_what_the_box_allows():
    """A larger tolerance is no way out by itself where the vector is far outside."""
    relative, moved = Note(NoteKind.RELATIVE, (5.7e-4, 1e-08)), Note(NoteKind.MOVED)
    far = Note(NoteKind.RELATIVE, (0.5, 1e-08))
    said = [
        verdict("optimum", FAIL, notes=notes).reason
        for notes in ((relative,), (relative, moved), (far, moved))
    ]
    assert ["--tolerance 0.001" in one for one in said] == [True, True, False]
    assert ["times C" in one for one in said] == [False, True, False]


@pytest.mark.parametrize("seed", range(6))
def test_as_many_defects_are_named_or_counted_as_the_reason_says(seed):
    generator = random.Random(seed)
    names = generator.sample(sorted(MEANINGS), 2 + seed)
    said = words.cause(tuple(Defect((name,), None, ("S-3.1",)) for name in names), in_part=seed % 2 == 0)
    listed = [name for name in names if f"({name})" in said]
    more = re.search(r"; and (\d+) more\.", said)
    assert listed == names[:3]
    assert len(listed) + (int(more[1]) if more else 0) == int(said.split()[0]) == len(names)


@pytest.mark.parametrize(("count", "verb"), [(1, "is"), (2, "are")])
def test_the_verb_of_entries_that_a_log_lacks_has_their_number(count, verb):
    said = words.HINTS[HintKind.LOG_NOT_WRITTEN](count, 95, 7)
    assert f"{count} of 95 entries of the log {verb} NaN" in said


@pytest.mark.parametrize("name", KINDS)
def test_a_verdict_that_was_stored_has_the_same_words(name):
    stored = {
        part: tuple(
            replace(one, detail=tuple(map(_stored, one.detail))) for one in getattr(KINDS[name], part)
        )
        for part in ("notes", "hints")
    }
    assert replace(KINDS[name], **stored).reason == KINDS[name].reason


def _stored(value: str | float) -> str | float:
    """A detail as it is read from a report, where every number is a float."""
    return value if isinstance(value, str) else float(value)


def test_every_check_and_every_status_has_its_words():
    assert {one.check for one in KINDS.values()} == set(CHECKS)
    assert {one.status for one in KINDS.values()} == set(Status)
    assert set(words.WHY) == set(Why)
    assert set(words.COMPARED) == set(CHECKS)
    assert set(words.ITEMS) == set(CONTRACT_ITEMS)


@pytest.mark.parametrize("name", KINDS)
def test_no_sentence_is_longer_than_thirty_words(name):
    own = [line for line in KINDS[name].reason.splitlines() if not line.startswith("Run s=")]
    for line in own:
        shown = line.partition("Violates ")[0]  # The requirement is quoted from the specification.
        for sentence in re.split(r"(?<=[.;:])\s", shown):
            assert len(sentence.split()) <= 30, sentence


if __name__ == "__main__":
    GOLDEN.write_text(text(), "utf-8")


def test_an_s_makes_a_plural_of_every_unit_that_is_counted():
    """Such as `counted` needs it, of the units of a coverage in the source of the checks."""
    found = [
        node.args[0].value
        for path in Path(checks.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Coverage" and node.args
    ]
    assert len(found) > 5
    assert not [unit for unit in found if re.search("(?:[^aeiou]y|s|x|ch)$", unit)]

"""A summary: the table of phases over ranks, and what it states of the result."""

from __future__ import annotations

import contextlib
import math
from types import SimpleNamespace

import numpy as np
import pytest
from plant import edited_module

from sstep_verify.adapters.written import require_seconds
from sstep_verify.errors import ConductError
from sstep_verify.solver.clock import PHASES
from sstep_verify.solver.communicator import SelfCommunicator
from sstep_verify.solver.training import pipeline
from sstep_verify.solver.training.enclosure import Stated
from sstep_verify.solver.training.pipeline import (
    at_most,
    certified_or_not,
    limit_in_words,
    stated_values,
    summary_lines,
)
from sstep_verify.trajectory import BELOW_FLOAT64

STATED = Stated((1e-6, 1.23401e-5), (2.0, 3.0), (math.nan, math.nan), (0.5e-7, 1.00001e-7))


def summary(timers, stopped="tolerance", stated=STATED, lines=summary_lines):
    counted = {"panel columns": 9, "collectives": 2, "words": 81}
    training = SimpleNamespace(
        problem=SimpleNamespace(label="p", samples=9, is_svm=True), schedule=None, counters={},
        settings=SimpleNamespace(
            keep_gram=False, cache=0, exchange="gram", interval=16, exchange_reason="asked for",
            tolerance=1e-8, s=16, s_reason="asked for", lengthening=False,
        ),
        monitor=SimpleNamespace(counters=counted), enclosing=SimpleNamespace(counters=counted, looks=2),
        stated=lambda: stated, stopped=stopped, iteration=64,
    )  # fmt: skip
    partition = SimpleNamespace(imbalance=1.5, work_imbalance=2.5)
    return lines(training, SimpleNamespace(features=4, partition=partition, notes=()), timers, "")


@pytest.mark.parametrize("seed", range(4))
def test_each_phase_has_its_largest_mean_and_least_seconds(seed):
    drawn = np.random.Generator(np.random.PCG64(seed))
    timers = [dict(zip(PHASES, drawn.uniform(0.1, 90.0, len(PHASES)), strict=True)) for _ in range(3)]
    lines = list(summary(timers))
    (head,) = (k for k, line in enumerate(lines) if line.startswith("seconds"))
    assert lines[head].split()[1:4] == ["max", "mean", "min"]
    for phase, line in zip(PHASES, lines[head + 1 :], strict=False):
        seconds = [one[phase] for one in timers]
        assert line.startswith(phase)
        found = [float(word) for word in line.removeprefix(phase).split()]
        assert found == pytest.approx([max(seconds), sum(seconds) / 3, min(seconds)], abs=5e-5)


FIGURES = "(max(seconds), sum(seconds) / len(seconds), min(seconds))"
SECONDS = {
    "nothing": ("", ""),
    "least for largest": (FIGURES, "(min(seconds), sum(seconds) / len(seconds), min(seconds))"),
    "sum for mean": ("sum(seconds) / len(seconds), min", "sum(seconds), min"),
    "rank 0 for all": (FIGURES, "(seconds[0], sum(seconds) / len(seconds), seconds[0])"),
    "largest and least changed": (FIGURES, "(min(seconds), sum(seconds) / len(seconds), max(seconds))"),
    "least over mean": ("max(spent) / mean", "min(spent) / mean"),
    "another phase's share": ("spent = [one[panel]", "spent = [one[PHASES[-1]]"),
}


@pytest.mark.parametrize("ranks", [2, 3, 5])
@pytest.mark.parametrize("name", SECONDS)
def test_printed_seconds_that_no_ranks_can_have_are_refused(name, ranks):
    """Of one rank all three are the same; the last decimals of three numbers tell no more."""
    edit = SECONDS[name]
    lines = edited_module(pipeline, [edit] if all(edit) else []).summary_lines
    drawn = np.random.Generator(np.random.PCG64(ranks))
    for _ in range(20):
        timers = [
            dict(zip(PHASES, drawn.uniform(0.1, 9.0, len(PHASES)), strict=True)) for _ in range(ranks)
        ]
        said, taken = "\n".join(summary(timers, lines=lines)), max(sum(one.values()) for one in timers)
        if all(edit):
            with pytest.raises(ConductError, match="printed"):
                require_seconds(said, ranks, taken)
            continue
        require_seconds(said, ranks, taken)
        with pytest.raises(ConductError, match="the command took"):
            require_seconds(said, ranks, taken / 3)


def test_what_is_stated_is_rounded_outward_and_the_same_in_line_and_file():
    timers = [dict.fromkeys(PHASES, 0.0)]
    *_, last = summary(timers)
    assert (
        last
        == "tolerance reached, relative gap at most 1.01e-07, gap at most 1.24e-05, after 64 iterations"
    )
    file = stated_values(STATED)
    assert (file["relative"], file["gap"], file["dual"]) == (1.00001e-7, 1.23401e-5, 2.0)
    assert (file["relative_at_least"], file["gap_at_least"]) == (0.5e-7, 1e-6)
    assert file["primal"] >= 3.0 + 1.23401e-5


@pytest.mark.parametrize(
    ("upper", "limits"),
    [
        (4.8e-7, "relative gap at most 4.8e-07, gap at most 1.24e-05"),
        (
            math.inf,
            "relative gap unknown (the dual value is not shown to be above 0), gap at most 1.24e-05",
        ),
    ],
)
@pytest.mark.parametrize("stopped", BELOW_FLOAT64)
@pytest.mark.parametrize("lower", [0.0, 0.5e-8, 1e-8, 2e-8])
def test_a_tolerance_that_float64_cannot_show_is_reported_with_the_way_out(stopped, lower, upper, limits):
    """The only numbers are those of the enclosure: an estimate next to them may be above its own limit.

    After `precision` the tolerance was measured as reached, and may be, unless the lower limit is above it.
    """
    *_, last = summary([dict.fromkeys(PHASES, 0.0)], stopped, STATED._replace(relative=(lower, upper)))
    may_be = stopped == "precision" and lower <= 1e-8
    told = "may be reached, but float64 cannot prove it" if may_be else "is below what float64 can show"
    assert last == (
        f"tolerance 1e-08 {told} here: {limits}, after 64 iterations; scale the data, or ask for a larger one"
    )


@pytest.mark.parametrize("seed", range(3))
def test_a_printed_number_is_never_below_its_value(seed):
    drawn = np.random.Generator(np.random.PCG64(seed))
    for value in (10.0 ** drawn.uniform(-320, 300, 300)).tolist():
        assert float(at_most(value)) >= value
    assert (at_most(0.0), at_most(1.001)) == ("0", "1.01")
    assert (limit_in_words(1.001), limit_in_words(math.inf)) == ("at most 1.01", "unknown")


def test_what_is_measured_on_the_way_is_said_to_be_an_estimate():
    """A measurement is rounded, and may be above the limit that is proved in the end."""
    said: list[str] = []
    listener = SimpleNamespace(
        intervals=lambda first, last: contextlib.nullcontext(),
        measured=lambda iteration, line: said.append(line),
        kept=lambda iteration: None,
    )

    class Measured(SimpleNamespace):
        def __iter__(self):
            yield True

    training = Measured(
        problem=SimpleNamespace(is_svm=True), values=SimpleNamespace(relative=1.2498e-14), iteration=16,
        reached=16, place=None, settings=SimpleNamespace(iterations=16, is_end=lambda iteration: True),
    )  # fmt: skip
    keeper = SimpleNamespace(keep=lambda place: None, finish=lambda: None)
    pipeline._train(training, keeper, SelfCommunicator(), listener)
    assert said == ["relative gap about 1.2e-14"]


@pytest.mark.parametrize(
    ("svm", "largest", "beyond"),
    [(False, 256, True), (False, 11, True), (False, 10, False), (True, 256, False)],
)
def test_an_s_beyond_those_that_were_certified_is_named(svm, largest, beyond):
    problem = SimpleNamespace(is_svm=svm, samples=200)
    line = certified_or_not(problem, 4, largest)
    assert (f"s = {largest} is beyond m / (5 b) = 10" in line) == beyond
    assert "`sstep-verify safe-s`" in line

"""Lines of a training that say what it was given and which windows it made have one right form."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from plant import edited_module

from sstep_verify.adapters import written
from sstep_verify.adapters.printed import features_read, require_printed, require_printed_windows
from sstep_verify.adapters.written import ALL_ROWS
from sstep_verify.costs.tuning import Tuner
from sstep_verify.errors import TOO_SMALL_TOLERANCE, ConductError
from sstep_verify.problems import Hinge, LinearKernel, Problem, Ridge
from sstep_verify.solver.clock import PHASES
from sstep_verify.solver.settings import Settings
from sstep_verify.solver.training import pipeline, schedule
from sstep_verify.solver.training.schedule import Segment
from sstep_verify.trajectory import BELOW_FLOAT64


def summary(lines, loss, cache, ranks=2, samples=12) -> tuple:
    """Lines of a training that was not made, and the arguments of `require_printed` that belong to them."""
    targets = np.where(np.arange(samples) % 2, 1.0, -1.0)
    problem = Problem("drawn", np.eye(samples, 5), targets, LinearKernel(), loss)
    kept, block = cache == ALL_ROWS, 1 if problem.is_svm else 3
    settings = Settings(
        loss=loss,
        exchange="allreduce",
        keep_gram=kept,
        cache=0 if kept else cache,
        block=block,
        interval=48,
    )
    made = SimpleNamespace(counters={"panel columns": 9, "collectives": 2, "words": 81}, looks=2)
    stated = SimpleNamespace(relative=(0.0, 1.0), gap=(0.0, 1.0), residual=(0.0, 1.0))
    training = SimpleNamespace(
        problem=problem, settings=settings, schedule=None, counters={}, monitor=made, enclosing=made,
        stated=lambda: stated, stopped="iterations", iteration=64,
    )  # fmt: skip
    partition = SimpleNamespace(imbalance=1.5, work_imbalance=2.5)
    local = SimpleNamespace(features=5, partition=partition, notes=())
    said = "\n".join(lines(training, local, [dict.fromkeys(PHASES, 1.0)] * ranks, ""))
    options = {"cache": cache, "exchange": "allreduce or gram", "ranks": ranks, "block": block}
    return problem, 5, options, said


@pytest.mark.parametrize("least", [1.0, np.inf])
@pytest.mark.parametrize("loss", [Hinge(1.0), Ridge(1.0)])
def test_the_ending_holds_the_limits_of_the_result_be_they_known_or_not(loss, least):
    problem, _, _, said = summary(pipeline.summary_lines, loss, 0)
    result = {"stopped": "iterations", "iterations": 64, "relative": least, "gap": 1.0, "residual": 1.0}
    if least == 1.0:
        written._require_ending(problem, result, said, 0)
        result["relative"] = 2.0
    with pytest.raises(ConductError, match="relative"):
        written._require_ending(problem, result, said, 0)
    unknown = said.replace(" at most 1,", " unknown (for a reason),", 1)
    written._require_ending(problem, result | {"relative": np.inf}, unknown, 0)


@pytest.mark.parametrize("stopped", BELOW_FLOAT64)
@pytest.mark.parametrize("lower", [0.0, 0.5e-8, 1e-8, 2e-8])
def test_a_tolerance_is_said_to_be_reached_perhaps_only_where_the_proof_fails(stopped, lower):
    """The words of the other case are rejected, whichever it is."""
    problem = Problem("drawn", np.eye(4), np.array([1.0, -1.0, 1.0, -1.0]), LinearKernel(), Hinge(1.0))
    stated = SimpleNamespace(relative=(lower, 4e-8), gap=(0.0, 1.0), residual=(np.nan, np.nan))
    training = SimpleNamespace(
        settings=Settings(loss=Hinge(1.0), tolerance=1e-8), stopped=stopped, iteration=64,
        stated=lambda: stated,
    )  # fmt: skip
    said = pipeline._ending(problem, training)
    result = {
        "stopped": stopped,
        "iterations": 64,
        "relative": 4e-8,
        "relative_at_least": lower,
        "gap": 1.0,
    }
    written._require_ending(problem, result, said, TOO_SMALL_TOLERANCE)
    words = "may be reached, but float64 cannot prove it here", "is below what float64 can show here"
    known, other = words if words[0] in said else reversed(words)
    with pytest.raises(ConductError, match="printed is"):
        written._require_ending(problem, result, said.replace(known, other), TOO_SMALL_TOLERANCE)
    with pytest.raises(ConductError, match="printed is"):
        written._require_ending(problem, result, said, 0)


CASES = [(loss, cache) for loss in (Hinge(1.0), Ridge(1.0)) for cache in (0, ALL_ROWS, 60, 10**4)]
EDITS = {
    "nothing": (),
    "features of a rank": ("{counted(local.features,", "{counted(local.features // 2,"),
    "features for samples": ("{counted(problem.samples, 'sample')}", "{counted(local.features, 'sample')}"),
    "one rank": ("{counted(len(timers), 'rank')}", "{counted(1, 'rank')}"),
    "kept rows in words": ("counted(settings.cached_rows(problem.samples)", "counted(settings.cache"),
    "kept rows not told": ('"; all kernel rows kept" if settings.keep_gram', '"; all kernel rows kept" if False'),
    "another block": ("block {settings.block}: {settings", "block {settings.s}: {settings"),
}  # fmt: skip


@pytest.mark.parametrize("name", EDITS)
def test_sizes_block_and_kept_rows_are_printed_as_they_are(name):
    lines = edited_module(pipeline, [EDITS[name]] if EDITS[name] else []).summary_lines
    refused = 0
    for loss, cache in CASES:
        try:
            require_printed(*summary(lines, loss, cache))
        except ConductError:
            refused += 1
    assert bool(refused) is (name != "nothing")


SCHEDULES = {
    "nothing": (),
    "not subtracted": ("shares[segment.exchange, segment.s] += segment.end - begin", "shares[segment.exchange, segment.s] += segment.end"),
    "from the first on": ("            begin = segment.end\n", "            begin = 0\n"),
    "the least": ("shares.most_common(3)", "shares.most_common()[:-4:-1]"),
    "s for exchange": ("shares[segment.exchange, segment.s] +=", "shares[segment.exchange, 1] +="),
    "one segment more": ("in {len(self.made)} segments", "in {len(self.made) + 1} segments"),
}  # fmt: skip


@pytest.mark.parametrize("name", SCHEDULES)
def test_iterations_by_s_are_those_of_the_segments(name):
    edited = edited_module(schedule, [SCHEDULES[name]] if SCHEDULES[name] else [])
    made = [
        Segment(8, 4, "gram"), Segment(11, 1, "gram"), Segment(40, 4, "allreduce"), Segment(48, 4, "gram"),
        Segment(49, 2, "gram"),
    ]  # fmt: skip
    for count in range(1, len(made) + 1):
        told = edited.Schedule(Tuner(("gram", "allreduce"), 4, 4, 64), 1)
        told.made = made[:count]
        said = "\n".join(told.lines(("gram", "allreduce"), 4))
        if name == "nothing":
            require_printed_windows(made[:count], said)
    if name != "nothing":
        with pytest.raises(ConductError, match="the result has"):
            require_printed_windows(made, said)
    require_printed_windows([], "")


def test_features_of_a_file_end_with_the_last_value():
    data = np.zeros((3, 6))
    assert features_read(data) == 0
    data[1, 3] = -1.0
    assert features_read(data) == 4

"""Windows of a training whose s changes: those of its schedule pass, others and other draws are refused.

What is compared are reductions that a communicator of the test's side saw, and what the command printed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from plant import plant

from sstep_verify.adapters import command
from sstep_verify.adapters.command import CommandSolver
from sstep_verify.adapters.scheduled import due_windows
from sstep_verify.adapters.training import TrainingSolver, tuned_sequence
from sstep_verify.errors import ConductError
from sstep_verify.problems import Hinge, IndexStream, LinearKernel, Problem, RBFKernel, Ridge, streams
from sstep_verify.protocol import RunRequest
from sstep_verify.solver import settings
from sstep_verify.solver.training import intervals, schedule

KERNELS = {"linear": LinearKernel(), "rbf": RBFKernel(0.2)}
FORMS = [
    (kernel, exchange)
    for kernel in KERNELS
    for exchange in ("allreduce", "support", "reduce-scatter", "gram")
    if exchange != "gram" or kernel == "linear"
]
each_form = pytest.mark.parametrize(("kernel", "exchange"), FORMS)

MISTAKES = {
    "windows of the run's s": (intervals, "segment.end - origin, segment.s)", "segment.end - origin)"),
    "windows of the first s": (
        intervals,
        "segment.end - origin, segment.s)",
        "segment.end - origin, schedule.made[0].s if schedule.made else segment.s)",
    ),
    "every step by itself": (intervals, "segment.end - origin, segment.s)", "segment.end - origin, 1)"),
    "one segment an interval": (
        schedule,
        "return segment._replace(end=min(segment.end, end))",
        "return segment._replace(end=end)",
    ),
}


def asked(kernel="linear", kind="uniform", block=1, s=6, iterations=131) -> RunRequest:
    drawn = np.random.Generator(np.random.PCG64(block))
    data = drawn.standard_normal((14, 5))
    targets = drawn.standard_normal(14) if block > 1 else np.where(np.arange(14) % 3, 1.0, -1.0)
    problem = Problem("drawn", data, targets, KERNELS[kernel], Ridge(0.1) if block > 1 else Hinge(0.3))
    return RunRequest(problem, IndexStream(kind, 14, block, iterations, 3), s, iterations)


@each_form
@pytest.mark.parametrize("block", [1, 3])
def test_windows_of_the_schedule_pass(kernel, exchange, block):
    for kind in ("uniform", "epochs"):
        tested = TrainingSolver(interval=3, exchange=exchange, tuned=True)
        made = tested.run(asked(kernel, kind, block))
        assert made.length == 131
        late = replace(asked(kernel, kind, block), start=36, initial=made.final * 0.5, iterations=95)
        assert tested.run(late).length == 95


@each_form
@pytest.mark.parametrize("mistake", MISTAKES)
def test_other_windows_are_refused(kernel, exchange, mistake):
    module, before, after = MISTAKES[mistake]
    with plant(module, (before, after)), pytest.raises(ConductError, match=r"the windows of"):
        TrainingSolver(interval=3, exchange=exchange, tuned=True).run(asked(kernel))


def test_reductions_are_compared_where_counts_are_as_they_should_be(monkeypatch):
    """What training counts is its own word: here it counts right, and makes windows of the run's s."""
    monkeypatch.setattr("sstep_verify.adapters.training.require_counts", lambda *_: None)
    edit = MISTAKES["windows of the run's s"]
    for kernel, exchange in FORMS:
        with plant(edit[0], edit[1:]), pytest.raises(ConductError, match=r"reductions, and the windows of"):
            TrainingSolver(interval=3, exchange=exchange, tuned=True).run(asked(kernel))


def test_an_epoch_that_draws_a_coordinate_twice_is_no_epoch():
    edit = (
        "drawn = _epoch_chunk(samples, block, seed, chunk, count)",
        ("drawn = generator.integers(samples, size=(count, 1), dtype=np.int64)"),
    )
    streams._chunk.cache_clear()
    with plant(streams, edit) as planted:
        request = asked(kind="epochs")
        request = replace(request, stream=planted.IndexStream("epochs", 14, 1, 131, 3))
        with pytest.raises(ConductError, match="lie in one epoch and draw"):
            TrainingSolver(interval=3, tuned=True).run(request)
    streams._chunk.cache_clear()


def test_due_windows_are_what_the_definition_says():
    request = asked(kind="epochs", s=4, iterations=40)
    tuned = TrainingSolver(interval=2, exchange="gram", tuned=True).settings(request)
    sequence = tuned_sequence(tuned)
    windows = due_windows(sequence, request, tuned, 1, 40)
    assert [window.begin for window in windows[1:]] == [window.end for window in windows[:-1]]
    for window in windows:
        drawn = {int(one) for one in request.stream.blocks(window.begin, window.end).ravel()}
        assert window.distinct == len(drawn)
        ((name, words, multiple),) = window.messages
        assert (name, words, multiple) == ("allreduce", len(drawn) ** 2 + len(drawn) + 2, False)
    assert (
        due_windows(sequence, request, tuned, 2, 40)[0].messages[0].words
        == windows[0].messages[0].words + 1
    )
    assert len(due_windows(sequence, request, tuned, 1, 8)) < len(windows)


@pytest.fixture
def here(monkeypatch):
    """The command in this process, where an edit can be planted."""
    import contextlib
    import io
    import sys

    from sstep_verify.cli.main import main

    def call(self, words):
        out = io.StringIO()
        monkeypatch.setattr(sys, "argv", ["sstep-verify", *words[3:]])
        code = 0
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            try:
                main()
            except SystemExit as ended:
                code = int(ended.code or 0)
        if code not in command.ENDED:
            raise ConductError(out.getvalue())
        return code, out.getvalue()

    monkeypatch.setattr(CommandSolver, "_call", call)


OTHER_STREAM = (settings, "IndexStream(self.stream, samples", 'IndexStream("uniform", samples')


@pytest.mark.parametrize("rows", [0, 14 * 14])
def test_a_command_that_tunes_itself_is_held_to_its_sequence_and_its_stream(here, monkeypatch, rows):
    own = CommandSolver._words

    def words(self, request, room):
        """As with `auto`, on a set that has no name, with or without kept rows."""
        found = own(self, request, room)
        found[found.index(request.problem.name)] = str(room / "samples")
        return [*found, "--exchange", "gram" if not rows else "allreduce", "--cache", str(rows)]

    monkeypatch.setattr(CommandSolver, "_words", words)
    chosen = {"keep_gram": True} if rows else {"exchange": "gram"}
    tested = CommandSolver(interval=11, auto=True, tuned=True, tolerance=1e-9, **chosen)
    request = asked(kind="epochs", block=3, s=9, iterations=400)
    request = replace(request, problem=replace(request.problem, name="samples"))  # As the file.
    assert tested.run(request).length > 100
    other = CommandSolver(interval=11, auto=True, tuned=True, tolerance=1e-9, exchange="reduce-scatter")
    with pytest.raises(ConductError, match=r"the result has the option (exchange|cache) = "):
        other.run(request)
    # Where rows are kept nothing is sent in windows; their number shows, and the last vector.
    draws = "draws the stream epochs" if rows else "counted are .* panel columns"
    for (module, before, after), told in (
        (MISTAKES["windows of the run's s"], "counted are .* windows"),
        (OTHER_STREAM, draws),
    ):
        fresh = CommandSolver(interval=11, auto=True, tuned=True, tolerance=1e-9, **chosen)
        with plant(module, (before, after)), pytest.raises(ConductError, match=told):
            fresh.run(request)

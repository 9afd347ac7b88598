"""Defects planted in what runs inside the ranks: each ends in the right error or turns its check red."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import planted_ranks as ranks_do
import pytest
from judged import judged
from planted_ranks import PlantedSolver

from sstep_verify.adapters import ours
from sstep_verify.checks import window_replay
from sstep_verify.checks.recorded import message_count, residual_gap
from sstep_verify.checks.shared.case import Case
from sstep_verify.problems import (
    IndexStream,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    SquaredHinge,
)
from sstep_verify.protocol import RunRequest
from sstep_verify.ranks import RankError, run
from sstep_verify.solver.settings import Options
from sstep_verify.trajectory import TRAFFIC
from sstep_verify.verdict import NoteKind, Status

pytest.importorskip("mpi4py", reason="mpi4py is absent: install the extra [mpi]")

SAMPLES, FEATURES, ITERATIONS, S = 9, 4, 38, 5
PRODUCTION = "sstep_verify.solver"
EXCHANGES = f"{PRODUCTION}.exchanges"
ALLREDUCE = SCATTER = f"{EXCHANGES}.exchange"
PACKET, WINDOWS, GRAM = f"{PRODUCTION}.packet", f"{PRODUCTION}.windows", f"{EXCHANGES}.gram"
SUPPORT = f"{EXCHANGES}.support"
UPDATED = "        exchange.moved(columns, change, recurrence.vector)\n"
"""Where the updates of a window have been made."""

EXCHANGES = {
    "allreduce": {}, "support": {"exchange": "support"}, "reduce-scatter": {"exchange": "reduce-scatter"}, "gram": {"exchange": "gram"},
    "cache": {"cache": S * SAMPLES},
}  # fmt: skip


def request_of(s: int = S, kernel=None, loss=None) -> RunRequest:
    generator = np.random.default_rng(11)
    data = generator.standard_normal((SAMPLES, FEATURES)) + 0.5
    targets = np.resize([1.0, -1.0, 1.0], SAMPLES)
    problem = Problem("planted", data, targets, kernel or LinearKernel(), loss or SquaredHinge(2.0))
    stream = IndexStream("uniform", SAMPLES, 1, ITERATIONS, seed=3)
    return RunRequest(problem, stream, s, ITERATIONS)


def case_of(request: RunRequest, solver: PlantedSolver) -> Case:
    ends = (*range(S, ITERATIONS, S), ITERATIONS)
    return Case(
        "planted", request.problem, request.stream, (S,), ITERATIONS, solver.declaration,
        points={S: ends}, windows=len(ends), replay_command="again", diagnose=False,
    )  # fmt: skip


def status(check, request: RunRequest, ranks: int, edits, own=None, guilty: int = -1, **options) -> Status:
    solver = PlantedSolver(ranks, edits, own, guilty, **options)
    return judged(check, case_of(request, solver), solver)[S].status


def in_turn(ranks: list[tuple[int, ...]], names) -> list:
    """Every name with every number of ranks, of which each name has but one by day: mostly the first, for which
    there are processors.
    """
    return [
        pytest.param(*own, name, marks=[pytest.mark.nightly] * (row != (place % 4 == 3)))
        for row, own in enumerate(ranks)
        for place, name in enumerate(names)
    ]


def window_of(error: RankError) -> int:
    """The window that all ranks name."""
    texts = [said for _, said, _ in error.failures.values()]
    windows = {int(found) for text in texts for found in re.findall(r"^(?:after )?window (\d+)", text)}
    assert len(windows) == 1, texts
    return windows.pop()


@pytest.mark.parametrize(
    ("ranks", "guilty", "exchange"),
    [
        pytest.param(*pair, exchange, marks=[pytest.mark.nightly] * ((row + column) % 3 != 0))
        for row, pair in enumerate([(2, 1), (3, 0), (4, 2)])
        for column, exchange in enumerate(["allreduce", "support", "reduce-scatter", "gram"])
    ],
)
def test_a_rank_that_draws_another_stream_is_named_with_the_window(ranks, guilty, exchange):
    request, options = request_of(s=1), Options(**EXCHANGES[exchange])
    assert len(run(ranks, ranks_do.run_with_other_stream, request, options, -1)) == ranks
    with pytest.raises(RankError) as caught:
        run(ranks, ranks_do.run_with_other_stream, request, options, guilty)
    assert caught.value.kind == "IncoherenceError"
    assert caught.value.ranks == tuple(range(ranks)), "all ranks raise together"
    own = request.stream.blocks(0, ITERATIONS).ravel()
    other = IndexStream("uniform", SAMPLES, 1, ITERATIONS, seed=4).blocks(0, ITERATIONS).ravel()
    first = int(np.argmax(own != other))
    if exchange == "allreduce":
        assert window_of(caught.value) == first
    else:
        # Two coordinates that start from zero may get the same new value: only the next ones tell.
        assert first <= window_of(caught.value) < ITERATIONS
    if ranks > 2:
        assert f"rank {guilty}: " in caught.value.failures[0][1]


FAILING = {
    "panel": ({ALLREDUCE: [("self._guarded(PANEL, self._panel.partial,",
                            "self._guarded(PANEL, lambda *given: (self._panel.partial(*given), 0 / (self.packet.window != 2)),")]},
              {}, 2),
    "panel, scattered": ({SCATTER: [("self._guarded(PANEL, self._pack,",
                                     "self._guarded(PANEL, lambda *given: 0 / (self.packet.window != 2),")]},
                         EXCHANGES["reduce-scatter"], 2),
    "kernel function": ({ALLREDUCE: [("        self._panel.finish(rows, columns)\n",
                                      "        0 / (self.packet.window != 2)\n")]}, {}, 3),
    "kernel function, scattered": ({SCATTER: [("        self._guarded(FUNCTION, self._panel.finish, block, columns, self._first)\n",
                                               "        self._guarded(FUNCTION, lambda: 0 / (self.packet.window != 2))\n")]},
                                   EXCHANGES["reduce-scatter"], 2),
    "kernel function, support": ({SUPPORT: [("            self._panel.finish(rows, columns, support)\n",
                                                  "            0 / (self.packet.window != 2)\n")]},
                                 EXCHANGES["support"], 3),
    "recurrence, support": ({SUPPORT: [
        ("    def restart(", "    def moved(self, *given):\n"
         "        0 / (self.packet.window != 2)\n\n    def restart(")]}, EXCHANGES["support"], 3),
    "recurrence": ({WINDOWS: [(UPDATED, UPDATED + "        0 / (self.made != 2)\n")]}, {}, 3),
    "last window": ({WINDOWS: [(UPDATED, UPDATED + "        0 / (self.made != 7)\n")]}, {}, 7),
    "local product": ({GRAM: [
        ("self._guarded(PANEL, self._local.among,",
         "self._guarded(PANEL, lambda *given: 0 / (self.packet.window != 2),")]}, EXCHANGES["gram"], 2),
    "weights": ({GRAM: [("        self._local.move(columns, change, self.weights)\n",
                         "        self._local.move(columns, change, self.weights)\n"
                         "        0 / (self.packet.window != 2)\n")]}, EXCHANGES["gram"], 3),
    "cached row": ({WINDOWS: [("                    cache.rows[slots] = self._rows_of.rows(missing)\n",
                               "                    self._rows_of.rows(missing)\n"
                               "                    0 / (self.made != 0)\n")]}, EXCHANGES["cache"], 1),
}  # fmt: skip


@pytest.mark.parametrize(("ranks", "guilty", "place"), in_turn([(2, 0), (3, 2)], FAILING))
def test_an_error_of_one_rank_is_raised_on_all_in_the_same_window(ranks, guilty, place):
    edits, options, window = FAILING[place]
    with pytest.raises(RankError) as caught:
        PlantedSolver(ranks, {}, edits, guilty, **options).run(request_of())
    assert caught.value.kind == "WindowError"
    assert caught.value.ranks == tuple(range(ranks)), "all ranks raise together"
    assert window_of(caught.value) == window
    for _, said, _ in caught.value.failures.values():
        assert f"rank {guilty}: ZeroDivisionError" in said


def test_a_status_word_that_is_ignored_lets_all_ranks_go_on():
    edits = FAILING["panel"][0] | {PACKET: [("if self._flat[words] != 0.0:", "if False:")]}
    with pytest.raises(RankError) as caught:
        PlantedSolver(2, edits).run(request_of())
    # Not until the record at the end do they speak of window 2.
    assert window_of(caught.value) == -(-ITERATIONS // S) - 1


CUBIC = PolynomialKernel(3, 1.0)
DEAF = {PACKET: [("if self._flat[words + 1] != size * own:", "if False:")]}
UNREDUCED = {f"{PRODUCTION}.panels.panel": [("        packet.reduce(samples)\n", "")]}
WRONG = {
    "kernel function before the reduction": (
        {ALLREDUCE: [("        self._guarded(PANEL, self._panel.partial, rows, columns)\n",
                      "        self._guarded(PANEL, self._panel.partial, rows, columns)\n"
                      "        self._panel.finish(rows, columns)\n"),
                     ("        self._panel.finish(rows, columns)\n        self._clock", "        self._clock")]},
        window_replay, CUBIC, {}),
    "a column lost between two ranks": (
        {f"{PRODUCTION}.data.partition": [("int(self.starts[rank + 1]))", "int(self.starts[rank + 1]) - (rank == 0))")]},
        window_replay, LinearKernel(), {}),
    "a column held twice": (
        {f"{PRODUCTION}.data.partition": [("slice(int(self.starts[rank]),", "slice(max(int(self.starts[rank]) - 1, 0),")]},
        window_replay, LinearKernel(), {}),
    "an error swallowed with the status word": (
        {ALLREDUCE: [("self._guarded(PANEL, self._panel.partial,",
                      "self._guarded(PANEL, lambda *given: rows.fill(0.0) if self.packet.window == 2 else self._panel.partial(*given),")]},
        window_replay, LinearKernel(), {}),
    "a cached row that belongs to another": (
        {f"{PRODUCTION}.windows": [("                slot_of[owner[place]] = -1\n", "                pass\n")]},
        window_replay, LinearKernel(), EXCHANGES["cache"]),
    "a scattered panel in another order": (
        {SCATTER: [("= partial[:, begin:end]", "= partial[:, begin:end][:, ::-1]")]},
        window_replay, LinearKernel(), EXCHANGES["reduce-scatter"]),
    "a rank that takes its peer's samples for its own": (
        {SCATTER: [("np.dot(block, vector[self._first : self._last], out=stale)",
                    "np.dot(block, np.roll(vector, 1)[self._first : self._last], out=stale)")]},
        window_replay, LinearKernel(), EXCHANGES["reduce-scatter"]),
    "rows of other samples": (
        {SUPPORT: [("rows[place] = data[order[place]]", "rows[place] = data[place]")]},
        window_replay, CUBIC, EXCHANGES["support"]),
    "what the window before drew is forgotten": (
        {SUPPORT: [("        self._held = settle(self._before, vector,", "        self._held = settle(self._before[:1], vector,")]},
        window_replay, LinearKernel(), EXCHANGES["support"]),
    "norms of other samples": (
        {SUPPORT: [("np.take(norms, support.order[:count], ", "np.take(norms, np.arange(count), ")]},
        window_replay, RBFKernel(0.1), EXCHANGES["support"]),
    "a panel over all samples": (
        {SUPPORT: [("        return bring_in(self._before, columns,", "        return bring_in(np.arange(self.order.size), columns,")]},
        message_count, LinearKernel(), EXCHANGES["support"]),
    "weights not moved by a repeated column": (
        {WINDOWS: [("exchange.moved(columns, change,",
                    "exchange.moved(columns, change[: columns.size] * (np.bincount(positions) == 1),")]},
        residual_gap, LinearKernel(), EXCHANGES["gram"]),
    "norms not reduced": (UNREDUCED | DEAF, window_replay, RBFKernel(0.1), {}),
    "norms not reduced, counted": (UNREDUCED | DEAF, message_count, RBFKernel(0.1), {}),
    "a message beside the declared ones": (
        {ALLREDUCE: [("        self.packet.reduce(rows.size)\n",
                      "        self.packet.reduce(rows.size)\n        self._communicator.barrier()\n"
                      "        self.packet.communicator.allreduce(np.zeros(1))\n")]},
        message_count, LinearKernel(), {}),
    "a message that it does not count": (
        {ALLREDUCE: [("        self.packet.reduce(rows.size)\n",
                      "        self.packet.reduce(rows.size)\n"
                      "        self.packet.communicator._inner.allreduce(np.zeros(1))\n")]},
        message_count, LinearKernel(), {}),
    "a column sent as often as it is drawn": (
        {WINDOWS: [("            own = own[:count]\n",
                "            own, places = drawn, np.arange(draws.shape[1])\n")]},
        message_count, LinearKernel(), {}),
}  # fmt: skip


@pytest.mark.parametrize(("ranks", "name"), in_turn([(2,), (3,)], WRONG))
def test_a_defect_on_all_ranks_is_red_where_the_unplanted_solver_is_green(ranks, name):
    edits, check, kernel, options = WRONG[name]
    request = request_of(kernel=kernel)
    assert status(check, request, ranks, {}, **options) is Status.PASS
    assert status(check, request, ranks, edits, **options) is Status.FAIL


INNER = "self.packet.communicator._inner"
OTHERS = {
    "barrier": ("self._communicator.barrier()", f"barriers{message_count.BY_WITNESS}"),
    "gather": ("self._communicator.allgather(0)", "reductions after another collective"),
    "broadcast": (
        f"{INNER}.broadcast(np.zeros(1))",
        f"broadcasts{message_count.BY_WITNESS}{message_count.ALIKE}",
    ),
    "counted broadcast": (
        "self.packet.communicator.broadcast(np.zeros(1))",
        f"broadcasts{message_count.ALIKE}",
    ),
    "ring": (
        f"{INNER}._comm.Sendrecv(np.zeros(3), ({INNER}.rank + 1) % {INNER}.size, 0, np.zeros(3))",
        f"messages from rank to rank{message_count.BY_WITNESS}",
    ),
}


@pytest.mark.parametrize(("ranks", "name"), in_turn([(2,), (3,)], OTHERS))
def test_a_collective_in_every_window_that_is_no_reduction_is_seen_and_none_of_setting_up_is(ranks, name):
    edits = {
        ALLREDUCE: [
            (
                "        self.packet.reduce(rows.size)\n",
                f"        self.packet.reduce(rows.size)\n        {OTHERS[name][0]}\n",
            )
        ]
    }
    request = request_of()
    for planted, points, wanted in (
        ({}, (ITERATIONS,), Status.PASS),
        ({}, (15, 20, ITERATIONS), Status.PASS),
        (edits, (ITERATIONS,), Status.FAIL),
        (edits, (15, 20, ITERATIONS), Status.FAIL),
    ):
        solver = PlantedSolver(ranks, planted)
        case = replace(case_of(request, solver), points={S: points})
        verdict = judged(message_count, case, solver)[S]
        assert verdict.status is wanted, verdict.reason
        assert (verdict.place.item == OTHERS[name][1]) == bool(planted)
        assert NoteKind.OWN_WORD not in [note.kind for note in verdict.notes]
        assert set(verdict.evidence["seen"]) == set(TRAFFIC)


def test_counts_that_nobody_else_made_are_said_to_be_the_solver_s_own_word(monkeypatch):
    monkeypatch.setattr(ours, "_witness", lambda: {})
    request = request_of()
    solver = PlantedSolver(2, {})
    verdict = judged(message_count, case_of(request, solver), solver)[S]
    assert verdict.status is Status.PASS
    assert NoteKind.OWN_WORD in [note.kind for note in verdict.notes]

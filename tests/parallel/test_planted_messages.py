"""Mistakes in what the ranks send each other: kinds of operations, runs that nobody records, excuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from checked_runs import FORMS, KERNELS, case_of, fits, options_of, problem_of
from planted_ranks import PlantedSolver

from sstep_verify.adapters import ours
from sstep_verify.checks.determinism import AS_USED
from sstep_verify.checks.recorded import message_count
from sstep_verify.checks.registry import verdicts_of
from sstep_verify.declaration import Declaration
from sstep_verify.oracle.facade import Oracle
from sstep_verify.protocol import ExternalSolver
from sstep_verify.solver import ProductionSolver
from sstep_verify.trajectory import TRAFFIC, Traffic, Witnessed
from sstep_verify.verdict import NoteKind, Status, Verdict

pytest.importorskip("mpi4py", reason="mpi4py is absent: install the extra [mpi]")
pytestmark = pytest.mark.pool_only

S = 4
COMMUNICATOR, RUN = "sstep_verify.solver.communicator", "sstep_verify.solver.run"
EXCHANGES = "sstep_verify.solver.exchanges.exchange"
MAKE = "            self._windows.make(draws, log, s)\n"
SUM = "        self._comm.Allreduce(self._in_place, buffer)\n"
SCATTER = "        self._comm.Reduce_scatter(send, receive, counts)\n"
KINDS = "        return tuple(self.allgather(kind_of_rank()))\n"
COUNTED, ALIKE = message_count.BY_WITNESS, message_count.ALIKE


def verdict_of(solver, form: str, kernel: str, task: str = "svm-l1") -> Verdict:
    """That of the check on a plain run with its log, and on the same without log and records."""
    problem = problem_of(task, kernel)
    case = replace(case_of(problem, solver, (S,)), variants={AS_USED: solver.declaration})
    runs = {
        key: solver.run(replace(request, log=True)) for key, request in message_count.runs(case).items()
    }
    runs |= {key: solver.run(request) for key, request in message_count.continued(case, runs).items()}
    (verdict,) = verdicts_of(message_count.CHECK, case, runs, Oracle(problem))
    assert verdict.evidence["compared"] == ["plain run", message_count.UNRECORDED]
    return verdict


def planted(ranks: int, edits, form: str, kernel: str) -> Verdict:
    problem = problem_of("svm-l1", kernel)
    return verdict_of(PlantedSolver(ranks, edits, **options_of(form, problem.samples, S)), form, kernel)


SENT = {
    "a reduce-scatter made by an allreduce": (
        {COMMUNICATOR: [(SCATTER, "        whole = np.array(send)\n"
                                  "        self._comm.Allreduce(self._in_place, whole)\n"
                                  "        first = int(counts[: self.rank].sum())\n"
                                  "        receive[:] = whole[first : first + receive.size]\n")]},
        "reduce-scatter", f"allreduces{COUNTED}"),
    "an allreduce made by a reduce and a broadcast": (
        {COMMUNICATOR: [(SUM, "        whole = np.array(buffer)\n"
                              "        self._comm.Reduce(whole, buffer, root=0)\n"
                              "        self._comm.Bcast(buffer, 0)\n")]},
        "allreduce", f"broadcasts{COUNTED}{ALIKE}"),
    "an allreduce made by messages in a ring": (
        {COMMUNICATOR: [(SUM, "        own = np.array(buffer)\n"
                              "        for _ in range(self.size - 1):\n"
                              "            self._comm.Sendrecv_replace(own, (self.rank + 1) % self.size, source=(self.rank - 1) % self.size)\n"
                              "            buffer += own\n")]},
        "gram", f"allreduces{COUNTED}"),
    "a message to the next rank after every sum": (
        {COMMUNICATOR: [(SUM, SUM + "        self._comm.Sendrecv(buffer, (self.rank + 1) % self.size, recvbuf=np.array(buffer))\n")]},
        "support", f"messages from rank to rank{COUNTED}"),
    "a message that is not waited for": (
        {COMMUNICATOR: [(SUM, SUM + "        sent = self._comm.isend(1, (self.rank + 1) % self.size)\n"
                                    "        self._comm.recv()\n        sent.wait()\n")]},
        "allreduce", f"messages from rank to rank{COUNTED}"),
    "sums of numbers in two halves": (
        {COMMUNICATOR: [(SUM, "        halves = np.stack([buffer.astype(np.float32)] * 2)\n"
                              "        halves[1] = buffer - halves[0]\n"
                              "        self._comm.Allreduce(self._in_place, halves)\n"
                              "        buffer[:] = halves.astype(np.float64).sum(axis=0)\n")]},
        "gram", f"words of allreduces{COUNTED}"),
    "sums in a wider type": (
        {COMMUNICATOR: [(SUM, "        wide = buffer.astype(np.longdouble)\n"
                              "        self._comm.Allreduce(self._in_place, wide)\n"
                              "        buffer[:] = wide\n")]},
        "reduce-scatter", f"bytes of allreduces{COUNTED}"),
    "a barrier before every sum": (
        {COMMUNICATOR: [(SUM, "        self._comm.Barrier()\n" + SUM)]}, "reduce-scatter", f"barriers{COUNTED}"),
    "two barriers where timers are separate": (
        {COMMUNICATOR: [('        self._noted("barrier", self._comm.Barrier)\n',
                         '        self._noted("barrier", self._comm.Barrier)\n        self._comm.Barrier()\n')]},
        "allreduce, timed", f"barriers{COUNTED}"),
    "a scan in every window": (
        {COMMUNICATOR: [(SUM, SUM + "        self._comm.Scan(buffer[:1], np.empty(1))\n")]},
        "allreduce", "reductions after another collective"),
}  # fmt: skip


@pytest.mark.parametrize("name", SENT)
def test_what_is_sent_in_another_way_than_is_declared_fails(name):
    edits, form, item = SENT[name]
    kernel = "linear" if form == "gram" else "rbf"
    verdict = planted(2, edits, form, kernel)
    assert (verdict.status, verdict.place.item) == (Status.FAIL, item)
    # Where a is recorded at every window's end, a collective in every window is one for each record.
    assert verdict.place.run == (message_count.UNRECORDED if item.startswith("reductions after") else "")
    assert verdict.place.found != verdict.place.expected
    assert verdict.requirement == ("S-6.2" if item.startswith(("words", "bytes")) else "S-6.1")


UNRECORDED = {
    "a sum more a window": (
        {RUN: [(MAKE, MAKE + "            if self.log is None:\n                self.packet.reduce(0)\n")]}, "collectives"),
    "a sum that it does not count": (
        {RUN: [(MAKE, MAKE + "            if self.log is None:\n                self._communicator._inner.allreduce(np.zeros(1))\n")]},
        f"allreduces{COUNTED}"),
    "a barrier": (
        {RUN: [(MAKE, MAKE + "            if self.log is None:\n                self._communicator.barrier()\n")]}, f"barriers{COUNTED}"),
    "a message": (
        {RUN: [(MAKE, MAKE + "            if len(self._request.stops) == 2:\n"
                             "                self._communicator._inner._comm.sendrecv(1, 1 - self._communicator.rank)\n")]},
        f"messages from rank to rank{COUNTED}"),
    "windows of one step": (
        {RUN: [(MAKE, "            self._windows.make(draws, log, 1 if len(self._request.stops) == 2 else s)\n")]}, "windows"),
    "kernel rows counted twice": (
        {RUN: [(MAKE, MAKE + "            if self.log is None:\n                self._exchange.columns += 1\n")]}, "panel columns"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "form"),
    [
        pytest.param(name, form, marks=[pytest.mark.nightly] * ((row + place) % 4 != 0))
        for row, name in enumerate(UNRECORDED)
        for place, form in enumerate(["allreduce", "support", "reduce-scatter", "gram"])
    ],
)
def test_what_only_a_run_sends_that_nobody_records_fails(name, form):
    edits, item = UNRECORDED[name]
    verdict = planted(2, edits, form, "linear")
    assert (verdict.status, verdict.place.item) == (Status.FAIL, item)
    assert verdict.place.run == message_count.UNRECORDED
    assert verdict.requirement == ("S-6.2" if item == "panel columns" else "S-6.1")
    assert message_count.UNRECORDED in verdict.reason


EXCUSES = {
    "kinds that are said to differ": (
        {COMMUNICATOR: [(KINDS, '        return tuple(f"{own} {rank}" for rank, own in enumerate(self.allgather(kind_of_rank())))\n')]},
        f"broadcasts{ALIKE}"),
    "a broadcast by which nothing differs": (
        {EXCHANGES: [("        self.packet.reduce(rows.size)\n",
                      "        self.packet.reduce(rows.size)\n        self._communicator.broadcast(rows)\n")]},
        f"broadcasts{ALIKE}"),
    "a broadcast that is not counted": (
        {EXCHANGES: [("        self.packet.reduce(rows.size)\n",
                      "        self.packet.reduce(rows.size)\n        self._communicator._inner.broadcast(rows)\n")]},
        f"broadcasts{COUNTED}{ALIKE}"),
    "broadcasts of which it speaks": (
        {RUN: [("if counted.broadcasts else {}", "if counted.broadcasts else {BROADCASTS: 9}")]}, f"broadcasts{ALIKE}"),
}  # fmt: skip


@pytest.mark.parametrize("witness", [True, pytest.param(False, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", EXCUSES)
def test_broadcasts_are_excused_by_measured_arithmetic_alone(name, witness, monkeypatch):
    edits, item = EXCUSES[name]
    if not witness:
        monkeypatch.setattr(ours, "_witness", dict)
    verdict = planted(2, edits, "allreduce", "rbf")
    if not witness and COUNTED in item:
        assert verdict.status is Status.PASS
        assert NoteKind.OWN_WORD in {note.kind for note in verdict.notes}
        return
    assert (verdict.status, verdict.place.item, verdict.place.expected) == (Status.FAIL, item, 0)
    assert verdict.evidence["arithmetic_kinds"] == 1
    assert verdict.requirement == "S-6.1"


@pytest.mark.parametrize(
    "ranks", [1, 2, *(pytest.param(more, marks=pytest.mark.nightly) for more in (3, 4))]
)
def test_correct_runs_recorded_or_not_send_what_is_declared(ranks):
    tried = 0
    for place, form in enumerate(FORMS):
        for kernel, described in KERNELS.items():
            if not fits(form, described):
                continue
            tried += 1
            problem = problem_of("svm-l1", kernel)
            options = options_of(form, problem.samples, S)
            tested = ProductionSolver(**options) if ranks == 1 else PlantedSolver(ranks, {}, **options)
            verdict = verdict_of(tested, form, kernel, ("svm-l1", "svm-l2", "krr")[place % 3])
            assert verdict.status is Status.PASS, (form, kernel, verdict.reason)
            assert verdict.executed == verdict.planned
            told = {note.kind for note in verdict.notes}
            assert told == ({NoteKind.OWN_WORD} if ranks == 1 else set())
    assert tried > 2 * len(FORMS) - 5


class Spoken:
    """A solver that says itself what was seen of it."""

    declaration = Declaration("spoken")

    def run(self, request, observe=None):
        made = ProductionSolver().run(request, observe)
        return replace(made, seen=Witnessed(dict.fromkeys(TRAFFIC, Traffic(1)), 0, 2))


def test_what_a_solver_says_was_seen_of_it_is_left_out():
    problem = problem_of("svm-l1", "linear")
    case = case_of(problem, ProductionSolver(), (S,))
    (request,) = message_count.runs(case).values()
    assert Spoken().run(request).seen is not None
    assert ExternalSolver(Spoken()).run(request).seen is None
    assert np.array_equal(
        ExternalSolver(Spoken()).run(request).final, ProductionSolver().run(request).final
    )

"""The check message-count: the counts of correct runs are the formulas, and every other count is red."""

from __future__ import annotations

import dataclasses

import pytest
from judged import assert_teaches, judged, small_case
from plant import plant

from sstep_verify.checks.recorded import message_count as check
from sstep_verify.costs.messages import COUNTED
from sstep_verify.declaration import PER_WINDOW, Exchange
from sstep_verify.problems import Hinge, LinearKernel, PolynomialKernel, RBFKernel, Ridge
from sstep_verify.solver import ProductionSolver
from sstep_verify.solver import windows as columns
from sstep_verify.solver.exchanges import exchange as exchange_allreduce
from sstep_verify.trajectory import ALLREDUCE, TRAFFIC, Traffic, Witnessed
from sstep_verify.verdict import COUNTED_WINDOWS, Status, Why

EXCHANGE = Exchange(PER_WINDOW)
KERNELS = [LinearKernel(), PolynomialKernel(), RBFKernel(0.3)]


@pytest.mark.parametrize("keep_gram", [False, True])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize(("loss", "block"), [(Hinge(0.5), 1), (Ridge(0.05), 3)])
def test_correct_runs_send_what_is_declared(loss, block, kernel, keep_gram):
    case, tested = small_case(
        loss, kernel, block=block, s_values=(1, 4, 16, 100), solver=ProductionSolver(keep_gram=keep_gram)
    )
    verdicts = judged(check, case, tested)
    assert sorted(verdicts) == [1, 4, 16, 100]
    for verdict in verdicts.values():
        assert verdict.status is Status.PASS
        assert verdict.executed == verdict.planned == len(COUNTED)


def test_the_formulas_by_hand():
    verdict = judged(check, *small_case(Hinge(0.5), RBFKernel(0.3), s_values=(16,)))[16]
    expected = verdict.evidence["expected"]
    assert expected["windows"] == 5
    assert expected["collectives"] == 5 + 1
    assert expected["words"] == 12 * (expected["panel columns"] + 1) + 2 * expected["collectives"]
    assert expected["panel columns"] < 75


def test_a_large_gram_matrix_is_formed_in_several_collectives():
    case, tested = small_case(Hinge(0.5), samples=600, solver=ProductionSolver(keep_gram=True))
    verdicts = judged(check, case, tested)
    assert {verdict.status for verdict in verdicts.values()} == {Status.PASS}
    rows = case.declaration.exchange.rows
    assert verdicts[1].evidence["expected"]["collectives"] == -(-600 // rows) > 1
    assert verdicts[4].evidence["expected"]["collectives"] == 0  # kept from the run before


def test_a_run_ended_early_is_counted_to_its_end():
    end = lambda iteration, alpha: iteration >= 30  # noqa: E731
    for verdict in judged(check, *small_case(Hinge(0.5)), observe=end).values():
        assert verdict.status is Status.PASS


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        (exchange_allreduce, "self.packet.reduce(rows.size)", "self.packet.reduce(rows.size), self.packet.reduce(0)"),
        (exchange_allreduce, "self.packet.reduce(rows.size)", "self.packet.reduce(rows.size + rows.shape[1])"),
        (columns, "if stamp[0, coordinate] != mark:", "if True:"),
    ],
)  # fmt: skip
def test_a_planted_defect_fails_with_a_reason(module, old, new):
    with plant(module, (old, new)):
        verdict = judged(check, *small_case(Hinge(0.5), samples=40))[16]
    assert verdict.status is Status.FAIL
    assert verdict.place.found > verdict.place.expected
    assert verdict.evidence[COUNTED_WINDOWS] == verdict.evidence["expected"]["windows"] == 5
    assert_teaches(verdict)


def test_an_exchange_in_every_iteration_is_vacuous_where_there_is_one_iteration():
    verdict = judged(check, *small_case(Hinge(0.5), iterations=1, s_values=(4,)))[4]
    assert verdict.status is Status.VACUOUS
    assert verdict.why is Why.NO_EFFECT


def test_counts_are_judged_where_they_are_declared():
    case, tested = small_case(Hinge(0.5))
    silent = dataclasses.replace(case, declaration=dataclasses.replace(case.declaration, exchange=None))
    assert judged(check, silent, tested, of=()) == {}
    uncounted = lambda run: dataclasses.replace(run, counters={})  # noqa: E731
    for verdict in judged(check, case, tested, change=uncounted).values():
        assert verdict.status is Status.INCONCLUSIVE
        assert verdict.executed == 0


@pytest.mark.parametrize(
    ("collectives", "status"),
    [
        (lambda windows, iterations: windows + 3, Status.PASS),  # whatever the set-up
        (
            lambda windows, iterations: iterations + 3,
            Status.FAIL,
        ),  # communicates as the classical method does
        (lambda windows, iterations: 2 * windows, Status.FAIL),
        (lambda windows, iterations: iterations // 4 + 3, Status.FAIL),  # none for the short last window
        (lambda windows, iterations: None, Status.INCONCLUSIVE),
    ],
)
def test_of_a_program_one_collective_a_window_is_due_next_to_its_set_up(collectives, status):
    case, tested = small_case(Hinge(0.5), s_values=(4,), iterations=75)
    case = dataclasses.replace(case, declaration=dataclasses.replace(case.declaration, exchange=EXCHANGE))

    def counted(trajectory):
        count = collectives(-(-trajectory.length // 4), trajectory.length)
        return dataclasses.replace(trajectory, counters={} if count is None else {"collectives": count})

    verdict = judged(check, case, tested, change=counted)[4]
    assert verdict.status is status
    assert verdict.evidence[COUNTED_WINDOWS] == 19 - 9  # those beyond a run of half the windows
    if status is Status.FAIL:
        assert_teaches(verdict)
    if status is Status.PASS:
        assert [(term.name, term.status) for term in verdict.terms] == [
            ("communication in every iteration", Status.PASS)
        ]


def test_of_a_classical_run_the_count_is_judged_too():
    case, tested = small_case(Hinge(0.5), s_values=(1,), iterations=75)
    case = dataclasses.replace(case, declaration=dataclasses.replace(case.declaration, exchange=EXCHANGE))
    counted = lambda run: dataclasses.replace(run, counters={"collectives": run.length + 1})  # noqa: E731
    assert judged(check, case, tested, change=counted)[1].status is Status.PASS


def test_of_a_single_window_nothing_is_said():
    case, tested = small_case(Hinge(0.5), s_values=(75,), iterations=75)
    case = dataclasses.replace(case, declaration=dataclasses.replace(case.declaration, exchange=EXCHANGE))
    assert judged(check, case, tested, of=()) == {}


@pytest.mark.parametrize("kind", TRAFFIC)
@pytest.mark.parametrize(("seen", "status"), [(0, Status.PASS), (1, Status.FAIL)])
def test_of_a_program_what_a_witness_saw_is_compared_too(seen, status, kind):
    case, tested = small_case(Hinge(0.5), s_values=(4,), iterations=75)
    declared = dataclasses.replace(case.declaration, exchange=EXCHANGE, ranks=2)
    case = dataclasses.replace(case, declaration=declared)

    def counted(trajectory):
        own = -(-trajectory.length // 4) + 3
        traffic = dict.fromkeys(TRAFFIC, Traffic()) | {kind: Traffic(seen * trajectory.length)}
        traffic[ALLREDUCE] = Traffic(own + traffic[ALLREDUCE].calls)
        return dataclasses.replace(trajectory, counters={"collectives": own}, seen=Witnessed(traffic))

    verdict = judged(check, case, tested, change=counted)[4]
    assert verdict.status is status
    assert not verdict.notes
    assert set(verdict.evidence["seen"]) == set(TRAFFIC)

"""The check trajectory: red where a defect is planted, green on the same input without it, vacuous where
the input could not have shown one; the ratio is reported against H."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from daily import crossed
from judged import by_s
from plant import plant

from sstep_verify.checks import sstep_equals_classical, trajectory
from sstep_verify.checks.registry import checks_of
from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.short.causes import ONE_FEWER, ONE_MORE
from sstep_verify.checks.short.runs import WORK, short_key, short_length, short_points
from sstep_verify.diagnosis.kernel_rows import rows_of
from sstep_verify.diagnosis.other_problems import mistaken_problems
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import (
    Hinge,
    IndexStream,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
)
from sstep_verify.problems.streams import logged_stream
from sstep_verify.solver import ProductionSolver, ridge_window, svm_window
from sstep_verify.solver import windows as windows_module
from sstep_verify.trajectory import Panel, Trajectory
from sstep_verify.verdict import HintKind, Status, Why

S_VALUES = (1, 4, 16)
LOSSES = [(Hinge(0.5), 1), (SquaredHinge(2.0), 1), (Ridge(0.05), 1), (Ridge(0.05), 3)]

PLANTS = [
    (Hinge(0.5), 1, "in-place", svm_window, "* row[places[later]] * signed", "* row[places[later]] * 0.0"),
    (Hinge(0.5), 1, "frozen", svm_window, "value += delta[coordinate]", "value += 0.0"),
    (SquaredHinge(2.0), 1, "in-place", svm_window, "gradient[place] + shift * value", "gradient[place]"),
    (Ridge(0.05), 3, "frozen", ridge_window, "value += delta[places[draw]]", "value += 0.0"),
    (Hinge(0.5), 1, "in-place", windows_module, "(1, slice(full, None))", "(1, slice(0, 0))"),
    (Ridge(0.05), 3, "in-place", windows_module, "(1, slice(full, None))", "(1, slice(0, 0))"),
    (Hinge(0.5), 1, "in-place", svm_window, "* row[places[later]] * signed",
     "* row[places[later]] * (signed * (1 + 1e-9))"),
]  # fmt: skip


def make_case(loss, block=1, kernel=None, update="in-place", iterations=75, samples=12, **fields):
    generator = np.random.Generator(np.random.PCG64(3))
    data = generator.standard_normal((samples, 4))
    targets = np.where(np.arange(samples) % 3 == 0, 1.0, -1.0)
    if isinstance(loss, Ridge):
        targets = generator.standard_normal(samples)
    problem = Problem("drawn", data, targets, kernel or LinearKernel(), loss)
    stream = IndexStream("uniform", samples, block, iterations, seed=1)
    tested = ProductionSolver(update=update)
    declaration = tested.declaration
    return Case(
        "drawn", problem, stream, S_VALUES, iterations, declaration, replay_command="again", **fields
    ), tested


def judge(check, case, tested, change=None):
    runs = {key: tested.run(request) for key, request in check.CHECK.runs(case).items()}
    if change is not None:
        runs = {key: change(run) for key, run in runs.items()}
    found = check.CHECK.judge(case, runs, Oracle(case.problem))
    return by_s(found, [s for s in case.s_values if case.iterations and check.CHECK.applies(case, s)])


@pytest.mark.parametrize(
    ("loss", "block", "update"),
    [
        pytest.param(*loss, update, marks=[pytest.mark.nightly] * ((row + column) % 2))
        for row, loss in enumerate(LOSSES)
        for column, update in enumerate(("in-place", "frozen"))
    ],
)
def test_a_correct_run_passes_and_says_what_it_could_have_seen(loss, block, update):
    verdicts = judge(trajectory, *make_case(loss, block, update=update))
    assert sorted(verdicts) == [*S_VALUES]
    assert {verdict.status for verdict in verdicts.values()} == {Status.PASS}
    for s, verdict in verdicts.items():
        assert 0 < verdict.executed == verdict.planned
        assert 0 < verdict.ratio <= 1
        assert verdict.replay == "again"
        names = [term.name for term in verdict.terms]
        overlap = ["overlap"] if update == "frozen" else []
        expected = ["kernel-correction", *overlap] if s > 1 else ["stale-product"]
        assert names[: len(expected)] == expected
        assert ("omega" in names) == isinstance(loss, SquaredHinge)
        # Nothing but leaving out is tried.
        assert {term.detection_limit for term in verdict.terms} == {np.inf}


def test_a_run_that_its_solver_ended_is_compared_at_the_points_that_it_reached():
    case, tested = make_case(Hinge(0.5))

    def ended(run, last):
        kept = run.iterations <= last
        return dataclasses.replace(
            run, iterations=run.iterations[kept], alphas=run.alphas[kept], stopped="tolerance"
        )

    for check in (trajectory, sstep_equals_classical):
        for s, verdict in judge(check, case, tested, lambda run: ended(run, 64)).items():
            assert verdict.status is Status.PASS, s
            assert 0 < verdict.executed < verdict.planned
        nothing = judge(check, case, tested, lambda run: ended(run, 0))
        assert {(one.status, one.why) for one in nothing.values()} == {(Status.VACUOUS, Why.NOT_RECORDED)}


@pytest.mark.parametrize(
    ("loss", "block", "iterations"),
    [
        pytest.param(*loss, iterations, marks=[pytest.mark.nightly] * (column != row % 2))
        for row, loss in enumerate(LOSSES)
        for column, iterations in enumerate((71, 77, 66))
    ],
)
def test_a_last_window_that_is_not_made_is_seen_or_said_to_be_unseen(loss, block, iterations):
    case, tested = make_case(loss, block, iterations=iterations, diagnose=False)

    def lose_tail(run):
        whole = run.length // run.s * run.s
        if whole == run.length:
            return run
        request = trajectory.runs(case)[short_key(run.s)]
        left = tested.run(dataclasses.replace(request, iterations=whole, record=()))
        alphas = np.where((run.iterations > whole)[:, None], left.final, run.alphas)
        return dataclasses.replace(run, alphas=alphas)

    right, wrong = judge(trajectory, case, tested), judge(trajectory, case, tested, lose_tail)
    for s, verdict in right.items():
        tails = [term for term in verdict.terms if term.name == "tail"]
        assert len(tails) == (short_length(case) % s > 0)
        seen = bool(tails and tails[0].seen)
        assert wrong[s].status is (Status.FAIL if seen else verdict.status)


@pytest.mark.parametrize("loss", [Hinge(0.5), Ridge(0.05)])
def test_the_ratio_is_reported_against_the_number_of_iterations(loss):
    case, tested = make_case(loss)
    for s, verdict in judge(trajectory, case, tested).items():
        points = verdict.evidence["points"]
        assert [point["iteration"] for point in points] == list(short_points(case, s))
        assert max(point["ratio"] for point in points) == verdict.ratio
        assert all(point["amplification"] >= 1 for point in points)
        assert points[-1]["largest_bound"] >= points[0]["largest_bound"]


@pytest.mark.parametrize(("loss", "block", "update", "module", "old", "new"), PLANTS)
def test_a_planted_defect_fails_with_a_reason(loss, block, update, module, old, new):
    with plant(module, (old, new)):
        verdicts = judge(trajectory, *make_case(loss, block, update=update, diagnose=False))
    red = [verdict for verdict in verdicts.values() if verdict.status is Status.FAIL]
    assert red
    for verdict in red:
        assert verdict.ratio > 1
        assert verdict.place.end > 0
        assert verdict.bound_origin.startswith("bounds/window/")


@pytest.mark.parametrize(
    ("loss", "block", "module", "old", "new", "named"),
    [
        (*PLANTS[0][:2], *PLANTS[0][3:], "correction-dropped"),
        (*PLANTS[2][:2], *PLANTS[2][3:], "omega left out"),
        (*PLANTS[5][:2], *PLANTS[5][3:], "tail-lost"),
    ],
)
def test_the_mistake_that_reproduces_a_run_is_named(loss, block, module, old, new, named):
    case, tested = make_case(loss, block)
    with plant(module, (old, new)):
        verdicts = judge(trajectory, dataclasses.replace(case, s_values=(4,)), tested)
    red = [verdict for verdict in verdicts.values() if verdict.status is Status.FAIL]
    found = [one.names for verdict in red for one in verdict.defects]
    assert any(named in names for names in found), found


@pytest.mark.parametrize(
    ("loss", "block", "kernel", "named", "sentence"),
    [
        (Hinge(0.5), 1, RBFKernel(0.5), "labels inside the kernel", "S-1.2"),
        (Hinge(2.0), 1, RBFKernel(0.5), "sigma doubled", "S-1.7"),
        (Hinge(2.0), 1, RBFKernel(0.5), "sigma halved", "S-1.7"),
        (Hinge(0.5), 1, RBFKernel(0.5), "linear instead of RBF kernel", "S-1.7"),
        (SquaredHinge(2.0), 1, PolynomialKernel(3, 1.0), "linear instead of polynomial kernel", "S-1.6"),
        (SquaredHinge(2.0), 1, RBFKernel(0.5), "omega doubled", "S-1.3"),
        (SquaredHinge(2.0), 1, RBFKernel(0.5), "omega halved", "S-1.3"),
        (Ridge(0.05), 3, RBFKernel(0.5), "m taken as 1", "S-1.4"),
        (Ridge(0.05), 3, LinearKernel(), "alpha scaled by 1/lambda", "S-1.5"),
        (Ridge(0.05), 3, RBFKernel(0.5), "m in every entry", "S-1.4"),
        (Hinge(0.5), 1, RBFKernel(0.5), "norms dropped", "S-1.7"),
    ],
)
def test_another_problem_that_was_solved_is_named(loss, block, kernel, named, sentence):
    case, tested = make_case(loss, block, kernel)
    case, runs = dataclasses.replace(case, s_values=(4,)), {}
    for key, request in trajectory.runs(case).items():
        drawn = case.stream.blocks(0, request.iterations)
        columns = np.unique(drawn)
        others = {other.name: other.problem for other in reversed(mistaken_problems(case.problem))}
        if named in others:
            runs[key] = tested.run(dataclasses.replace(request, problem=others[named]))
        else:
            runs[key] = classical_run(
                case,
                request,
                Panel(columns, rows_of(case.problem, case.declaration, columns, named).values),
            )
    for verdict in trajectory.judge(case, runs, Oracle(case.problem)):
        assert verdict.status is Status.FAIL
        assert (named,) in [one.names for one in verdict.defects]
        assert verdict.requirement == sentence


def classical_run(case, request, panel):
    """A right classical run on other kernel rows."""
    problem, alpha, states = case.problem, np.zeros(case.problem.samples), []
    rows = dict(zip(panel.columns.tolist(), panel.entries, strict=True))
    for k, block in enumerate([None, *case.stream.blocks(0, request.iterations).tolist()]):
        if block is not None and problem.is_svm:
            (i,), y = block, problem.targets
            gradient = y[i] * (rows[i] @ (y * alpha)) - 1 + problem.hinge.shift * alpha[i]
            new = alpha[i] - gradient / (rows[i][i] + problem.hinge.shift)
            alpha[i] = min(max(new, 0.0), problem.hinge.upper)
        elif block is not None:
            own = np.array([rows[i] for i in block]) / problem.ridge.penalty
            system = own[:, block] + problem.samples * np.eye(len(block))
            residual = problem.targets[block] - problem.samples * alpha[block] - own @ alpha
            alpha[block] += np.linalg.solve(system, residual)
        if k in request.stops:
            states.append(alpha.copy())
    return Trajectory(request.s, 0, np.array(request.stops), np.array(states))


TASKS = Hinge(2.0), SquaredHinge(2.0), Ridge(0.05)


@pytest.mark.parametrize(("loss", "fewer", "spoiled"), crossed(TASKS, [1, 2], [False, True], of=2))
def test_a_run_of_one_iteration_fewer_is_named(loss, fewer, spoiled):
    """Two fewer are another mistake, and so is one fewer with an alpha that is off."""
    case, tested = make_case(loss, 1 + isinstance(loss, Ridge), RBFKernel(0.5))
    case = dataclasses.replace(case, s_values=(4,))
    (key, request), = trajectory.runs(case).items()  # fmt: skip
    points = short_points(case, 4)
    record = tuple(point - fewer for point in points if point > fewer)
    run = tested.run(dataclasses.replace(request, s=1, record=record))
    alphas = np.array([run.at(point - fewer) for point in points])
    alphas[-1, case.stream.blocks(0, 1)[0, 0]] *= 1 - 1e-9 * spoiled
    start = run.alphas[:1]
    made = dataclasses.replace(
        run, s=4, iterations=np.array([0, *points]), alphas=np.concatenate([start, alphas])
    )
    (verdict,) = trajectory.judge(case, {key: made}, Oracle(case.problem))
    assert verdict.status is Status.FAIL
    named = [one.names for one in verdict.defects]
    right = fewer == 1 and not spoiled
    assert (named, verdict.requirement) == (([(ONE_FEWER,)], "S-2.3") if right else ([], "S-4.1"))


MORE = ["a step more", "two steps more", "a step more, off"]


@pytest.mark.parametrize(
    ("loss", "how"), crossed(TASKS, [*MORE, "a coordinate off", "a step more, undrawn moved"], of=3)
)
def test_a_run_of_one_iteration_more_is_named(loss, how):
    """Off by one step on a coordinate of its own; of a K-RR the norm tells no coordinate."""
    moved = how.endswith("moved")
    case, tested = make_case(loss, 1 + isinstance(loss, Ridge), RBFKernel(0.5), samples=12 + 48 * moved)
    case = dataclasses.replace(case, s_values=(4,))
    ((key, request),) = trajectory.runs(case).items()
    run, points = tested.run(request), short_points(case, 4)
    alphas, blocks = run.alphas.copy(), case.stream.blocks(0, case.iterations)
    for place, point in enumerate(run.iterations.tolist()):
        if point in points and how != "a coordinate off":
            more = np.concatenate([blocks[:point], blocks[: 1 + (how == "two steps more")]])
            longer = logged_stream(dataclasses.replace(case.stream, length=len(more)), more)
            alphas[place] = tested.run(
                dataclasses.replace(request, stream=longer, iterations=len(more), record=())
            ).final
        if point == points[-1] and how.endswith("off"):
            alphas[place, blocks[0, 0]] *= 1 - 1e-9
        if point == points[-1] and how.endswith("moved"):
            alphas[place, np.setdiff1d(np.arange(case.problem.samples), blocks)[0]] = 0.25
    made = dataclasses.replace(run, alphas=alphas)
    (verdict,) = trajectory.judge(case, {key: made}, Oracle(case.problem))
    assert verdict.status is Status.FAIL
    right = how == "a step more" and case.problem.is_svm
    found = [one.names for one in verdict.defects], verdict.requirement
    assert found == (([(ONE_MORE,)], "S-2.3") if right else ([], "S-4.1"))


def test_no_mistake_is_named_where_none_reproduces_the_run():
    with plant(PLANTS[-1][3], PLANTS[-1][4:]):
        verdicts = judge(trajectory, *make_case(Hinge(0.5)))
    red = [verdict for verdict in verdicts.values() if verdict.status is Status.FAIL]
    assert red
    assert not any(verdict.defects for verdict in red)


def test_an_error_carried_from_window_to_window_is_seen_in_the_classical_run():
    # Each window by itself begins where the one before it ended; only the whole run is off.
    case, tested = make_case(Ridge(0.05), 3, diagnose=False)
    other = IndexStream("uniform", 12, 3, 75, seed=2)
    runs = {
        key: tested.run(dataclasses.replace(request, stream=other))
        for key, request in trajectory.runs(case).items()
    }
    verdicts = trajectory.judge(case, runs, Oracle(case.problem))
    assert {verdict.status for verdict in verdicts} == {Status.FAIL}


def test_a_diagonal_kernel_is_vacuous_not_right():
    verdicts = judge(trajectory, *make_case(Hinge(1.0), kernel=RBFKernel(1e4)))
    assert verdicts[1].status is Status.PASS
    for s in (4, 16):
        assert verdicts[s].status is Status.VACUOUS
        assert verdicts[s].terms[0].status is Status.VACUOUS
        assert (verdicts[s].terms[0].name, verdicts[s].why) == ("kernel-correction", Why.NO_EFFECT)


def test_a_coordinate_that_was_never_drawn_must_not_move():
    case, tested = make_case(Hinge(0.5), samples=40, iterations=20, diagnose=False)

    def disturb(run):
        alphas = run.alphas.copy()
        drawn = set(case.stream.blocks(0, 20).ravel().tolist())
        alphas[1:, next(i for i in range(40) if i not in drawn)] = 0.25
        return dataclasses.replace(run, alphas=alphas)

    verdict = judge(trajectory, case, tested, change=disturb)[4]
    assert verdict.status is Status.FAIL
    assert HintKind.UNDRAWN_MOVED in [hint.kind for hint in verdict.hints]
    assert (verdict.place.found, verdict.place.expected) == (0.25, 0.0)


def test_a_value_that_is_not_finite_fails():
    case, tested = make_case(Ridge(0.05))

    def spoil(run):
        alphas = run.alphas.copy()
        alphas[-1, 0] = np.nan
        return dataclasses.replace(run, alphas=alphas)

    assert {v.status for v in judge(trajectory, case, tested, change=spoil).values()} == {Status.FAIL}


def test_a_bound_that_promises_nothing_is_vacuous():
    # Blocks wider than the feature space: in float32 the block systems of a huge K / lambda are
    # singular to working precision.
    case, tested = make_case(Ridge(1e-12), 6)
    declared = dataclasses.replace(case.declaration, precision="float32")
    verdicts = judge(trajectory, dataclasses.replace(case, declaration=declared), tested)
    assert {verdict.status for verdict in verdicts.values()} == {Status.VACUOUS}
    assert verdicts[4].why is Why.NO_BOUND


def test_short_runs_keep_within_the_work_allowed():
    case, _ = make_case(Hinge(0.5), short=50)
    assert short_length(case) == 50
    assert short_points(case, 16) == (16, 32, 50)
    assert short_points(case, 1)[-1] == 50
    assert {*short_points(case, 16), *short_points(case, 4)} <= {*short_points(case, 1)}
    wide, _ = make_case(Ridge(1.0), 40, samples=200)
    assert short_length(wide) == WORK // (40 * 200) < 75


def test_no_iterations_need_no_run_and_get_no_verdict():
    case, tested = make_case(Hinge(0.5), iterations=0)
    assert trajectory.runs(case) == {}
    assert judge(trajectory, case, tested) == {}


def test_the_check_is_registered():
    (check,) = checks_of(["trajectory"])
    assert check.id == "trajectory"
    assert set(check.runs(make_case(Hinge(0.5))[0])) == {short_key(s) for s in S_VALUES}

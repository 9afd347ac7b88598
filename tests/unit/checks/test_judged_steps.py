"""The judge of steps over rows of a segment, over chosen segments, and step by step, says the same."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from production_runs import KERNELS, problem_of, stream_of
from sstep_reference.arithmetic import Float

from sstep_verify import quantities
from sstep_verify.bounds.step.drift import WeightsDrift
from sstep_verify.checks import step_replay
from sstep_verify.checks.shared.case import Case, run_key
from sstep_verify.checks.steps import explain, judged, place, rows, seen, step_statistics
from sstep_verify.checks.steps.judged import StepJudge
from sstep_verify.checks.steps.seen import exact_steps, step_terms
from sstep_verify.declaration import Declaration
from sstep_verify.oracle.balls.exact_kernel import classical_run, exact_kernel
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import Hinge, IndexStream, LinearKernel, Problem, Ridge, SquaredHinge
from sstep_verify.protocol import RunRequest
from sstep_verify.quantities import STALE, WRITE_BACK
from sstep_verify.rounding.kernel import entries
from sstep_verify.rounding.kernel.entries import kernel_entries
from sstep_verify.solver import ProductionSolver
from sstep_verify.verdict import Status, Why

TASKS = ("svm-l1", "svm-l2", "krr")


def logged(task, kernel=KERNELS[2], s=4, length=60, **options):
    problem, stream, tested = problem_of(task, kernel), stream_of(task), ProductionSolver(**options)
    case = Case("judged", problem, stream, (s,), length, tested.declaration)
    return case, tested.run(RunRequest(problem, stream, s, length, log=True))


@pytest.mark.parametrize("task", TASKS)
def test_rows_formed_for_a_segment_judge_as_the_whole_matrix_does(task, monkeypatch):
    case, run = logged(task)
    whole = StepJudge(case, Oracle(case.problem)).run(run)
    monkeypatch.setattr(rows, "WHOLE_WORDS", 0)
    monkeypatch.setattr(rows, "SEGMENT_WORDS", 60)
    parts = StepJudge(case, Oracle(case.problem))
    assert not parts.rows.whole
    found = parts.run(run)
    assert (found.judged, found.decided) == (whole.judged, whole.decided) == (60, 60)
    # Products of a panel and of a whole matrix round differently, and a smaller support has a smaller gamma.
    assert found.worst.ratio < 1.0
    assert np.array_equal(found.tally.events, whole.tally.events)
    assert np.array_equal(found.tally.first, whole.tally.first)


@pytest.mark.parametrize("options", [{}, {"exchange": "gram"}], ids=["rows", "weights"])
@pytest.mark.parametrize("task", TASKS)
def test_a_logged_value_that_is_no_size_of_a_number_is_wrong_and_earlier_steps_are_judged(task, options):
    """With a linear kernel as well, of which products may overflow from that step on."""
    case, run = logged(task, KERNELS[0], **options)
    draws, generator = case.stream.blocks(0, 60), np.random.Generator(np.random.PCG64(8))
    places = [k for k in range(2, 50) if np.isin(draws[k], draws[k + 1 :]).all()]
    for value in (np.nan, np.inf, -np.inf, 1e308, -1e308):
        for k in (int(generator.choice(places)), 59):
            log = run.log.copy()
            log[k] = value
            found = StepJudge(case, Oracle(case.problem)).run(replace(run, log=log))
            assert found.wrong[0] == k
            assert np.isfinite(found.tally.bound[:k]).all()


@pytest.mark.parametrize("task", TASKS)
def test_the_drift_of_weights_is_followed_once_a_run(task, monkeypatch):
    case, run = logged(task, KERNELS[0], exchange="gram")
    followed, along = [], WeightsDrift.along
    monkeypatch.setattr(WeightsDrift, "along", lambda *given: followed.append(1) or along(*given))
    judge = StepJudge(case, Oracle(case.problem))
    found = judge.run(run)
    steps = exact_steps(found)
    assert len(steps) > 2
    assert len(followed) == 1
    assert judge.step_bounds(run, 0).size == case.stream.block
    judge.run(replace(run))
    assert len(followed) == 2


@pytest.mark.parametrize("task", TASKS)
def test_a_step_judged_alone_has_the_bounds_it_has_in_the_run(task):
    case, run = logged(task)
    judge = StepJudge(case, Oracle(case.problem))
    worst = judge.run(run).worst
    bounds = judge.step_bounds(run, worst.window.begin)
    assert bounds.shape == (1 if case.problem.is_svm else case.stream.block,)
    assert worst.bound in bounds
    # Without the judge's own errors all of them are smaller.
    assert (
        StepJudge(case, Oracle(case.problem), judge=False).step_bounds(run, worst.window.begin) < bounds
    ).all()


@pytest.mark.parametrize("task", TASKS)
def test_windows_judged_alone_show_what_they_show_in_the_run(task):
    case, run = logged(task)
    judge = StepJudge(case, Oracle(case.problem))
    whole = judge.run(run).tested
    windows = [judge.window(run, iteration) for iteration in range(run.s - 1, run.length, run.s)]
    assert whole.least.tolist() == np.min([window.least for window in windows], axis=0).tolist()
    for sign, steps in enumerate(whole.best.tolist()):
        for quantity, best in enumerate(steps):
            if best >= 0:
                window, place = windows[best // run.s], (sign, quantity)
                assert (window.best[place], window.least[place]) == (best, whole.least[place])


@pytest.mark.parametrize("task", TASKS)
def test_exact_steps_show_less_than_the_float64_judge_needs_and_replay_what_they_tell_of(task):
    case, run = logged(task)
    oracle = Oracle(case.problem)
    found = StepJudge(case, oracle).run(run)
    replayed = exact_steps(found)
    by_judge = {term.name: term.detection_limit for term in step_terms(found, [])}
    told = {name for step in replayed for name in step.least}
    assert {"stale-product", "kernel-correction", "curvature"} <= told
    for name in told:
        least = np.min([step.least[name] for step in replayed if name in step.least], axis=0)
        assert least.max() < by_judge[name], name
    assert all(finding.status is Status.PASS for finding in replayed)
    # An error beyond the solver's own bound in the step that shows a quantity best is refused there. That step
    # may be one that is replayed for its ratio anyhow.
    shown = [one for one in replayed if one.details["chosen"].startswith("shows_")] or replayed
    number = shown[0].window.begin
    changed = run.log.copy()
    changed[number, 0] += 1e-9
    wrong = type(run)(run.s, run.start, run.iterations, run.alphas, log=changed)
    again = exact_steps(replace(found, trajectory=wrong))
    assert Status.FAIL in {one.status for one in again if one.window.begin == number}


def test_each_quantity_has_the_number_of_its_place():
    constants = {name: value for name, value in vars(quantities).items() if isinstance(value, str)}
    numbers = {
        name: step_statistics.NAMES.index(value) for name, value in constants.items() if name.isupper()
    }
    assert sorted(numbers.values()) == list(range(len(step_statistics.NAMES)))
    assert {name: getattr(step_statistics, name) for name in numbers} == numbers


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("wrong", [False, True])
def test_the_first_pass_gives_distances_and_bounds_without_the_others(task, wrong, monkeypatch):
    case, run = logged(task, s=7)
    if wrong:
        log = run.log.copy()
        log[::11] += 1e-3
        run = replace(run, log=log)
    whole = StepJudge(case, Oracle(case.problem)).run(run)

    def never(*_):
        raise AssertionError("not asked for")

    for name in ("note_clipped_steps", "note_solved_steps"):
        monkeypatch.setattr(judged, name, never)
    for name in ("explain_clipped_steps", "explain_solved_steps"):
        monkeypatch.setattr(explain, name, never)
    monkeypatch.setattr(judged, "SEGMENT", 14 * case.stream.block)
    judge = StepJudge(case, Oracle(case.problem))
    places = np.arange(run.length)
    passed = [(one.segment.first, one.tally) for one in judge.again(run, places)]
    assert [first for first, _ in passed] == [0, 14, 28, 42, 56]
    for name in ("distance", "bound"):
        made = np.concatenate([getattr(part, name) for _, part in passed])
        assert np.array_equal(made, getattr(whole.tally, name), equal_nan=True)
    over = np.concatenate([part.over for _, part in passed])
    assert np.array_equal(places[over], whole.wrong)
    assert bool(whole.wrong.size) == wrong


@pytest.mark.parametrize("task", TASKS)
def test_what_explains_a_failure_is_looked_for_after_one_only_and_where_wrong_steps_are(task, monkeypatch):
    case, run = logged(task, s=4)
    monkeypatch.setattr(judged, "SEGMENT", 8 * case.stream.block)
    looked = []
    for name in ("explain_clipped_steps", "explain_solved_steps"):
        pass_of = getattr(explain, name)

        def counting(kept, segment, *rest, pass_of=pass_of):
            looked.append(segment.first)
            pass_of(kept, segment, *rest)

        monkeypatch.setattr(explain, name, counting)

    def verdict_of(one):
        return step_replay.judge(case, {run_key(run.s): one}, Oracle(case.problem))[0]

    assert verdict_of(run).status is Status.PASS
    assert looked == []
    log, alphas = run.log.copy(), run.alphas.copy()
    last = case.stream.blocks(0, run.length)[-1]
    log[-1] += 1e-3
    alphas[-1, last] = log[-1]
    wrong = replace(run, log=log, alphas=alphas)
    assert verdict_of(wrong).status is Status.FAIL
    assert looked == [56]
    assert StepJudge(case, Oracle(case.problem)).run(wrong).wrong.tolist() == [59]


@pytest.mark.parametrize("task", TASKS)
def test_alpha_before_a_step_is_what_the_log_says_step_by_step(task):
    """Where blocks hold a coordinate several times as well: all its draws have the last logged value."""
    case, run = logged(task)
    if task == "krr":
        stream = IndexStream("numpy-pcg64", case.problem.samples, 4, 60, 3, replacement=True)
        case, tested = replace(case, stream=stream), ProductionSolver()
        run = tested.run(RunRequest(case.problem, stream, 4, 60, log=True))
    judge, draws = StepJudge(case, Oracle(case.problem)), case.stream.blocks(0, 60)
    assert task != "krr" or any(np.unique(block).size < block.size for block in draws)
    alpha = run.alphas[0].copy()
    for k in range(61):
        assert np.array_equal(judge.alpha_before(run, k), alpha)
        for i, value in zip(draws[k].tolist(), run.log[k].tolist(), strict=True) if k < 60 else ():
            alpha[i] = value
    assert np.array_equal(alpha, run.final)


class Counting(Oracle):
    """Notes the precisions that steps are replayed with."""

    def __init__(self, problem):
        super().__init__(problem)
        self.precisions = []

    def step_error(self, problem, before, after, draws, bits):
        self.precisions.append(bits)
        return super().step_error(problem, before, after, draws, bits)


@pytest.mark.parametrize("task", TASKS)
def test_an_exact_step_takes_more_digits_only_while_its_radius_is_not_small_next_to_the_bound(
    task, monkeypatch
):
    case, run = logged(task)
    oracle = Counting(case.problem)
    found = StepJudge(case, oracle).run(run)
    precisions, steps = oracle.precisions, exact_steps(found)
    assert precisions == [seen.BITS] * len(steps)
    precisions.clear()
    monkeypatch.setattr(seen, "BITS", 32)
    for again, step in zip(exact_steps(found), steps, strict=True):
        assert again.upper - again.lower <= again.bound * 2.0**-10
        assert again.bound == step.bound
    # A value that is certainly clipped has no radius.
    assert set(precisions) == {32, 64}
    assert precisions.count(32) == len(steps) >= precisions.count(64)


@pytest.mark.parametrize("task", TASKS)
def test_of_a_long_run_whole_segments_are_judged_and_said(task, monkeypatch):
    case, run = logged(task, length=60, s=1)
    monkeypatch.setattr(judged, "BUDGET", 20)
    judge = StepJudge(case, Oracle(case.problem))
    found = judge.run(run)
    assert 20 <= found.judged < run.length == 60
    segments = judge._segments(run)
    assert segments[0][0] == 0
    assert segments[-1][1] == 60
    assert judge._segments(run) == segments
    assert not found.wrong.size


def test_carried_weights_are_judged_whole_whatever_the_budget(monkeypatch):
    monkeypatch.setattr(judged, "BUDGET", 20)
    case, run = logged("svm-l1", KERNELS[0], exchange="gram")
    found = StepJudge(case, Oracle(case.problem)).run(run)
    assert found.judged == 60


@pytest.mark.parametrize("recompute", [0, 3])
@pytest.mark.parametrize("task", TASKS)
def test_weights_that_drift_are_seen_and_right_ones_are_not(task, recompute):
    case, run = logged(task, KERNELS[0], exchange="gram", recompute=recompute)
    assert StepJudge(case, Oracle(case.problem)).run(run).wrong.size == 0
    # A bound that allowed for the drift of a wrong state would allow for this too.
    changed = run.log.copy()
    changed[40:] *= 1.0 + 2.0**-30
    found = StepJudge(case, Oracle(case.problem)).run(
        type(run)(run.s, run.start, run.iterations, run.alphas, log=changed)
    )
    assert found.wrong.size


def terms_of(case, run):
    found = StepJudge(case, Oracle(case.problem)).run(run)
    return {term.name: term for term in step_terms(found, [])}


@pytest.mark.parametrize("task", TASKS)
def test_planned_are_the_steps_whose_quantities_are_looked_at(task, monkeypatch):
    monkeypatch.setattr(judged, "SEGMENT", 2)
    case, run = logged(task, s=1)
    planned = {term.planned for name, term in terms_of(case, run).items() if name != WRITE_BACK}
    assert planned == ({60} if case.problem.is_svm else {5})  # blocks 1, 2, 33, 34 and the last


@pytest.mark.parametrize("loss", [Hinge(1.0), SquaredHinge(1.0)], ids=str)
def test_a_step_on_an_empty_sample_is_decided_and_shows_no_quantity(loss):
    data = np.random.Generator(np.random.PCG64(6)).standard_normal((8, 3))
    data[::2] = 0.0
    problem = Problem("empty", data, np.where(np.arange(8) < 4, 1.0, -1.0), LinearKernel(), loss)
    stream, tested = IndexStream("uniform", 8, 1, 40), ProductionSolver()
    case = Case("empty", problem, stream, (4,), 40, tested.declaration)
    found = StepJudge(case, Oracle(problem)).run(tested.run(RunRequest(problem, stream, 4, 40, log=True)))
    terms = {term.name: term for term in step_terms(found, [])}
    assert found.decided == terms[STALE].decided == 40
    assert 0 < terms[STALE].seen <= np.count_nonzero(stream.blocks(0, 40) % 2)


@pytest.mark.parametrize("task", TASKS)
def test_a_single_window_from_zero_says_why_it_shows_no_stale_product(task):
    stale = terms_of(*logged(task, s=60))[STALE]
    assert stale.status is Status.VACUOUS
    assert stale.why is Why.NO_EFFECT


def test_the_judges_own_value_of_a_step_takes_no_copy_of_the_data():
    generator = np.random.Generator(np.random.PCG64(4))
    data = generator.standard_normal((50, 20_000))
    problem = Problem("large", data, data[:, 0], LinearKernel(), Ridge(2.0))
    tracemalloc.start()
    (value,) = place._own_step(problem, np.zeros(50), np.array([3]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert value == pytest.approx(data[3, 0] / (data[3] @ data[3] / 2.0 + 50), rel=1e-12)
    assert peak < data.nbytes / 4


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_judges_own_values_of_a_block_are_those_of_the_reference(kernel):
    """Also of a block that holds a coordinate twice; of numbers that overflow there are none."""
    generator = np.random.Generator(np.random.PCG64(5))
    data, alpha = generator.standard_normal((9, 4)), generator.standard_normal(9)
    problem = Problem("small", data, generator.standard_normal(9), kernel, Ridge(0.5))
    exact = exact_kernel(problem, Float("float64"))
    for draws in ([4, 1, 7], [4, 1, 4]):
        expected = classical_run(problem, exact, alpha, [draws])[draws]
        np.testing.assert_allclose(place._own_step(problem, alpha, np.array(draws)), expected, rtol=1e-10)
    large = Problem("large", data * 1e200, np.ones(9), LinearKernel(), Ridge(1e-300))
    assert np.isnan(place._own_step(large, alpha, np.array([1, 2]))).all()


def few_drawn(loss):
    """A case of 12 iterations on 60 samples, with its run."""
    generator = np.random.Generator(np.random.PCG64(3))
    data, labels = generator.standard_normal((60, 3)), np.where(generator.random(60) < 0.5, -1.0, 1.0)
    problem = Problem("few", data, labels, KERNELS[2], loss)
    stream, tested = IndexStream("epochs", samples=60, block=1, length=12, seed=0), ProductionSolver()
    case = Case("few", problem, stream, (4,), 12, tested.declaration)
    return case, tested.run(RunRequest(problem, stream, 4, 12, log=True))


def test_exact_steps_of_losses_that_share_an_oracle_are_of_their_own_loss():
    oracle = Oracle(few_drawn(Hinge(C=1.0))[0].problem)
    for loss in (Hinge(C=1.0), SquaredHinge(C=1.0), Hinge(C=0.25)):
        case, run = few_drawn(loss)
        exact = exact_steps(StepJudge(case, oracle).run(run))
        assert {one.status for one in exact} == {Status.PASS}, loss


def test_rows_of_another_scale_that_share_an_oracle_are_of_their_own_loss():
    oracle = Oracle(few_drawn(Hinge(C=1.0))[0].problem)
    for loss in (Hinge(C=1.0), SquaredHinge(C=2.0**-10)):
        case = replace(few_drawn(loss)[0], scaled=True)
        draws = case.stream.blocks(0, 12)
        shared, own = (StepJudge(case, one).rows.of(draws) for one in (oracle, Oracle(case.problem)))
        np.testing.assert_array_equal(shared.table, own.table)


@pytest.mark.parametrize(("length", "rows_formed"), [(12, 12), (200, 60)])
def test_kernel_rows_are_formed_of_drawn_coordinates_once(length, rows_formed, monkeypatch):
    """Twelve of sixty coordinates are drawn, or all; exact steps of a window have rows of their own."""
    generator = np.random.Generator(np.random.PCG64(3))
    data, labels = generator.standard_normal((60, 3)), np.where(generator.random(60) < 0.5, -1.0, 1.0)
    problem = Problem("few", data, labels, KERNELS[2], Hinge(C=1.0))
    stream = IndexStream("epochs", samples=60, block=1, length=length, seed=0)
    tested = ProductionSolver()
    case = Case("few", problem, stream, (4,), length, tested.declaration)
    run = tested.run(RunRequest(problem, stream, 4, length, log=True))
    formed = []

    def counted(problem, declaration, columns, data):
        formed.append((len(columns), data.shape[0]))
        return kernel_entries(problem, declaration, columns, data)

    judge = StepJudge(case, Oracle(problem), form=counted)
    first, second = judge.run(run), judge.run(run)
    assert (first.judged, first.wrong.size, second.judged) == (length, 0, length)
    assert formed == [(rows_formed, rows_formed)]
    judge.exact.step_bounds(run, 5)
    assert formed[1:] == [(2, rows_formed)]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("start", [0.0, 0.25, np.nan])
def test_columns_that_alpha_never_reaches_make_no_difference(task, start, monkeypatch, tmp_path):
    """Some coordinates are drawn; one of the others is 0, another number or none as the run begins."""
    problem, block = problem_of(task, KERNELS[2]), 1 if task != "krr" else 2
    generator = np.random.Generator(np.random.PCG64(7))
    drawn = generator.permutation(problem.samples)[: problem.samples // 2]
    draws = np.array([generator.choice(drawn, block, replace=False) for _ in range(40)])
    np.save(tmp_path / "draws.npy", draws)
    stream = IndexStream("file", problem.samples, block, 40, path=str(tmp_path / "draws.npy"))
    tested = ProductionSolver()
    case = Case("some", problem, stream, (4,), 40, tested.declaration)
    run = tested.run(RunRequest(problem, stream, 4, 40, log=True))
    other = int(np.setdiff1d(np.arange(problem.samples), drawn)[0])
    alphas = run.alphas.copy()
    alphas[:, other] = start
    run = replace(run, alphas=alphas)
    judge = StepJudge(case, Oracle(problem))
    found = judge.run(run)
    first = [other] * (start != 0.0)
    order = list(dict.fromkeys([*first, *draws.ravel().tolist()]))
    assert judge.rows.columns.tolist() == order
    assert np.array_equal(judge.alpha_before(run, 12)[other], start, equal_nan=True)

    monkeypatch.setattr(rows, "stays_small", lambda problem, declaration: False)
    whole = StepJudge(case, Oracle(problem))
    expected = whole.run(run)
    assert whole.rows.columns.size == problem.samples > judge.rows.columns.size
    assert (found.judged, found.decided) == (expected.judged, expected.decided)
    assert (found.decided == 0) == np.isnan(start)
    for iteration in (0, 13, 39):
        np.testing.assert_allclose(
            judge.step_bounds(run, iteration), whole.step_bounds(run, iteration), rtol=1e-9
        )
    np.testing.assert_array_equal(found.tally.events, expected.tally.events)
    np.testing.assert_array_equal(found.tested.seen, expected.tested.seen)
    assert found.wrong.tolist() == expected.wrong.tolist()


def test_parts_of_rows_are_joined_to_what_all_give_at_once(monkeypatch):
    for kernel in KERNELS:
        for declared in (Declaration("any"), Declaration("rows", products="rows")):
            problem = problem_of("svm-l1", kernel)
            every = np.arange(problem.samples)
            whole = kernel_entries(problem, declared, every)
            monkeypatch.setattr(entries, "ENTRIES_AT_ONCE", 3 * problem.samples)
            parts = kernel_entries(problem, declared, every)
            monkeypatch.undo()
            for name in ("values", "judge_error", "solver_error", "term_sizes"):
                np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-13)
            assert parts.more_roundings == whole.more_roundings
            assert np.array_equal(parts.heights, whole.heights)


@pytest.mark.parametrize("seed", range(6))
def test_a_tail_that_moves_by_less_than_is_known_has_no_limit(seed):
    """Of a run that has converged: what its last steps move is rounding, and of no certain size."""
    generator = np.random.Generator(np.random.PCG64(seed))
    data, labels = generator.standard_normal((5, 3)), np.where(generator.random(5) < 0.5, -1.0, 1.0)
    problem = Problem("converged", data, labels, LinearKernel(), SquaredHinge(1.0))
    stream, tested = IndexStream("uniform", 5, 1, 2002, seed=seed), ProductionSolver()
    case = Case("converged", problem, stream, (4,), 2002, tested.declaration)
    run = tested.run(RunRequest(problem, stream, 4, 2002, log=True))
    found = StepJudge(case, Oracle(problem)).run(run)
    limits = found.tested.least[:, step_statistics.TAIL]
    draws, log = found.judge.logged(run, 2000, 2002)
    before = np.array([found.judge.alpha_before(run, k)[i] for k, (i,) in enumerate(draws, 2000)])
    # The values of the judge and of the log are within a bound of each other each.
    moved, bounds = np.abs(log[:, 0] - before), found.tally.bound[-2:]
    assert (moved <= 3.0 * bounds).all()
    assert np.isinf(limits).all()

"""What the judge of steps says it could have seen, and its bounds, against an account of a run made anew.

The account forms whole products from the data of the problem, step by step, and makes each step without each quantity.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from production_runs import KERNELS, problem_of, stream_of

from sstep_verify import quantities as name
from sstep_verify.bounds.step.slack import ridge_slack, svm_slack
from sstep_verify.bounds.step.svm import svm_step_bound, svm_stored_bound
from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.steps import judged
from sstep_verify.checks.steps.judged import StepJudge
from sstep_verify.checks.steps.rows import ERRORS, SIZES
from sstep_verify.checks.steps.tally import EVENTS, NAMES
from sstep_verify.numerics.rounding import gamma
from sstep_verify.oracle.facade import Oracle
from sstep_verify.solver import RunRequest
from sstep_verify.solvers.production import ProductionSolver
from sstep_verify.verdict import SEEN

LENGTH, S = 59, 7
"""With a last window of three steps."""

RUNS = [(task, update) for task in ("svm-l1", "svm-l2", "krr") for update in ("in-place", "frozen")]
POLYNOMIAL, GAUSSIAN = KERNELS[1:]


def judged_run(task, update, kernel=GAUSSIAN):
    """Case, run, what the judge found, and the arguments of its one call."""
    problem, stream, tested = problem_of(task, kernel), stream_of(task), ProductionSolver(update=update)
    if task == "krr":
        problem = replace(problem, targets=problem.targets + 1.0)
    case = Case("effects", problem, stream, (S,), LENGTH, tested.declaration)
    run = tested.run(RunRequest(problem, stream, S, LENGTH, log=True))
    calls, which = [], "judge_svm_steps" if problem.is_svm else "judge_ridge_steps"
    original = getattr(judged, which)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(judged, which, lambda *given: (calls.append(given), original(*given)))
        found = StepJudge(case, Oracle(problem)).run(run)
    (given,) = calls
    return case, run, found, given


def account(case, run):
    """For every step: its block, a before it and at its window's start, the step before, and kernel rows."""
    problem = case.problem
    alpha, data = np.array(run.alphas[0]), np.asarray(problem.data)
    if problem.kernel == GAUSSIAN:
        kernel = np.exp(-problem.kernel.sigma * ((data[:, None] - data[None]) ** 2).sum(axis=2))
    else:
        kernel = (data @ data.T + problem.kernel.offset) ** problem.kernel.degree
    start, before = alpha.copy(), None
    for step, drawn in enumerate(case.stream.blocks(0, run.length)):
        if step % S == 0:
            start = alpha.copy()
        yield step, drawn, alpha.copy(), start, before, kernel
        before = drawn, run.log[step] - alpha[drawn]
        alpha[drawn] = run.log[step]


def svm_steps(case, run, found, given):
    """Per step and quantity: effect of leaving it out and, where the step is free, of a change; the bound."""
    rows, constants, loss, y = given[0], given[4], case.problem.hinge, case.problem.targets
    drawn_so_far: list[int] = []
    for step, (i,), alpha, start, before, kernel in account(case, run):
        drawn_so_far = ([] if step % S == 0 else drawn_so_far) + [i]
        signs = y[i] * y * kernel[i]
        eta, value, made = kernel[i, i] + loss.shift, alpha[i], alpha - start
        slope = signs @ alpha - 1.0 + loss.shift * value
        new = value - slope / eta
        clipped = min(max(new, 0.0), loss.upper)
        free = 0.0 < new < loss.upper
        unclipped = svm_step_bound(
            constants, found.tally.gradient_bound[step, 0], eta, rows.diagonal[i], value, new
        )
        others = signs.copy()
        others[i] = 0.0
        lost = {
            name.STALE: signs @ start,
            name.LABELS: 2.0 * signs @ alpha,
            name.KERNEL: others @ made,
            name.SAME: signs[i] * made[i],
        }
        if loss.shift:
            lost[name.OMEGA] = loss.shift * value
        if before is not None and step % S == 0 and before[0][0] != i:
            lost[name.BOUNDARY] = signs[before[0][0]] * before[1][0]
        wrong = {quantity: value - (slope - part) / eta for quantity, part in lost.items()}
        seen = {quantity: abs(min(max(one, 0.0), loss.upper) - clipped) for quantity, one in wrong.items()}
        small = {quantity: abs(one - new) * free for quantity, one in wrong.items()}
        small[name.LABELS] /= 2.0  # A label left out is one of the other sign: a change of it by 2.
        seen[name.CURVATURE] = abs(min(max(value - slope / (2.0 * eta), 0.0), loss.upper) - clipped)
        small[name.CURVATURE] = abs(slope / eta) * free
        if before is not None and before[0][0] != i:
            seen[name.STREAM], small[name.STREAM] = abs(alpha[before[0][0]] - clipped), 0.0
        if case.declaration.update == "frozen" and drawn_so_far.count(i) > 1:
            seen[name.OVERLAP] = abs(min(max(new - made[i], 0.0), loss.upper) + made[i] - clipped)
            small[name.OVERLAP] = 0.0
        for quantity, beyond in ((name.UPPER, new - loss.upper), (name.LOWER, -new)):
            if beyond > 0.0:
                # What is stored there is known to its own bound, or to the last bit of the end.
                end = loss.upper if quantity == name.UPPER else -new
                sharp = max(found.tally.bound[step], constants.u * end)
                seen[quantity], small[quantity] = (
                    beyond,
                    end * max(unclipped, found.tally.bound[step]) / sharp,
                )
        if step >= LENGTH // S * S:
            seen[name.TAIL] = small[name.TAIL] = abs(clipped - value)
        yield seen, small, max(unclipped, found.tally.bound[step])


def ridge_steps(case, run, found, given):
    """Per step and quantity: what leaving it out, and a change of it, adds to the residual; the bound.

    Both over the bounds, at the entry where that is most; so the bound that is told is 1.
    """
    m, penalty = case.problem.samples, case.problem.ridge.penalty
    accounted = zip(account(case, run), ridge_bounds(case, run, given), strict=True)
    for (step, drawn, alpha, start, before, kernel), (_, left) in accounted:
        rows, made, frozen = kernel[drawn] / penalty, alpha - start, case.declaration.update == "frozen"
        inner, block = rows[:, drawn], drawn.size
        system, moved = inner + m * np.eye(block), run.log[step] - alpha[drawn]
        own = np.diag(inner) * made[drawn]
        diagonal = np.diag(np.diag(inner))
        in_samples = min(m * alpha[drawn], m * moved, key=np.linalg.norm)
        added = {
            name.STALE: (rows @ start, 1.0),
            name.CURVATURE: (system @ moved, 0.5),
            name.SAMPLES: (in_samples, 1.0),
            name.PENALTY: (rows @ alpha + inner @ moved, 0.5),
            name.KERNEL: (rows @ made - own, 1.0),
            name.SAME: (own, 1.0),
            name.OFF_DIAGONAL: ((inner - diagonal) @ moved, m / np.diag(system).max()),
        }
        if frozen:
            added[name.OVERLAP] = (m * made[drawn], 1.0)
        if before is not None:
            last, increment = before
            added[name.STREAM] = (system @ (run.log[step] - alpha[last]), 1.0)
            if step % S == 0:
                told = [sum(row[j] * d for j, d in zip(last, increment, strict=True) if j != i)
                        for row, i in zip(rows, drawn, strict=True)]  # fmt: skip
                added[name.BOUNDARY] = (np.array(told), 1.0)
        if step >= LENGTH // S * S:
            added[name.TAIL] = (system @ moved, 1.0)
        small = {quantity: np.max(np.abs(part) / left) for quantity, (part, _) in added.items()}
        # Where the system is another one, it is not known which entries of the effect are left.
        norms = {q: np.linalg.norm(part) / np.linalg.norm(left) for q, (part, _) in added.items()}
        elsewhere = (name.SAMPLES, name.PENALTY, name.OFF_DIAGONAL)
        seen = {q: share * (norms if q in elsewhere else small)[q] for q, (_, share) in added.items()}
        yield seen, small, 1.0


@pytest.mark.parametrize(
    ("task", "update", "kernel"),
    [
        *((task, update, GAUSSIAN) for task, update in RUNS),
        ("krr", "in-place", POLYNOMIAL),
        ("svm-l1", "frozen", POLYNOMIAL),
    ],
)
def test_effects_are_those_of_steps_made_without_the_quantity(task, update, kernel):
    case, run, found, given = judged_run(task, update, kernel)
    assert found.first_wrong is None
    assert found.decided == LENGTH
    of_task = svm_steps if case.problem.is_svm else ridge_steps
    steps = [
        ({q: one / bound for q, one in seen.items()}, {q: one / bound for q, one in small.items()})
        for seen, small, bound in of_task(case, run, found, given)
    ]
    tally = found.tally
    for number, quantity in enumerate(NAMES):
        effects = np.array([seen.get(quantity, 0.0) for seen, _ in steps])
        changes = np.array([small.get(quantity, 0.0) for _, small in steps])
        assert tally.seen[number] == np.count_nonzero(effects > SEEN), quantity
        if effects.max() > SEEN:
            np.testing.assert_allclose(tally.effect[number], effects.max(), rtol=1e-6, err_msg=quantity)
        np.testing.assert_allclose(tally.relative[number], changes.max(), rtol=1e-6, err_msg=quantity)
    assert tally.planned[0] == tally.looked[0] == LENGTH


@pytest.mark.parametrize("task", ["svm-l1", "svm-l2", "krr"])
def test_events_are_counted_where_they_happen(task):
    case, run, found, _ = judged_run(task, "in-place")
    happened: dict[str, list[int]] = {event: [] for event in EVENTS}
    times: dict[int, int] = {}
    for step, drawn, *_ in account(case, run):
        times = {} if step % S == 0 else times
        for i in drawn:
            times[i] = times.get(i, 0) + 1
        most = max(times[i] for i in drawn)
        logged = run.log[step, 0]
        ends = case.problem.is_svm and logged in (0.0, case.problem.hinge.upper)
        happened["clip low" if ends and logged == 0.0 else "clip high" if ends else "free"].append(step)
        happened["repeated"] += [step] * (most > 1)
        happened["thrice or more"] += [step] * (most > 2)
        happened["tail"] += [step] * (step >= LENGTH // S * S)
    assert found.tally.events.tolist() == [len(happened[event]) for event in EVENTS]
    assert found.tally.first.tolist() == [(happened[event] or [-1])[0] for event in EVENTS]


def summed(constants, a, begun, made, drawn=None):
    """gamma of a step's sum: what was not 0 at the window's start, the corrections made, and what is not 0."""
    count, more = constants.roundings, 0 if drawn is None else drawn
    solver, judge = np.count_nonzero(begun) + made + more + count.others, np.count_nonzero(a)
    return gamma(solver, count.u) + gamma(judge + count.own_others, count.own)


def svm_bounds(case, run, given):
    """Per step: bound on the gradient, and on the value that is stored."""
    rows, constants, loss, y = given[0], given[4], case.problem.hinge, case.problem.targets
    moved = bounded = slack = np.zeros(case.problem.samples)
    times = np.zeros(case.problem.samples, dtype=int)
    for step, (i,), alpha, start, _, kernel in account(case, run):
        if step % S == 0:
            moved, bounded = np.abs(alpha), np.abs(alpha)
            times, slack = np.zeros_like(times), np.zeros_like(slack)
        times[i] += 1
        each = summed(constants, alpha, start, step % S)
        eta, value = kernel[i, i] + loss.shift, alpha[i]
        error = rows.table[i, SIZES] @ (each * bounded + slack) + rows.table[i, ERRORS] @ bounded
        error += (
            each * (1.0 + loss.shift * moved[i]) + constants.underflow + constants.shift_error * moved[i]
        )
        new = value - (y[i] * (kernel[i] @ (y * alpha)) - 1.0 + loss.shift * value) / eta
        unclipped = svm_step_bound(constants, error, eta, rows.diagonal[i], value, new)
        yield error, svm_stored_bound(constants, unclipped, times[i], moved[i], value, new, loss.upper)
        change = abs(run.log[step, 0] - value)
        used = svm_slack(constants, times[i], moved[i], change, run.log[step, 0])
        moved[i] += change
        bounded[i] += change + used
        slack[i] += used


def ridge_bounds(case, run, given):
    """Per step: bounds on the right-hand side, and on the entries of the residual."""
    rows, inputs, c = given[0], given[3], given[4]
    m, penalty, y = case.problem.samples, case.problem.ridge.penalty, case.problem.targets
    moved = bounded = slack = np.zeros(m)
    times = np.zeros(m, dtype=int)
    for step, drawn, alpha, start, _, kernel in account(case, run):
        if step % S == 0:
            moved, bounded = np.abs(alpha), np.abs(alpha)
            times, slack = np.zeros_like(times), np.zeros_like(slack)
        made = np.count_nonzero(times) if c.summed else step % S * drawn.size
        each = summed(c, alpha, start, made, times.max())
        times[drawn] += 1
        weighed = each * bounded + slack
        error = (
            rows.table[drawn, SIZES] @ weighed + rows.table[drawn, ERRORS] @ bounded + m * weighed[drawn]
        )
        error += each * np.abs(y[drawn])
        lost = c.underflow * (1.0 + 1.0 / inputs.least)
        inner = np.ix_(drawn, drawn)
        system = kernel[inner] / penalty + m * np.eye(drawn.size)
        sizes = np.abs(system) + rows.table[:, ERRORS][inner]
        increment = run.log[step] - alpha[drawn]
        rounding = np.array(
            [
                ridge_slack(c, times[i], moved[i], abs(d), log)
                for i, d, log in zip(drawn, increment, run.log[step], strict=True)
            ]
        )
        reach, factor = np.abs(increment) + rounding, np.abs(np.linalg.cholesky(system))
        left = error + (rows.system[inner] + c.system * sizes) @ reach + sizes @ rounding
        left += (rows.own[inner] / penalty + c.judge * np.abs(system)) @ np.abs(increment)
        left += c.solve * (factor @ (factor.T @ reach))
        off = np.linalg.norm(rows.system[inner]) + 2 * c.system * np.linalg.norm(sizes)
        trace = np.trace(sizes)
        doubt = 2.0 * (off + np.linalg.norm(rows.own[inner] / penalty)) + c.doubt * trace
        shared = 8.0 * c.solve * doubt / (m - doubt) * trace * np.linalg.norm(reach)
        shared += (lost + c.underflow * c.growth * trace) * drawn.size
        yield error + lost, left + shared
        moved[drawn] += np.abs(increment)
        bounded[drawn] += np.abs(increment) + rounding
        slack[drawn] += rounding


@pytest.mark.parametrize(("task", "update"), RUNS)
@pytest.mark.parametrize("kernel", [GAUSSIAN, POLYNOMIAL])
def test_bounds_are_those_of_what_moved_so_far(task, update, kernel):
    case, run, found, given = judged_run(task, update, kernel)
    of_task = svm_bounds if case.problem.is_svm else ridge_bounds
    for step, (gradient, *bounds) in enumerate(of_task(case, run, given)):
        np.testing.assert_allclose(found.tally.gradient_bound[step], gradient, rtol=1e-6)
        if case.problem.is_svm:
            np.testing.assert_allclose([found.tally.bound[step]], bounds, rtol=1e-6)
            continue
        assert np.isclose(found.tally.bound[step], *bounds, rtol=1e-6).any()

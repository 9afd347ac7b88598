"""Blocks that hold a coordinate several times: correct runs stay within the bounds, and mistakes do not."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from admissible_runs import LONGEST, OWN, by_all_checks, by_window_and_steps
from daily import crossed

from sstep_verify import CallableSolver, judge
from sstep_verify.adapters.reference import ReferenceSolver
from sstep_verify.checks.shared.case import Case
from sstep_verify.declaration import Declaration
from sstep_verify.problems import IndexStream, LinearKernel, PolynomialKernel, Problem, RBFKernel, Ridge
from sstep_verify.quantities import CURVATURE, KERNEL, SAME, STALE
from sstep_verify.recurrence.mutation import NONE, TERMS
from sstep_verify.rounding.block.repeats import growth, most_often, redrawn, repeats_of
from sstep_verify.solver import ProductionSolver
from sstep_verify.verdict import Status
from studies.admissible.solver import AdmissibleSolver, draw
from studies.false_positives.groups import verdicts_of

DRAWS = int(os.environ.get("SSTEP_VERIFY_DRAWS", "150"))
"""Problems over the whole exponent range, of which a third is a K-RR of two samples or more."""

FEW = 60
"""Problems by day."""

KERNELS = LinearKernel(), PolynomialKernel(2, 1.0), RBFKernel(0.4)


def drawn_solvers(seeds):
    """Solvers of every declared form, and a window of blocks drawn with replacement, by seed."""
    for seed in seeds:
        solver, case = draw(seed)
        samples = case.problem.samples
        if case.problem.is_svm or samples < 2:
            continue
        block = 2 + seed % (samples - 1)
        stream = IndexStream("mt19937", samples, block, case.iterations, seed=seed, replacement=True)
        yield seed, solver, replace(case, stream=stream)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("draws", [FEW, pytest.param(DRAWS, marks=pytest.mark.nightly)])
def test_no_correct_window_and_no_step_of_it_is_failed(draws):
    counts, largest, repeated = Counter(), dict.fromkeys(OWN, 0.0), 0
    for seed, solver, case in drawn_solvers(range(draws)):
        told = list(by_window_and_steps(solver, case).values())
        told += by_all_checks(solver, case, 1 + seed % LONGEST) if seed % 4 == 0 else []
        repeated += int(most_often(case.stream.blocks(0, case.stream.length)).max() > 1)
        for one in told:
            assert one.status is not Status.FAIL, (seed, one.check, one.reason, solver)
            counts[one.check, one.status] += 1
            if one.check in OWN and one.status is Status.PASS:
                largest[one.check] = max(largest[one.check], one.ratio)
    print(f"{dict(counts)}; {repeated} with a repeat; largest ratios {largest}")
    assert repeated > draws // 5
    for check in OWN:
        assert counts[check, Status.PASS] > draws // 16
        # A bound that no run comes near would pass whatever is wrong.
        assert largest[check] > 1e-2


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_of_a_window_that_overflows_nothing_is_promised():
    ((_, solver, case),) = drawn_solvers([709])
    told = by_window_and_steps(solver, case)
    assert {name: one.status for name, one in told.items()} == dict.fromkeys(OWN, Status.VACUOUS)


def case_of(block: int, solver, s: int = 4, samples: int = 9) -> Case:
    """A case of some block size, on which every quantity can show."""
    generator = np.random.Generator(np.random.PCG64(block))
    data, targets = generator.standard_normal((samples, 3)), generator.standard_normal(samples)
    problem = Problem("repeats", data, targets, KERNELS[block % 3], Ridge(0.3))
    stream = IndexStream("mt19937", samples, block, 30, seed=block, replacement=True)
    return Case(problem.name, problem, stream, (1, s), 30, solver.declaration, points={s: (s, 30)})


SOLVERS = {
    "in place": ProductionSolver(),
    "frozen": ProductionSolver(update="frozen"),
    "reference": ReferenceSolver("float64", "sstep"),
    "single": ReferenceSolver("float32", "classical"),
    "lu": AdmissibleSolver(Declaration("lu", factorisation="lu", log=True), "pairwise"),
    "orthogonal": AdmissibleSolver(Declaration("svd", factorisation="orthogonal", log=True), "sequential"),
}


@pytest.mark.parametrize(
    "block",
    [pytest.param(one, marks=[pytest.mark.nightly] * (one not in (2, 5))) for one in range(2, 9)],
)
def test_correct_runs_pass_at_every_block_size(block):
    for name, solver in list(SOLVERS.items())[block % 2 :: 2]:
        case = case_of(block, solver)
        assert most_often(case.stream.blocks(0, 30)).max() > 1
        told = verdicts_of(
            case, solver, ["step-replay", "window-replay", "trajectory", "sstep-equals-classical"]
        )
        found = {(one.check, one.s): one for one in told[0]}
        for (check, s), one in found.items():
            # Of float32 the ends of few windows show little.
            few = name == "single" and check != "step-replay"
            wanted = {Status.PASS, Status.VACUOUS} if few else {Status.PASS}
            assert one.status in wanted, (name, check, s, one.reason)
        assert found["step-replay", 4].executed == 30


@pytest.mark.parametrize(("block", "weights"), crossed([2, 4, 7], [0, 2], of=2))
def test_every_step_from_maintained_weights_is_judged(block, weights):
    update = "frozen" if block == 4 else "in-place"
    solver = AdmissibleSolver(Declaration("w", update=update, weights=weights, log=True), "sequential")
    case = case_of(block, solver)
    case = replace(case, problem=replace(case.problem, kernel=LinearKernel()))
    assert most_often(case.stream.blocks(0, 30)).max() > 1
    for one in verdicts_of(case, solver, ["step-replay", "residual-gap"])[0]:
        assert one.status is Status.PASS, one.reason
        assert one.check == "residual-gap" or one.executed == 30


PLANTED = STALE, CURVATURE, KERNEL, SAME
BLOCKS = 2, 3, 6


@pytest.mark.parametrize(
    ("check", "quantity", "block"),
    [
        pytest.param(check, quantity, block, marks=[pytest.mark.nightly] * ((one + two + three) % 3 != 0))
        for one, check in enumerate(OWN)
        for two, quantity in enumerate(PLANTED)
        for three, block in enumerate(BLOCKS)
    ],
)
def test_an_error_beyond_the_limit_of_its_quantity_fails(check, quantity, block):
    update = "frozen" if block == 3 else "in-place"
    declared = Declaration("mine", update=update, log=check == "step-replay")
    right = AdmissibleSolver(declared, "sequential")
    case = replace(case_of(block, right), diagnose=False)
    (first, second), _ = verdicts_of(case, right, [check])
    limit = next(one.detection_limit for one in second.terms if one.name == quantity)
    assert (first.s, second.s) == (1, 4)
    assert 0.0 < limit < 1e-11
    for sign in (1, -1):
        planted = NONE.scaled(TERMS[quantity], 1 + sign * 3 * limit, "dosed")
        told = verdicts_of(case, AdmissibleSolver(declared, "sequential", planted=planted), [check])[0]
        assert told[1].status is Status.FAIL


@pytest.mark.usefixtures("unexplained")
@pytest.mark.parametrize(("oracle", "factor"), crossed(["arb", "mpmath"], [1, 2], of=2))
def test_both_oracles_judge_them_alike(oracle, factor):
    checks = ("step-replay", "window-replay", "trajectory")
    planted = replace(NONE, curvature=factor)
    solver = AdmissibleSolver(Declaration("mine", log=True), "sequential", planted=planted)
    case = case_of(4, solver, s=3)
    told = judge(solver, case.problem, case.stream, 3, checks=checks, oracle=oracle)
    wanted = Status.PASS if factor == 1 else Status.FAIL
    assert {one.check: one.status for one in told if one.check in checks} == dict.fromkeys(checks, wanted)


def buffered(seen):
    """K-RR whose ``alpha[block] += D``, of NumPy, keeps the last increment of a coordinate drawn twice.

    ``alpha`` is updated in place, or (`stored`) at the window's end. Its corrections are made from the
    increments that were solved for, or (`products`) from those that were stored.
    """

    def solver(problem, blocks, s, a0, log=None):
        data, weight, m = problem.dense, problem.ridge.penalty, problem.samples
        kernel, y, alpha = data @ data.T / weight, problem.targets, a0.copy()
        for begin in range(0, len(blocks), s):
            window, old, solved = blocks[begin : begin + s], alpha.copy(), []
            for place, block in enumerate(window):
                right = y[block] - kernel[block] @ old - m * alpha[block]
                for earlier, increment in solved:
                    right -= kernel[np.ix_(block, earlier)] @ increment
                    if seen == "stored":
                        right -= m * (block[:, None] == earlier) @ increment
                increment = np.linalg.solve(kernel[np.ix_(block, block)] + m * np.eye(block.size), right)
                before = alpha[block]
                if seen != "stored":
                    alpha[block] += increment
                if log is not None:
                    log[begin + place] = alpha[block]
                if seen == "products":
                    block, first = np.unique(block, return_index=True)
                    increment = alpha[block] - before[first]
                solved.append((block, increment))
            for earlier, increment in solved if seen == "stored" else ():
                alpha[earlier] += increment
        return alpha

    return solver


@pytest.mark.parametrize(
    ("seen", "check", "s"),
    crossed(
        [
            ("values", "step-replay"),
            ("products", "step-replay"),
            ("values", "window-replay"),
            ("products", "window-replay"),
            ("stored", "window-replay"),
            ("stored", "trajectory"),
        ],
        [1, 4, 7],
        of=3,
        flat=True,
    ),
)
def test_increments_that_a_buffered_addition_loses_are_named_at_every_s(seen, check, s):
    declared = Declaration(
        "buffered", update="frozen" if seen == "stored" else "in-place", log=check == "step-replay"
    )
    solver = CallableSolver(buffered(seen), declared)
    case = case_of(3, solver)
    problem = replace(case.problem, kernel=LinearKernel())
    verdict = judge(solver, problem, case.stream, s, checks=[check])[-1]
    assert (verdict.check, verdict.status) == (check, Status.FAIL)
    assert [one.names for one in verdict.defects] == [("assigned-once",)]
    assert verdict.requirements == ("S-3.6",)


def test_a_step_on_draws_is_one_on_their_coordinates():
    generator = np.random.Generator(np.random.PCG64(4))
    for _ in range(200):
        samples, block = int(generator.integers(2, 7)), int(generator.integers(2, 8))
        draws = generator.integers(samples, size=block)
        rows = generator.standard_normal((samples, 2)) * 10.0 ** generator.integers(-2, 2)
        kernel = rows @ rows.T
        repeats = repeats_of(draws)
        summed = np.zeros((repeats.distinct.size, block))
        summed[repeats.place, np.arange(block)] = 1.0
        assert repeats.distinct[repeats.place].tolist() == draws.tolist()
        assert summed.sum(axis=1).tolist() == repeats.counts.tolist()
        own = kernel[np.ix_(repeats.distinct, repeats.distinct)]
        system = summed.T @ own @ summed + samples * np.eye(block)
        whole = own + np.diag(samples / repeats.counts)
        np.testing.assert_allclose(
            summed @ np.linalg.solve(system, summed.T), np.linalg.inv(whole), rtol=1e-9, atol=1e-12
        )
        # In the M-norm: M^(1/2) (I - E N^-1 E' M) M^(-1/2).
        matrix = kernel + samples * np.eye(samples)
        chosen = np.eye(samples)[:, repeats.distinct]
        values, vectors = np.linalg.eigh(matrix)
        root = vectors * np.sqrt(values) @ vectors.T
        moved = root @ chosen @ np.linalg.solve(whole, chosen.T) @ root
        most = int(most_often(draws[None])[0])
        assert most == repeats.counts.max()
        assert np.abs(np.linalg.eigvalsh(np.eye(samples) - moved)).max() <= growth(most) * (1 + 1e-9)
        assert np.linalg.eigvalsh(moved).max() <= most * (1 + 1e-9)


def test_two_blocks_that_share_a_coordinate_are_distinguished_from_one_that_repeats_it():
    assert not redrawn([[0, 0, 1], [2, 3, 2]])
    assert redrawn([[0, 1], [2, 1]])

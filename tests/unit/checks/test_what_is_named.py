"""What checks name where something is wrong: conventions, mistakes, causes, ends of the box."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from judged import judged, named_case
from production_runs import KERNELS, problem_of

from sstep_verify import CallableSolver, judge
from sstep_verify.checks import box, contract, optimum
from sstep_verify.checks.metamorphic import relations
from sstep_verify.checks.metamorphic.scaling_range import kernel_span
from sstep_verify.checks.shared.case import plain_request, run_key
from sstep_verify.declaration import Declaration
from sstep_verify.diagnosis import kernel_rows, other_problems
from sstep_verify.diagnosis.conventions import Answer, scaled
from sstep_verify.diagnosis.other_problems import DEGREE_LESS, DEGREE_MORE, mistaken_problems, other_kernel
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
from sstep_verify.quantities import LOWER, UPPER
from sstep_verify.solver import ProductionSolver
from sstep_verify.verdict import NoteKind, Status

DATA = np.array([[1.0, 0.5], [0.25, 2.0], [0.0, 0.0]])
ALPHA = np.array([0.5, 0.25, 0.125])


def problem_with(loss, kernel=None, targets=(1.0, -1.0, 1.0)):
    return Problem("few numbers", DATA, np.array(targets), kernel or LinearKernel(), loss)


@pytest.mark.parametrize("many", [True, False])
def test_large_data_are_not_copied_for_other_labels(many, monkeypatch):
    problem = problem_of("svm-l1", KERNELS[2])
    plain = mistaken_problems(problem)
    rows = kernel_rows.mistaken_rows(problem)
    assert len(rows) > 1
    words = problem.samples * problem.features
    for module in (other_problems, kernel_rows):
        monkeypatch.setattr(module, "MOST_WORDS", words - many)
    assert (len(mistaken_problems(problem)) == len(plain)) == (not many)
    assert (len(kernel_rows.mistaken_rows(problem)) == len(rows)) == (not many)


def test_conventions_of_the_width_are_reported_with_their_width():
    kernel = RBFKernel(0.3)
    problem = problem_with(Hinge(1.0), kernel)
    widths = {
        "2*sigma": 0.6, "sigma/2": 0.15, "1/sigma": 1 / 0.3, "1/sigma^2": 1 / 0.09, "1/(2*sigma^2)": 1 / 0.18,
        "1/(2*sigma)": 1 / 0.6, "sigma/n": 0.15, "1/n": 0.5,
    }  # fmt: skip
    told = {one.detail[1]: one.problem for one in other_kernel(problem)}
    assert {how: one.kernel.sigma for how, one in told.items()} == pytest.approx(widths, rel=1e-12)


def test_conventions_of_a_power_are_reported():
    problem = problem_with(Hinge(1.0), PolynomialKernel(3, 0.5))
    kernels = [one.problem.kernel for one in other_kernel(problem)]
    told = [one.detail for one in other_kernel(problem)]
    assert told[::2][:2] == [("degree", "", 2, 3), ("offset", "", 0.0, 0.5)]
    assert {(one.degree, one.offset) for one in kernels[:-1]} == {(2, 0.5), (4, 0.5), (3, 0.0), (3, 1.0)}
    assert kernels[-1] == PolynomialKernel(3, 0.5)


@pytest.mark.parametrize("update", ["in-place", "frozen"])
def test_the_limit_that_is_violated_is_named(update):
    case, tested = named_case(Hinge(0.1), s_values=(16,), solver=ProductionSolver(update=update))
    for upper in (True, False):

        def change(run, upper=upper):
            alphas = run.alphas.copy()
            alphas[1, 3] = 0.2 if upper else -0.1
            return replace(run, alphas=alphas)

        verdict = judged(box, case, tested, change)[16]
        assert verdict.status is Status.FAIL
        assert verdict.requirement == ("S-3.9" if upper else "S-3.8")
        assert verdict.place is not None
        assert (verdict.place.coordinate, verdict.place.found) == (3, 0.2 if upper else -0.1)
        assert verdict.place.end > 0


@pytest.mark.parametrize(("end", "beyond"), [(LOWER, -1e-4), (UPPER, 0.1 + 1e-4)])
def test_what_is_tolerated_next_to_the_box_is_tolerated_at_both_ends(end, beyond):
    case, tested = named_case(Hinge(0.1), s_values=(4,))

    def change(run):
        alphas = run.alphas.copy()
        alphas[1, 3] = beyond
        return replace(run, alphas=alphas)

    for claimed, status in ((2e-4, Status.PASS), (0.5e-4, Status.FAIL)):
        verdict = judged(box, replace(case, claims={"box": claimed}), tested, change)[4]
        assert verdict.status is status, (end, verdict.reason)


def test_below_zero_nothing_is_allowed_for_the_rounding_of_c():
    case, tested = named_case(Hinge(0.1), s_values=(4,))
    case = replace(case, declaration=replace(case.declaration, precision="float32"))
    room = float(np.float32(0.1)) - 0.1

    def change(run):
        alphas = run.alphas.astype(np.float32)
        alphas[1, 3] = -room / 2
        return replace(run, alphas=alphas)

    assert judged(box, case, tested, change)[4].status is Status.FAIL


def test_the_span_of_entries_goes_down_to_the_smallest():
    problem = Problem("far", np.array([[0.0], [3.0]]), np.ones(2), RBFKernel(1.0), Hinge(1.0))
    found = kernel_span(problem, Declaration("any"), np.arange(2))
    assert found.low <= int(np.floor(np.log2(np.exp(-9.0)))) <= found.low + 1
    assert found.high == 1


def test_degrees_off_by_one_are_tried():
    problem = problem_with(Hinge(1.0), PolynomialKernel(4, 0.5))
    tried = {
        one.problem.kernel.degree
        for one in mistaken_problems(problem)
        if one.name in (DEGREE_LESS, DEGREE_MORE)
    }
    assert tried == {3, 5}


@pytest.mark.parametrize(("factor", "told"), [(1.0, False), (1.005, False), (1.5, True)])
def test_a_factor_is_reported_where_it_is_none_of_the_known_ones(factor, told):
    optimum = np.array([0.5, 0.25, 0.75, 0.125])
    problem = Problem("four", np.eye(4), np.array([1.0, -1.0, 1.0, 1.0]), LinearKernel(), Hinge(3.0))
    readings = list(scaled(Answer(problem, factor * optimum, np.zeros(4), optimum, 1e-8)))
    assert any(len(one.detail) == 1 for one in readings) == told


@pytest.mark.parametrize("kernel", [LinearKernel(), RBFKernel(0.5)])
@pytest.mark.parametrize("loss", [Hinge(0.5), Ridge(0.05)])
def test_what_is_scaled_up_is_larger_and_what_is_scaled_down_smaller(loss, kernel):
    case, _ = named_case(loss, kernel, s_values=(4,))
    found = {one.name: one for one in relations.same_bits(case)}
    for part in ("data", "targets") if isinstance(loss, Ridge) else ("data",):
        for way, sign in (("up", 1), ("down", -1)):
            relation = found[f"{part}-{way}"]
            assert relation.why is None
            changed, original = (
                np.linalg.norm(one.dense if part == "data" else one.targets)
                for one in (relation.transformed.problem, case.problem)
            )
            assert (changed / original - 1.0) * sign > 0


def test_several_violations_are_listed_and_the_first_names_its_requirement():
    case, tested = named_case(Hinge(1.0), s_values=(4,))
    run = tested.run(plain_request(case, 4))
    alphas = run.alphas.copy()
    alphas[0, 0] = 0.5
    wrong = replace(run, alphas=alphas[:-1], iterations=run.iterations[:-1])
    (verdict,) = contract.judge(case, {run_key(4): wrong}, None)
    assert verdict.status is Status.FAIL
    assert [one.item for one in verdict.violations] == ["length", "first a"]
    assert verdict.requirement == "S-2.3"


@pytest.mark.parametrize("loss", [Hinge(1.0), Ridge(0.05)])
def test_one_start_is_planned_and_tried_for_an_optimum(loss):
    case, tested = named_case(loss, RBFKernel(0.5), s_values=(4,), iterations=400)
    verdict = judged(
        optimum,
        replace(case, claims={"tolerance": 1e-3}, told=True),
        tested,
        lambda run: replace(run, stopped="tolerance"),
    )[4]
    (term,) = verdict.terms
    assert (term.planned, term.decided) == (1, 1)


@pytest.mark.parametrize("size", [None, 0.01])
@pytest.mark.parametrize("loss", [Hinge(1.0), SquaredHinge(1.0), Ridge(0.05)])
def test_what_an_optimum_is_judged_by_are_plain_numbers(loss, size):
    """Also where what was written down is most of the bound, which multiplies a list by the answer."""
    case, tested = named_case(loss, RBFKernel(0.5), s_values=(4,), iterations=400)

    def ended(run):
        rounding = None if size is None else np.full(run.alphas.shape, size)
        return replace(run, stopped="tolerance", rounding=rounding)

    verdict = judged(optimum, replace(case, claims={"tolerance": 1e-3}, told=True), tested, ended)[4]
    assert {type(value) for value in (verdict.ratio, verdict.measured, verdict.bound)} == {float}
    assert {type(term.detection_limit) for term in verdict.terms} == {float}
    assert (NoteKind.ROUNDED in [note.kind for note in verdict.notes]) == (size is not None)


def unclipped(problem, blocks, s, a0, log, lower):
    """K-SVM-L1 without an upper end of the box; without a lower one either unless that is `lower`."""
    signed = problem.dense * problem.targets[:, None]
    Q, alpha = signed @ signed.T, a0.copy()
    for step, i in enumerate(blocks[:, 0]):
        alpha[i] = log[step, 0] = max(alpha[i] - (Q[i] @ alpha - 1) / Q[i, i], lower)
    return alpha


@pytest.mark.parametrize("lower", [0.0, -np.inf])
def test_a_defect_that_reproduces_most_wrong_steps_is_not_said_to_reproduce_all(lower):
    generator = np.random.Generator(np.random.PCG64(16))
    data, labels = generator.standard_normal((20, 5)), np.where(generator.random(20) < 0.5, -1.0, 1.0)
    problem = Problem("no clip", data, labels, LinearKernel(), Hinge(0.05))
    stream = IndexStream("uniform", samples=20, block=1, length=300, seed=0)
    runs = []

    def solve(*given):
        runs.append(given[4])
        return unclipped(*given, lower)

    verdicts = judge(CallableSolver(solve, Declaration("no clip", log=True)), problem, stream, s=1)
    (found,) = (one for one in verdicts if one.check == "step-replay")
    (defect,) = found.defects
    log = next(run for run in runs if len(run) == 300)
    above, below = (log > 0.05).sum(), (log < 0.0).sum()
    assert defect.names == ("upper-end left out",)
    assert found.evidence["steps_over_bound"] == above + below
    assert (below > 0) == (lower < 0.0)
    assert defect.part == ((above, above + below) if below else None)

"""The check claim-honesty: values evaluated in any correct way pass, any other value fails."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from daily import some
from judged import assert_teaches, judged, named_case, small_case

from sstep_verify.checks.recorded import claim_honesty as check
from sstep_verify.measures import GapMeasure
from sstep_verify.oracle.balls.objectives import exact_values
from sstep_verify.problems import Hinge, LinearKernel, PolynomialKernel, RBFKernel, Ridge, SquaredHinge
from sstep_verify.trajectory import Claim
from sstep_verify.verdict import Hint, HintKind, Status, Why

LOSSES = [Hinge(0.5), SquaredHinge(2.0), Ridge(0.05)]
KERNELS = [LinearKernel(), PolynomialKernel(3, 0.5), RBFKernel(0.3)]


def _true_claims(problem, alpha, iterations):
    """What a straightforward solver would report, in float64."""
    measure = GapMeasure(problem)
    _, primal, dual = measure(alpha)
    claims = {"gap": primal - dual, "primal": primal, "dual": dual, "objective": -dual}
    if not problem.is_svm:
        residual = (
            problem.targets - measure.products(alpha) / problem.ridge.penalty - problem.samples * alpha
        )
        claims["residual"] = float(np.linalg.norm(residual))
    return claims | {"iterations": iterations}


def _claiming(case, change=lambda name, value: value, rounding=0.0, only=None):
    def add(run):
        claims = _true_claims(case.problem, run.final.astype(np.float64), run.length)
        chosen = {name: value for name, value in claims.items() if only in (None, name)}
        return dataclasses.replace(
            run, claims={name: Claim(change(name, value), rounding) for name, value in chosen.items()}
        )

    return add


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_true_values_pass(loss, kernel):
    case, tested = small_case(loss, kernel)
    verdicts = judged(check, case, tested, change=_claiming(case))
    assert sorted(verdicts) == [1, 4, 16]
    for verdict in verdicts.values():
        assert verdict.status is Status.PASS
        assert verdict.executed == verdict.planned == (6 if isinstance(loss, Ridge) else 5)


NAMES = ["gap", "primal", "dual", "objective", "iterations"]


@pytest.mark.parametrize(
    ("loss", "name"), [(loss, name) for loss in LOSSES for name in NAMES] + [(LOSSES[-1], "residual")]
)
def test_every_value_is_judged(loss, name):
    case, tested = small_case(loss, s_values=(4,))
    lie = _claiming(case, lambda name, value: value * (1 + 1e-9), only=name)
    verdict = judged(check, case, tested, change=lie)[4]
    assert verdict.status is Status.FAIL
    assert verdict.place.item == name
    assert_teaches(verdict)


def test_printed_decimals_are_a_rounding_error():
    case, tested = small_case(Hinge(0.5), s_values=(4,))
    printed = lambda name, value: round(value, 6)  # noqa: E731
    exact = judged(check, case, tested, change=_claiming(case, printed, only="dual"))
    rounded = judged(check, case, tested, change=_claiming(case, printed, 5e-7, only="dual"))
    assert exact[4].status is Status.FAIL
    assert rounded[4].status is Status.PASS


def test_a_value_in_float32_passes_as_float32_only():
    case, tested = small_case(SquaredHinge(2.0), s_values=(4,))
    narrow = _claiming(case, lambda name, value: float(np.float32(value)), only="dual")
    declared = dataclasses.replace(case.declaration, precision="float32")
    assert judged(check, case, tested, change=narrow)[4].status is Status.FAIL
    honest = dataclasses.replace(case, declaration=declared)
    assert judged(check, honest, tested, change=narrow)[4].status is Status.PASS


def test_a_gap_at_the_level_of_rounding_is_decided_in_balls():
    case, tested = small_case(Ridge(0.05), s_values=(4,), iterations=4000)
    verdict = judged(check, case, tested, change=_claiming(case))[4]
    assert verdict.status is Status.PASS
    assert verdict.executed == verdict.planned


def test_longdouble_vectors_are_taken_exactly():
    case, tested = small_case(Hinge(0.5), s_values=(4,))
    shift = np.longdouble(1) - np.longdouble(2) ** -60

    def wide(run):
        return _claiming(case)(dataclasses.replace(run, alphas=run.alphas.astype(np.longdouble) * shift))

    assert judged(check, case, tested, change=wide)[4].status is Status.PASS


def test_a_value_of_an_unknown_name_is_inconclusive():
    case, tested = small_case(Hinge(0.5), s_values=(4,))
    odd = lambda run: dataclasses.replace(run, claims={"elegance": Claim(1.0)})  # noqa: E731
    verdict = judged(check, case, tested, change=odd)[4]
    assert verdict.status is Status.INCONCLUSIVE
    assert verdict.executed == 0


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_value_that_is_not_finite_fails(value):
    case, tested = small_case(Hinge(0.5), s_values=(4,))
    lie = _claiming(case, lambda name, _: value, only="gap")
    assert judged(check, case, tested, change=lie)[4].status is Status.FAIL


def test_a_value_that_did_not_change_since_the_start_is_vacuous():
    case, tested = small_case(Hinge(0.5), s_values=(4,))

    def still(run):
        return _claiming(case, only="dual")(dataclasses.replace(run, alphas=np.zeros_like(run.alphas)))

    verdict = judged(check, case, tested, change=still)[4]
    assert verdict.status is Status.VACUOUS
    assert verdict.why is Why.WITHIN_BOUND


def test_no_claims_no_verdict():
    assert judged(check, *small_case(Hinge(0.5)), of=()) == {}


def _predicting(case, change=lambda values: values):
    """Adds the values of the training samples, which a change may alter, to what a run claims."""

    def add(run):
        products = case.problem.signs * GapMeasure(case.problem).products(run.final)
        values = products if case.problem.is_svm else products / case.problem.ridge.penalty
        told = enumerate(change(np.asarray(values)).tolist())
        return dataclasses.replace(
            run, claims={f"prediction {place}": Claim(value) for place, value in told}
        )

    return add


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_predictions_of_the_training_samples_are_claims_each(loss, kernel):
    case, tested = small_case(loss, kernel, s_values=(4,))
    assert judged(check, case, tested, change=_predicting(case))[4].status is Status.PASS
    planted = {
        "of another sample": lambda values: np.roll(values, 1),
        "one off by 1e-9": lambda values: values * (1 + 1e-9 * (np.arange(values.size) == 5)),
        "of the other sign": lambda values: -values,
    }
    for name, change in planted.items():
        verdict = judged(check, case, tested, change=_predicting(case, change))[4]
        assert verdict.status is Status.FAIL, name
        assert verdict.place.item in {f"prediction {place}" for place in range(12)}
        assert_teaches(verdict)


def test_a_number_of_iterations_that_is_no_number_is_a_false_one():
    case, tested = small_case(Hinge(0.5), s_values=(4,))
    nothing = _claiming(case, lambda name, value: float("nan"), only="iterations")
    verdict = judged(check, case, tested, change=nothing)[4]
    assert verdict.status is Status.FAIL
    assert verdict.place.item == "iterations"
    assert np.isnan(verdict.place.found)


def test_how_far_an_earlier_value_is_off_is_said_as_far_as_it_is_certain():
    """A run that stands still reports the value at its start: the difference is not known, but bounded."""
    case, tested = small_case(Hinge(0.5), s_values=(4,))
    still = lambda run: dataclasses.replace(run, alphas=np.zeros_like(run.alphas))  # noqa: E731
    verdict = judged(check, case, tested, change=lambda run: _claiming(case, only="dual")(still(run)))[4]
    assert verdict.status is Status.VACUOUS
    assert verdict.terms[0].largest == 0.0


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("seed", some(range(3), of=3))
def test_a_tolerance_that_is_said_to_be_reached_is_compared_with_the_exact_gap(loss, kernel, seed):
    """Each claimed value is true: what decides is the reason for which the run ended."""
    generator = np.random.Generator(np.random.PCG64(seed))
    iterations, scale = int(generator.integers(8, 20)), float(2.0 ** generator.integers(0, 2))
    case, tested = small_case(loss, kernel, s_values=(4,), iterations=iterations, scale=scale, told=True)
    reached = {}

    def ended(run):
        told = _true_claims(case.problem, run.final, run.length)
        (exact,) = exact_values(case.problem, [run.final])
        values = {key: (low + high) / 2 for key, (low, high) in exact.items()}
        reached.update(values | {"tolerance": values["gap"] / values["dual"]})
        claims = {name: Claim(value) for name, value in told.items()}
        return dataclasses.replace(run, stopped="tolerance", claims=claims)

    judged(check, case, tested, change=ended)
    name = "residual" if isinstance(loss, Ridge) else "tolerance"
    for factor, status in ((1 + 1e-9, Status.PASS), (1 - 1e-9, Status.FAIL), (1e-20, Status.FAIL)):
        told = dataclasses.replace(case, claims={name: reached[name] * factor})
        verdict = judged(check, told, tested, change=ended)[4]
        assert verdict.status is status, factor
        assert status is Status.PASS or (verdict.place.item, verdict.requirement) == (
            "convergence",
            "S-5.6",
        )
        capped = lambda run: dataclasses.replace(ended(run), stopped="iterations")  # noqa: E731
        assert judged(check, told, tested, change=capped)[4].status is Status.PASS


def _of_alpha(case, place, wrong=lambda claims: claims):
    """Claims the values at a recorded alpha, by its place, as those of the last."""

    def add(run):
        claims = wrong(_true_claims(case.problem, run.alphas[place].astype(np.float64), run.length))
        return dataclasses.replace(run, claims={name: Claim(value) for name, value in claims.items()})

    return add


@pytest.mark.parametrize("place", [0, 1, -2])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_values_of_an_earlier_alpha_are_reported_as_such(loss, place):
    case, tested = named_case(loss, RBFKernel(0.3), s_values=(4,))
    verdict = judged(check, case, tested, change=_of_alpha(case, place))[4]
    assert (verdict.status, verdict.requirement) == (Status.FAIL, "S-5.4")
    recorded = tested.run(check.CHECK.runs(case)["s=4"]).iterations
    assert verdict.hints == (Hint(HintKind.VALUE_OF_EARLIER, (recorded[place],)),)


def _halved(claims):
    return claims | {"gap": claims["gap"] / 2}


def _bias(claims):
    return claims | {"gap": claims["gap"] + 0.25, "primal": claims["primal"] * (1 + 1e-12)}


@pytest.mark.parametrize(
    ("wrong", "number"),
    [
        (_halved, "S-5.5"),
        (_bias, "S-5.5"),
        # The formula of the gap is correct: what it is the difference of is wrong.
        (lambda told: told | {"primal": told["primal"] + 1, "gap": told["gap"] + 1}, "S-5.4"),
        (lambda told: told | {"dual": told["dual"] * 3}, "S-5.4"),
        (lambda told: {"gap": told["gap"], "iterations": told["iterations"] - 1}, "S-2.3"),
    ],
)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_the_formula_of_the_gap_is_named_where_it_is_wrong_by_itself(loss, wrong, number):
    case, tested = named_case(loss, RBFKernel(0.3), s_values=(4,))
    verdict = judged(check, case, tested, change=_of_alpha(case, -1, wrong))[4]
    assert (verdict.status, verdict.requirement, verdict.hints) == (Status.FAIL, number, ())


def test_a_prediction_is_not_reported_by_the_formula_of_the_gap():
    case, tested = named_case(Hinge(0.5), s_values=(4,))

    def both(run):
        predicted = _predicting(case, lambda values: values + 1.0)(run).claims
        gap = _true_claims(case.problem, run.final, run.length)["gap"] * (1 + 1e-9)
        return dataclasses.replace(run, claims={"gap": Claim(gap)} | predicted)

    verdict = judged(check, case, tested, change=both)[4]
    assert verdict.place.item.startswith("prediction")
    assert verdict.requirement == "S-5.4"

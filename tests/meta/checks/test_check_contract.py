"""The check contract: every way in which a run is not what was asked for is a FAIL that names it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from judged import small_case

from sstep_verify.adapters import ReferenceSolver
from sstep_verify.campaign.artefact.files import read_artefact, write_artefact
from sstep_verify.campaign.artefact.verdicts import artefact_of, rejudge
from sstep_verify.checks import contract
from sstep_verify.checks.shared.case import plain_request, run_key
from sstep_verify.errors import (
    DivergedError,
    InputError,
    MissingExtraError,
    NotMadeError,
    RunError,
)
from sstep_verify.problems import (
    Hinge,
    IndexStream,
    LinearKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
)
from sstep_verify.protocol import Declaration, ExternalSolver, RunRequest
from sstep_verify.runs import make_run
from sstep_verify.solver import ProductionSolver
from sstep_verify.trajectory import OWN_RULE, Claim, Panel
from sstep_verify.verdict import NoteKind, Status

S = 4


class Spoiled:
    """A solver whose runs are altered before they are returned."""

    def __init__(self, change, solver=None, **declared):
        self._change, self._solver = change, solver or ProductionSolver()
        self.declaration = replace(self._solver.declaration, **declared)

    def run(self, request, observe=None):
        return self._change(self._solver.run(request, observe))


def verdict_of(change=lambda run: run, loss=None, solver=None, observe=None, request=None, **declared):
    """The verdict on one run of s = 4 by a spoiled solver."""
    tested = Spoiled(change, solver, **declared)
    case, _ = small_case(loss or Hinge(C=1.0), RBFKernel(sigma=0.5), s_values=(S,), solver=tested)
    request = request(case) if request else plain_request(case, S)
    (verdict,) = contract.judge(case, {run_key(S): make_run(tested, request, observe)}, None)
    return verdict


def raised_by(verdict):
    """Run, type and message of each error that a verdict holds."""
    return [(one.run, one.kind, one.message) for one in verdict.raised]


def cut(run, kept):
    """The first recorded states of a run."""
    return replace(run, iterations=run.iterations[:kept], alphas=run.alphas[:kept])


def with_value(run, place, value):
    """The run with another number in its record."""
    alphas = run.alphas.copy()
    alphas[place] = value
    return replace(run, alphas=alphas)


def raising(error):
    """A change of a run that ends in an error."""

    def change(run):
        raise error

    return change


PLANTED = {
    "fewer iterations": (lambda run: cut(run, 3), "length"),
    "no state at all": (lambda run: cut(run, 0), "length"),
    "another start": (lambda run: replace(run, start=1), "start"),
    "another s": (lambda run: replace(run, s=S + 1), "s"),
    "a record left out": (
        lambda run: replace(run, iterations=np.delete(run.iterations, 2), alphas=np.delete(run.alphas, 2, axis=0)),
        "recorded iterations",
    ),
    "records out of order": (
        lambda run: replace(run, iterations=run.iterations[[0, 2, 1, *range(3, run.iterations.size)]]),
        "recorded iterations",
    ),
    "records that are no numbers": (
        lambda run: replace(run, iterations=np.where(run.iterations > 70, np.nan, run.iterations)),
        "recorded iterations",
    ),
    "another first a": (lambda run: with_value(run, (0, 3), 0.5), "first a"),
    "a shorter a": (lambda run: replace(run, alphas=run.alphas[:, :-1]), "shape"),
    "a state too many": (lambda run: replace(run, alphas=np.vstack([run.alphas, run.alphas[-1:]])), "shape"),
    "a narrower type": (lambda run: replace(run, alphas=run.alphas.astype(np.float32)), "type"),
    "integers": (lambda run: replace(run, alphas=run.alphas.astype(int)), "type"),
    "NaN": (lambda run: with_value(run, (-1, 2), np.nan), "finite"),
    "infinite": (lambda run: with_value(run, (2, 0), np.inf), "finite"),
    "an unknown reason": (lambda run: replace(run, stopped="done"), "stop reason"),
    "an observer that never spoke": (
        lambda run: replace(cut(run, 3), stopped="observer"), "stop reason",
    ),
    "a rule that ends within a window": (
        lambda run: replace(cut(run, 3), iterations=np.array([0, 3, 5]), stopped="tolerance"), "recorded iterations",
    ),
    "a panel of another shape": (
        lambda run: replace(run, panels={0: Panel(np.arange(4), np.ones((4, 3)))}), "panels",
    ),
    "a panel of no window": (
        lambda run: replace(run, panels={1: Panel(np.arange(4), np.ones((4, 12)))}), "panels",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_a_run_that_is_not_what_was_asked_for_fails(name):
    change, item = PLANTED[name]
    verdict = verdict_of(change)
    assert (verdict.status, verdict.ratio, verdict.bound) == (Status.FAIL, np.inf, 0.0)
    assert item in {one.item for one in verdict.violations}
    assert {one.run for one in verdict.violations} == {run_key(S)}
    assert verdict.requirement


@pytest.mark.parametrize("loss", [Hinge(1.0), SquaredHinge(1.0), Ridge(0.1)])
@pytest.mark.parametrize("solver", [ProductionSolver(), ReferenceSolver("float32")])
def test_a_correct_run_passes_and_a_value_that_is_not_finite_does_not(loss, solver):
    passed = verdict_of(loss=loss, solver=solver)
    assert (passed.status, passed.measured) == (Status.PASS, 0.0)
    assert [one.kind for one in passed.notes] == [NoteKind.FILLED] * isinstance(solver, ReferenceSolver)
    assert verdict_of(PLANTED["NaN"][0], loss, solver).status is Status.FAIL


def test_a_run_from_a_start_vector_begins_there():
    generator = np.random.Generator(np.random.PCG64(0))
    start = generator.random(12)

    def request(case):
        return RunRequest(case.problem, case.stream, S, 20, start=8, initial=start)

    assert verdict_of(request=request).status is Status.PASS
    assert verdict_of(request=request, solver=ReferenceSolver("float32")).status is Status.PASS
    moved = verdict_of(lambda run: with_value(run, (0, 0), 0.0), request=request)
    assert [one.item for one in moved.violations] == ["first a"]


def test_an_observer_may_end_a_run_where_it_said():
    def observe(iteration, alpha):
        return iteration >= 16

    assert verdict_of(observe=observe).status is Status.PASS
    for change in (lambda run: replace(run, stopped="iterations"), lambda run: cut(run, 3)):
        verdict = verdict_of(change, observe=observe)
        assert verdict.status is Status.FAIL
        assert contract.STOP in {one.item for one in verdict.violations}


@pytest.mark.parametrize("rule", OWN_RULE)
@pytest.mark.parametrize("claims", [{}, {"gap": Claim(0.1)}], ids=["no claim", "a gap"])
def test_a_run_may_end_by_its_own_rule_if_it_says_which(rule, claims):
    """S-2.7 wants the rule, and no value that the run reached."""
    assert verdict_of(lambda run: replace(cut(run, 3), stopped=rule, claims=claims)).status is Status.PASS


def test_a_solver_that_writes_into_its_inputs_fails():
    case, _ = small_case(Hinge(C=1.0), RBFKernel(sigma=0.5), s_values=(S,))

    class Writing(ProductionSolver):
        def run(self, request, observe=None):
            found = super().run(request, observe)
            request.problem.data.setflags(write=True)
            request.problem.data[0, 0] += 1.0
            return found

    (verdict,) = contract.judge(case, {run_key(S): make_run(Writing(), plain_request(case, S))}, None)
    assert verdict.status is Status.FAIL
    assert [(one.item, one.found) for one in verdict.violations] == [("inputs", "data")]


def test_declared_weights_must_be_recorded_in_their_shape():
    absent = verdict_of(weights=0)
    assert [(one.item, one.found) for one in absent.violations] == [("weights", "none")]
    for width, status in ((4, Status.PASS), (12, Status.FAIL)):
        verdict = verdict_of(
            lambda run, width=width: replace(run, weights=np.zeros((len(run.iterations), width))),
            weights=0,
        )
        assert verdict.status is status


def test_what_is_declared_and_not_given_is_said_to_be_unproved():
    verdict = verdict_of(lambda run: replace(run, counters={}))
    assert verdict.status is Status.PASS
    (note,) = verdict.notes
    assert (note.kind, note.detail[0]) == (NoteKind.UNPROVED, "count of windows")


@pytest.mark.parametrize("name", ["fewer iterations", "NaN", "another start", "a panel of another shape"])
def test_an_artefact_of_a_failure_is_judged_as_it_was(name, tmp_path):
    tested = Spoiled(PLANTED[name][0])
    case, _ = small_case(Hinge(C=1.0), RBFKernel(sigma=0.5), s_values=(1, S), solver=tested)
    beside = RunRequest(case.problem, case.stream, S, 20, start=8)
    runs = {run_key(s): make_run(tested, plain_request(case, s)) for s in (1, S)}
    runs["beside"] = make_run(tested, beside)
    verdicts = contract.judge(case, runs, None)
    assert [verdict.status for verdict in verdicts] == [Status.FAIL, Status.FAIL]
    for verdict in verdicts:
        kept = artefact_of(contract.CHECK, case, verdict.s, runs, [verdict])
        assert len(kept.trajectories) == (2 if verdict.s == S else 1)
        again = rejudge(read_artefact(write_artefact(kept, tmp_path)))
        assert (again.exit_code, again.disagreements, again.differences) == (1, (), ())


def test_a_run_of_no_iterations_is_vacuous():
    verdict = verdict_of(request=lambda case: RunRequest(case.problem, case.stream, S, 0))
    assert verdict.status is Status.VACUOUS


def test_overflow_that_a_correct_run_may_have_is_vacuous():
    generator = np.random.Generator(np.random.PCG64(1))
    data = generator.standard_normal((8, 2)) * 1e30  # squared, beyond float32
    problem = Problem("large", data, np.where(np.arange(8) % 2, 1.0, -1.0), RBFKernel(1.0), Hinge(1.0))
    case, _ = small_case(Hinge(1.0))
    declared = Declaration("float32", precision="float32")
    stream = IndexStream("uniform", 8, 1, 8)
    case = replace(
        case, problem=problem, stream=stream, s_values=(S,), iterations=8, points={}, declaration=declared
    )
    tested = Spoiled(lambda run: with_value(run, (-1, 0), np.nan), ProductionSolver())
    (verdict,) = contract.judge(case, {run_key(S): make_run(tested, plain_request(case, S))}, None)
    assert verdict.status is Status.VACUOUS
    in_range = replace(case, declaration=replace(declared, precision="float64", rbf="difference"))
    (verdict,) = contract.judge(in_range, {run_key(S): make_run(tested, plain_request(case, S))}, None)
    assert verdict.status is Status.FAIL


def test_ranks_that_end_a_run_because_they_differ_fail_it_and_break_their_own_sentence():
    words = "after window 3 rank 1 holds another dual vector than most"
    verdict = verdict_of(raising(RunError(words, "IncoherenceError")))
    assert (verdict.status, verdict.requirement) == (Status.FAIL, "S-6.3")
    assert raised_by(verdict) == [(run_key(S), "IncoherenceError", words)]


def test_what_an_error_is_stands_in_a_field_and_not_in_its_words():
    verdict = verdict_of(raising(RunError("IncoherenceError: so say only the words")))
    assert raised_by(verdict) == [(run_key(S), "", "IncoherenceError: so say only the words")]
    assert verdict.requirement == "S-2.7"


@pytest.mark.parametrize(
    "error", [RuntimeError("a defect"), IndexError("7"), DivergedError("the gap is inf")], ids=repr
)
def test_any_other_error_of_our_own_solver_fails_its_run(error):
    verdict = verdict_of(raising(error))
    assert verdict.status is Status.FAIL
    assert raised_by(verdict) == [(run_key(S), type(error).__name__, str(error))]
    assert any(frame.endswith("in change") for frame in verdict.raised[0].frames)


@pytest.mark.parametrize("kind", [InputError, MissingExtraError, MemoryError, NotMadeError])
def test_an_error_that_says_nothing_of_our_own_run_is_no_verdict(kind):
    with pytest.raises(kind, match="not begun"):
        verdict_of(raising(kind("not begun")))


@pytest.mark.parametrize("external", [False, True])
def test_an_error_of_who_observes_is_no_verdict_on_the_solver(external):
    def observing(iteration, alpha):
        raise RuntimeError("of the observer")

    tested = ExternalSolver(ProductionSolver()) if external else ProductionSolver()
    with pytest.raises(RuntimeError, match="of the observer"):
        verdict_of(solver=tested, observe=observing)


def test_weights_that_are_said_to_be_formed_again_are_said_to_be_unproved():
    tested = ProductionSolver(exchange="gram", recompute=3)
    case, _ = small_case(Hinge(C=1.0), LinearKernel(), s_values=(S,), solver=tested)
    made = {run_key(S): make_run(tested, plain_request(case, S))}
    (verdict,) = contract.judge(case, made, None)
    assert verdict.status is Status.PASS
    assert [note.kind for note in verdict.notes] == [NoteKind.UNPROVED]


def test_a_value_that_is_not_finite_has_its_place_and_requirement():
    spoiled = verdict_of(lambda run: with_value(run, (-1, 0), np.nan))
    assert (spoiled.requirement, spoiled.place.end) == ("S-5.1", 75)


@pytest.mark.parametrize("loss", [Hinge(C=1.0), Ridge(0.05)], ids=str)
def test_a_step_that_makes_a_value_that_is_not_finite_is_reported_by_its_log(loss):
    """The step is where the log leads from finite numbers to others; what else is spoiled is no step."""
    number = "S-3.2" if isinstance(loss, Ridge) else "S-3.1"

    def request(case):
        return replace(plain_request(case, S), log=True)

    def spoil(of_log, of_alpha):
        def change(run):
            log, alphas = run.log.copy(), run.alphas.copy()
            log[of_log] = np.nan
            blocks = small_case(loss, s_values=(S,))[0].stream.blocks(0, run.length)
            for place, iteration in enumerate(run.iterations.tolist()):
                if of_alpha and iteration > 20:
                    alphas[place] = run.alphas[0]
                    alphas[place, blocks[:iteration].ravel()] = log[:iteration].ravel()
            if not of_alpha:
                alphas[-1, 3] = np.nan
            return replace(run, log=log, alphas=alphas)

        return change

    def verdict(*of):
        return verdict_of(spoil(*of), loss, request=request, log=True)

    step = verdict(slice(20, None), True)
    assert (step.status, step.requirement) == (Status.FAIL, number)
    assert (step.place.begin, step.place.end) == (20, 21)
    assert not np.isfinite(step.place.found)
    for other in (verdict(slice(0, 0), False), verdict(slice(7, 8), False), verdict(slice(0, None), False)):
        assert (other.status, other.requirement) == (Status.FAIL, "S-5.1")


@pytest.mark.parametrize("stopped", ["tolerance", "stagnation", "precision", "iterations"])
def test_a_plain_run_ends_for_a_reason_for_which_it_may(stopped):
    ending = Spoiled(lambda run: replace(run, stopped=stopped, claims={"gap": Claim(0.1)}))
    case, _ = small_case(Hinge(C=1.0), RBFKernel(sigma=0.5), s_values=(S,), solver=ending)
    run = make_run(ending, plain_request(case, S))
    others = [one for one in ("tolerance", "stagnation", "precision", "iterations") if one != stopped]
    for ends, status in (((), "PASS"), ((stopped, others[0]), "PASS"), (tuple(others), "FAIL")):
        told = replace(case, ends=ends)
        (verdict,) = contract.judge(told, {run_key(S): run}, None)
        assert verdict.status is Status(status)
        assert [one.item for one in verdict.violations] == [contract.STOP] * (status == "FAIL")
        # An observer may end any run, and a shorter run of another check may end otherwise.
        watched = replace(run, stopped="observer", asked=replace(run.asked, ended=run.length))
        (verdict,) = contract.judge(told, {run_key(S): watched}, None)
        assert verdict.status is Status.PASS
        (other,) = contract.judge(told, {"determinism/first/s=4": run}, None)
        assert other.status is Status.PASS

"""Judging a solver from Python: the runs that checks need are made, then judged.

Runs are made by `make_run` (runs.py). `verdicts_of` (checks/registry.py) judges them, by the function
`judge` of each check, such as that of checks/window_replay.py or checks/step_replay.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING

from sstep_verify.errors import InputError, listed, of_type
from sstep_verify.floating_point import in_own_state, restore_with_warning

if TYPE_CHECKING:
    from sstep_verify.checks.shared.case import Case, Check
    from sstep_verify.problems import IndexStream, Problem
    from sstep_verify.protocol import RunRequest, Solver
    from sstep_verify.trajectory import Trajectory
    from sstep_verify.verdict import Verdict


def is_whole(value: object) -> bool:
    """Whether a value is a whole number; True and False are none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


@in_own_state
def judge(
    solver: Solver,
    problem: Problem,
    stream: IndexStream,
    s: int,
    iterations: int | None = None,
    checks: Sequence[str] = (),
    oracle: str = "arb",
) -> list[Verdict]:
    """Check a solver on one problem and return the verdicts.

    The solver runs in this process, only as often as the checks need, and nothing is written to disk. The
    next call on the same problem object uses its kernel rows and exact kernel again.

    Parameters
    ----------
    solver : Solver
        A `CallableSolver` around your function, or any object with a `declaration` and a method `run`.
        The bounds are computed for exactly what its `Declaration` says.
    problem : Problem
        What it solves.
    stream : IndexStream
        The coordinates drawn, H x b.
    s : int
        Iterations per window, a whole number >= 1.
    iterations : int, optional
        Iterations of the run; the whole stream if absent.
    checks : sequence of str, optional
        Ids of checks; ``sstep-verify explain`` lists them. `contract` always runs first. By default one
        more check runs. It is ``step-replay`` if the solver logs its steps, up to 2^25 coordinates in all.
        It is ``trajectory`` if its level is 0, and ``window-replay`` otherwise. Declared weights are
        recorded from level 2 on, and then ``residual-gap`` runs with it. At level 1 with such weights,
        ``trajectory`` runs instead of ``window-replay``.
    oracle : {"arb", "mpmath"}
        What computes exact values. Balls of Arb enclose them. mpmath evaluates them at two precisions, for
        at most 200 samples (docs/verdicts.md).

    Returns
    -------
    list of Verdict
        The verdict of `contract`, then those of the others. A check that does not apply to this solver, or
        to a run of this size, is VACUOUS. If a run was not the requested one, there is only the FAIL of
        `contract`, and its reason names the item. Possible items are an error that the solver raised, no
        `Trajectory`, another shape, and a value that is not finite. It also fails if the solver changed its
        inputs, or what all code of this process shares, such as a function of NumPy.

    Raises
    ------
    InputError
        If an argument is of another type or cannot be used, if the solver has no `declaration` or `run`,
        or if it rejects the input (``sstep_verify.errors.RefusedError``).

    Examples
    --------
    >>> from sstep_verify import Hinge, IndexStream, LinearKernel, Problem, ReferenceSolver, judge
    >>> data = [[1.0, 0.5], [0.5, 1.0], [1.5, 0.0], [0.0, 2.0]]
    >>> problem = Problem("small", data, [1, -1, 1, -1], LinearKernel(), Hinge(C=1.0))
    >>> stream = IndexStream("uniform", samples=4, block=1, length=20, seed=0)
    >>> verdict = judge(ReferenceSolver(), problem, stream, s=4)[-1]
    >>> print(verdict.check, verdict.status)
    step-replay PASS
    """
    # Constants of what is imported here are computed on the way.
    restore_with_warning("before a judgement")
    from sstep_verify.checks.contract import ID as CONTRACT
    from sstep_verify.checks.registry import CHECKS, checks_of
    from sstep_verify.checks.shared.case import Case, loggable, told_by
    from sstep_verify.checks.step_replay import ID as STEPS
    from sstep_verify.checks.trajectory import ID as ENDS
    from sstep_verify.checks.window_replay import ID as WINDOWS
    from sstep_verify.compiled import warn_if_unkept
    from sstep_verify.problems import IndexStream, Problem
    from sstep_verify.protocol import ExternalSolver, checked_solver

    of_type("problem", problem, Problem, "a Problem: Problem(name, data, targets, kernel, loss)")
    of_type("oracle", oracle, str, "the name of one: 'arb' or 'mpmath'")
    of_type("stream", stream, IndexStream, "an IndexStream, such as IndexStream('uniform', m, b, H)")
    if not is_whole(s) or s < 1:
        raise InputError(f"s = {s!r:.40}, but a window holds a whole number of iterations, such as s = 4")
    if iterations is not None and (not is_whole(iterations) or iterations < 0):
        raise InputError(
            f"iterations = {iterations!r:.40}, but a run makes a whole number of them, up to the "
            f"{stream.length} blocks of the stream; leave it out for all of these"
        )
    external = ExternalSolver(checked_solver(solver, "solver"))
    declared = external.declaration
    length = stream.length if iterations is None else iterations
    case = Case(problem.name, problem, stream, (s,), length, declared, oracle=oracle, **told_by(solver))
    ends = WINDOWS if declared.level and CHECKS[WINDOWS].applies(case, s) else ENDS
    usual = STEPS if loggable(case) else ends
    # A log of the steps leads past recorded weights, so these are judged next to it as next to windows.
    recorded = [
        one
        for one in CHECKS[WINDOWS].rests_on
        if CHECKS[one].applies(case, s) and declared.level >= (CHECKS[one].level or 0)
    ]
    wanted = listed("checks", checks) or (usual, *recorded)
    chosen = checks_of(tuple(dict.fromkeys((CONTRACT, *wanted))))
    verdicts = judged_by({"": external}, case, *chosen)
    warn_if_unkept()
    return verdicts


def judged_by(solvers: Mapping[str, Solver], case: Case, first: Check, *others: Check) -> list[Verdict]:
    """Make the runs that checks need of a case, and judge them; only by the first check if that fails.

    The solver under test has the empty name, its variants theirs.
    """
    from sstep_verify.checks.registry import APART, verdicts_of, with_draws
    from sstep_verify.checks.shared.case import merge_requests
    from sstep_verify.checks.together import observed, related, settled
    from sstep_verify.oracle.choice import oracle_of_calls
    from sstep_verify.runs import make_run

    def runs_of(requests: Iterable[Mapping[str, RunRequest]]) -> dict[str, Trajectory]:
        return {
            key: make_run(solvers[request.variant], request)
            for key, request in merge_requests(requests).items()
        }

    with oracle_of_calls(case.oracle, case.problem) as oracle:
        runs = runs_of(check.runs(case) for check in (first, *others))
        drawn = with_draws(case, runs.values())
        if drawn is None:
            raise InputError(f"{case.declaration.name}: {APART}")
        case, verdicts = drawn, verdicts_of(first, drawn, runs, oracle)
        if not _ended(runs, verdicts) and (
            later := runs_of(check.continued(case, runs) for check in others)
        ):
            runs |= later
            verdicts = verdicts_of(first, case, runs, oracle)
        if _ended(runs, verdicts):
            return verdicts
        for check in others:
            verdicts += verdicts_of(check, case, runs, oracle) or [_nothing_judged(check, case)]
        return observed(case, settled(case, related(verdicts, verdicts)), runs)


def _ended(runs: Mapping[str, Trajectory], verdicts: Sequence[Verdict]) -> bool:
    """Whether a run is not what was asked for, so that nothing else can be said of it."""
    raised = any(run.raised for run in runs.values())
    return raised or any(verdict.status == "FAIL" for verdict in verdicts)


def _nothing_judged(check: Check, case: Case) -> Verdict:
    """The verdict of a check that judges no run of a case: contract's PASS is not to stand alone."""
    from sstep_verify.checks.shared.outcome import nothing_compared
    from sstep_verify.verdict import Why

    (s,) = case.s_values
    why = Why.NOT_APPLICABLE
    if check.applies(case, s) and not check.affordable(case, s):
        why = Why.TOO_LARGE
    elif not case.iterations:
        why = Why.NO_STEPS
    return nothing_compared(check.id, case, s, 0, why)

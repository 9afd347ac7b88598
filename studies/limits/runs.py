"""Drawn runs with or without doses of an error: the verdicts of a user's campaign, and what rivals say.

A dose is a relative error in one quantity of the steps of a solver.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from fractions import Fraction
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
from sstep_reference import SingularSystemError
from sstep_reference.arithmetic import Float
from sstep_reference.kernels import Columns

from sstep_verify import Problem, ReferenceSolver, Trajectory, quantities
from sstep_verify.adapters.callable import record, start_vector
from sstep_verify.checks import contract, step_replay, window_replay
from sstep_verify.checks.registry import checks_of, verdicts_of
from sstep_verify.checks.shared.case import Case, merge_requests
from sstep_verify.declaration import Declaration, Precision
from sstep_verify.oracle.balls.exact_kernel import exact_kernel
from sstep_verify.oracle.facade import Oracle
from sstep_verify.protocol import Observer, RunRequest
from sstep_verify.recurrence.mutants import MutantWindow, drawn_early, run_mutant
from sstep_verify.recurrence.mutation import NONE, Mutation, left_out, off_by
from sstep_verify.recurrence.steps import Step, finisher_of
from sstep_verify.rounding.arithmetic import unit_roundoff
from sstep_verify.runs import make_run
from sstep_verify.scenarios.scenario import Scenario
from sstep_verify.verdict import DETECTION_FACTOR, Status, Verdict
from studies.baselines import BASELINES, Answers, Baseline
from studies.longdouble import LongReference
from studies.report.sensitivity.limits import DoseTrial, RivalDose

STEPS, WINDOWS, EITHER = step_replay.ID, window_replay.ID, "either"
"""Two checks, and the name of both together: a campaign is red if one of them is."""

JUDGES = {STEPS: (STEPS,), WINDOWS: (WINDOWS,), EITHER: (STEPS, WINDOWS)}
"""What is tried by itself, and the checks that it consists of."""

OCTAVES, ABOVE = 6, 2
"""Doses go from what is certain to show over two to the former power to that times two to the latter."""

PARTS = 4
"""Parts of an octave in which the dose is found at which a verdict turns."""


def is_switch(quantity: str) -> bool:
    """Whether a quantity is there or not, so that it has no small error."""
    return off_by(quantity, Fraction(0)) is None


def dose_of(name: str, relative: float, precision: str) -> tuple[Mutation, float]:
    """The mutation of a dose in a quantity, and the dose that it is once its factor is rounded.

    Next to 1 a factor knows no errors below the precision's roundoff. A switch is left out, whatever
    relative error is asked for, which is a dose of 1.
    """
    if is_switch(name):
        return left_out(name), 1.0
    number = Float(precision).number
    if name == quantities.LOWER:  # its factor is the error itself
        held = Fraction(float(number(Fraction(relative))))
    else:
        held = Fraction(float(number(1 + Fraction(relative)))) - 1
    return (off_by(name, held) if held else None) or NONE, float(held)


class DosedSolver:
    """The one mutable recurrence over numbers of a precision, as a solver of level L2 of one problem."""

    def __init__(self, problem: Problem, precision: Precision):
        self._arithmetic, self._mutation = Float(precision), NONE
        self._kernel: Columns = exact_kernel(problem, self._arithmetic)
        self._kernel.matrix()
        self._targets: Any = self._arithmetic.vector(problem.targets)
        self.declaration = Declaration(
            name="dosed recurrence",
            precision=precision,
            update="frozen",
            products="rows",
            rbf="difference",
            factorisation="ldl",
            log=True,
        )

    def with_dose(self, mutation: Mutation) -> DosedSolver:
        """The same solver with another mutation, and the kernel columns of this one."""
        other = copy(self)
        other._mutation = mutation
        return other

    def run(self, request: RunRequest, observe: Observer | None = None) -> Trajectory:
        """Make the run; `observe` is called at every recorded iteration and may end it."""
        begin, end = request.start, request.start + request.iterations
        drawn, mutation = drawn_early(request.stream.blocks(begin, end).tolist(), self._mutation)
        logged: list[list[Any]] = []

        finisher = finisher_of(request.problem, self._arithmetic)

        def advance(alpha: np.ndarray, begin: int, end: int) -> np.ndarray:
            state: Any = self._arithmetic.vector(alpha)
            blocks = drawn[begin:end]
            given = self._kernel, self._targets, finisher, alpha, blocks, request.s, mutation
            with np.errstate(over="ignore"):
                for one in run_mutant(*given):
                    state = one.alpha
                    logged.extend(_values(self._arithmetic, one, mutation, blocks[one.begin : one.end]))
            return state

        made = record(request, start_vector(request, self.declaration.precision), advance, observe)
        return replace(made, log=np.array(logged, dtype=np.float64)) if request.log else made


def _values(
    arithmetic: Float, made: MutantWindow, mutation: Mutation, blocks: Sequence[Sequence[int]]
) -> list[list[Any]]:
    """What each step left in its coordinates: of the last step of each what the window ends with."""
    window = made.window
    if window is None:
        return [[made.alpha[i] for i in block] for block in blocks]
    stored = arithmetic.number(mutation.write_back)
    gained = arithmetic.zeros(len(window.coordinates))
    values = []
    last: dict[int, tuple[int, int]] = {}
    for row, (block, step) in enumerate(zip(window.draws, made.steps, strict=True)):
        increments = [step.increment] if isinstance(step, Step) else step
        for column, (place, increment) in enumerate(zip(block, increments, strict=True)):
            gained[place] = gained[place] + increment
            last[place] = row, column
        values.append([window.start[place] + stored * gained[place] for place in block])
    for place, (row, column) in last.items():
        values[row][column] = made.reached[place]
    return values


class JudgedRuns:
    """Runs of one drawn problem in one precision, with any mutation of their steps, and their verdicts.

    Every window end is recorded, and all else is as campaigns have it; each run is made and judged once.
    """

    def __init__(self, scenario: Scenario, precision: Precision):
        self.scenario, self.problem, self.precision = scenario, scenario.problem(), precision
        self._solver, self._oracle = DosedSolver(self.problem, precision), Oracle(self.problem)
        self._checks = {check.id: check for check in checks_of((contract.ID, STEPS, WINDOWS))}
        s, length = scenario.s, scenario.iterations
        self._case = Case(
            scenario.id,
            self.problem,
            scenario.stream(),
            (s,),
            length,
            self._solver.declaration,
            points={s: (*range(s, length, s), length)},
            initial=scenario.initial(),
            diagnose=False,
        )
        self.made, self.final = cache(self._made), cache(self._final)
        self.verdict = cache(self._verdict)

    def _made(self, mutation: Mutation = NONE) -> dict[str, Trajectory] | None:
        """The run of a mutant, by the keys of all checks; None where it breaks down."""
        solver = self._solver.with_dose(mutation)
        wanted = merge_requests(check.runs(self._case) for check in self._checks.values())
        try:
            return {key: make_run(solver, request) for key, request in wanted.items()}
        except SingularSystemError:  # by a large error a block system is no longer positive definite
            return None

    def _verdict(self, check: str, mutation: Mutation = NONE) -> Verdict | None:
        """The verdict of one check on the run of a mutant; None where that breaks down."""
        runs = self.made(mutation)
        return None if runs is None else verdicts_of(self._checks[check], self._case, runs, self._oracle)[0]

    def verdicts(self, mutation: Mutation = NONE) -> list[Verdict]:
        """The verdicts on the run of a mutant: of one that the contract refuses only that, of none none."""
        fit = self.verdict(contract.ID, mutation)
        others = () if failed((fit,)) else (STEPS, WINDOWS)
        return [one for one in (fit, *(self.verdict(check, mutation) for check in others)) if one]

    def request(self, s: int) -> RunRequest:
        """The plain run in windows of s."""
        case = self._case
        return RunRequest(self.problem, case.stream, s, case.iterations, initial=case.initial)

    def _final(self, mutation: Mutation, s: int) -> np.ndarray:
        """The a that a mutant ends with, in windows of s; of a run that breaks down no numbers."""
        try:
            return make_run(self._solver.with_dose(mutation), self.request(s)).final
        except SingularSystemError:
            return np.full(self.problem.samples, np.nan)

    @cached_property
    def trusted(self) -> tuple[np.ndarray, ...]:
        """The final a of the classical method by the reference, in the precision and in longdouble."""
        solvers = ReferenceSolver(self.precision, "classical"), LongReference()
        return tuple(np.asarray(one.run(self.request(1)).final, dtype=np.float64) for one in solvers)

    def trial(self, quantity: str, check: str, certain: float) -> DoseTrial:
        """Find the dose at which a check's verdict turns, given the error that it was certain to show."""

        def dose(place: int) -> tuple[Mutation, float]:
            return dose_of(quantity, certain * 2.0 ** (place / PARTS), self.precision)

        def turned(place: int) -> bool:
            return any(failed((self.verdict(one, dose(place)[0]),)) for one in JUDGES[check])

        place = first_true(-OCTAVES * PARTS, ABOVE * PARTS, turned)
        # Rounded to a factor the dose may be a little below what is certain to show.
        large = [octave * PARTS for octave in range(ABOVE + 1) if dose(octave * PARTS)[1] >= certain]
        return DoseTrial(
            check,
            self.precision,
            quantity,
            predicted=certain / DETECTION_FACTOR,
            found=None if place is None else dose(place)[1],
            # A factor next to 1 holds multiples of two roundoffs.
            resolved=certain >= 8 * unit_roundoff(self.precision),
            certain=len(large),
            missed=sum(not turned(one) for one in large),
        )

    def accepts(self, rival: Baseline, quantity: str, relative: float) -> bool | None:
        """Whether a rival takes a dose for right."""
        s, (mutation, _) = self.scenario.s, dose_of(quantity, relative, self.precision)
        own = self.final(mutation, 1) if rival.asks_own else None
        trusted, exact = self.trusted
        final = self.final(mutation, s)
        return rival.accepts(Answers(self.problem, self.precision, s, final, trusted, own, exact))

    def rivals(self, quantity: str) -> Iterator[RivalDose]:
        """The smallest dose that each rival refuses, to a factor of four, if it has anything to say."""
        for rival in BASELINES:
            if (right := self.accepts(rival, quantity, 0.0)) is None:
                continue
            place = first_true(-26, 0, partial(self._refused, rival, quantity)) if right else None
            dose = None if place is None else 4.0**place
            yield RivalDose(rival.name, self.precision, quantity, not right, dose)

    def _refused(self, rival: Baseline, quantity: str, place: int) -> bool:
        return self.accepts(rival, quantity, 4.0**place) is False


def failed(verdicts: Collection[Verdict | None]) -> bool:
    """Whether one of the verdicts is FAIL; where there is none, the run broke down."""
    return not verdicts or any(one is None or one.status is Status.FAIL for one in verdicts)


def detection_limit(verdicts: Iterable[Verdict], quantity: str) -> float:
    """Smallest relative error of a quantity that one of the verdicts was certain to show."""
    return min(
        (term.detection_limit for one in verdicts for term in one.terms if term.name == quantity),
        default=math.inf,
    )


def shown(verdicts: Iterable[Verdict], quantity: str) -> bool:
    """Whether one of the verdicts was certain to show the quantity left out."""
    return any(term.seen for one in verdicts for term in one.terms if term.name == quantity)


def first_true(low: int, high: int, holds: Callable[[int], bool]) -> int | None:
    """Smallest integer in low..high for which `holds`, by bisection; None if not even the highest one.

    What holds for an integer is taken to hold for all larger ones.
    """
    return low + bisect_left(range(low, high), True, key=holds) if holds(high) else None

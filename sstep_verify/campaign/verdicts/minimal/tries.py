"""Runs a solver on a part of a problem, and says whether it fails as it did on the whole."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from sstep_verify.campaign.verdicts.measured import measuring_points
from sstep_verify.campaign.verdicts.minimal.search import OutOfTimeError, Size
from sstep_verify.checks import contract
from sstep_verify.checks.registry import CHECKS
from sstep_verify.checks.shared.case import Case, merge_requests
from sstep_verify.errors import SstepVerifyError
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import Problem
from sstep_verify.runs.make import make_run
from sstep_verify.solver import Solver
from sstep_verify.trajectory import RAISED
from sstep_verify.verdict import Status, Verdict

WORDS = 4
"""Words of an error's message that tell it from another of the same type."""


def kind_of(verdict: Verdict) -> tuple[str, ...]:
    """What a failure is told from others by: the error that was raised, or the sentences that it breaks.

    The likeliest comes first.
    """
    raised = verdict.evidence.get(RAISED)
    if not isinstance(raised, dict):
        return verdict.sentences
    kind, message = next(iter(raised.values()))
    words = re.sub(r"\S*/\S*|[\d.'\"]+", "", message).split()[:WORDS]
    return (" ".join([kind, *words]),)


def whole(case: Case, s: int) -> Size:
    """The size of a run as it was made."""
    problem = case.problem
    return Size(
        tuple(range(problem.samples)),
        tuple(range(problem.features)),
        case.iterations,
        s,
        case.stream.block,
    )


def cut_down(case: Case, size: Size) -> Case:
    """The case with a part of its problem, from a0 = 0 and the beginning of the stream on."""
    problem = case.problem
    rows, columns = np.array(size.samples), np.array(size.features)
    part = replace(problem, data=problem.data[rows][:, columns], targets=problem.targets[rows])
    drawn = replace(case.stream, samples=rows.size, block=size.block, length=size.iterations)
    return replace(
        case,
        problem=part,
        stream=drawn,
        s_values=(size.s,),
        iterations=size.iterations,
        points={size.s: measuring_points(size.iterations, size.s)},
        short=min(case.short, size.iterations),
        start=0,
        initial=None,
    )


def storable(problem: Problem, part: Problem) -> bool:
    """Whether a file of a part is read back as the same task: both classes, or more than two targets."""
    before, left = np.unique(problem.targets).size, np.unique(part.targets).size
    return left >= min(before, 2 if problem.is_svm else 3)


@dataclass
class Tries:
    """Tries sizes of one failing case until the deadline, a time of ``time.monotonic()``.

    `solvers` are the solver under test under the empty name, and its variants; `found` is the failure of
    the last size that failed alike.
    """

    case: Case
    verdict: Verdict
    solvers: Mapping[str, Solver]
    deadline: float
    found: Verdict | None = None

    def __call__(self, size: Size) -> bool:
        """Whether the solver fails alike on a size.

        Raises
        ------
        OutOfTimeError
            If the budget is spent.
        """
        if time.monotonic() > self.deadline:
            raise OutOfTimeError
        case = cut_down(self.case, size)
        if not storable(self.case.problem, case.problem):
            return False
        try:
            with np.errstate(all="ignore"):
                verdicts = self._judged(case)
        except (SstepVerifyError, ArithmeticError, ValueError, LookupError, MemoryError):
            return False  # No run, or none that the check can judge: nothing is known of this size.
        failed = [one for one in verdicts if one.status is Status.FAIL and one.check == self.verdict.check]
        # On a smaller problem more may explain a failure; what is likeliest on the whole is among it.
        likeliest = kind_of(self.verdict)[:1]
        alike = [one for one in failed if set(likeliest) <= set(kind_of(one))]
        self.found = alike[0] if alike else self.found
        return bool(alike)

    def _judged(self, case: Case) -> list[Verdict]:
        """Verdicts of the failed check; of a run that breaks its contract, that of the contract."""
        check, oracle = CHECKS[self.verdict.check], Oracle(case.problem)
        first = CHECKS[contract.CHECK]

        def made(requests):
            return {
                key: make_run(self.solvers[request.variant], request)
                for key, request in merge_requests(requests).items()
            }

        runs = made([first.runs(case), check.runs(case)])
        if any(contract.broken(case, key, run) for key, run in runs.items()):
            return first.judge(case, runs, oracle)
        runs |= made([check.continued(case, runs)])
        return check.judge(case, runs, oracle)

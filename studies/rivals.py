"""Rivals: what people use in the place of a verifier, as pure functions over the answers of runs.

Each has the settings that its users take, so that none is made to look worse than it is. Where the tool
itself has a setting for float32 that is used; where only the number in float64 is customary, half of the
digits of float64 (1e-8) become half of those of float32.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sstep_verify.measures.error import loss_factor
from sstep_verify.measures.gap import Gap, GapMeasure
from sstep_verify.problems import Problem
from sstep_verify.rounding.arithmetic import unit_roundoff

THRESHOLD = 30.0
"""Threshold of LAPACK's test programs (dtest.in: THRESH)."""

BASELINE = 3.0
"""Times the error of a trusted run that is still taken for as good."""


@dataclass(frozen=True, eq=False)
class Answers:
    """What a rival may look at: final answers a, shape (m,), after the same iterations, and no more.

    They are those of the solver under test, in its precision and windows of s; of another code by the
    classical method; of the solver with s = 1; and of exact arithmetic, rounded, or of longdouble.
    """

    problem: Problem
    precision: str
    s: int
    final: np.ndarray
    trusted_classical: np.ndarray
    own_classical: np.ndarray | None = None
    exact: np.ndarray | None = None

    @property
    def usable(self) -> bool:
        """Whether the final answer is a vector of m finite numbers, which every rival asks of it."""
        return self.final.shape == self.trusted_classical.shape and bool(np.isfinite(self.final).all())


@dataclass(frozen=True)
class Rival:
    """One way to tell a right answer from a wrong one; what it compares and who does so says its function.

    It looks at answers that are `usable` and says True (accepted), False, or None where it needs what is
    not there. With `asks_own` it needs a run of the solver with s = 1.
    """

    name: str
    looks: Callable[[Answers], bool | None]
    asks_own: bool = False

    def accepts(self, answers: Answers) -> bool | None:
        """Whether it takes the answer for right; None: not applicable."""
        with np.errstate(all="ignore"):
            verdict = self.looks(answers) if answers.usable else False
        return None if verdict is None else bool(verdict)


def _single(answers: Answers, single: float, double: float) -> float:
    """The setting for float32, or the one for all else."""
    return single if answers.precision == "float32" else double


def _close(answers: Answers) -> bool:
    """The final a against a trusted classical code's by numpy.allclose as it is (rtol 1e-5, atol 1e-8).

    It is the first thing that most scripts and notebooks do.
    """
    return bool(np.allclose(answers.final, answers.trusted_classical, rtol=1e-5, atol=1e-8))


def _assert_close(answers: Answers) -> bool:
    """The same at the rtol of numpy.testing.assert_allclose, 1e-7: unit tests.

    In float32 that is 1e-4, as scikit-learn's assert_allclose chooses by type.
    """
    # With atol = 0, the default, 1e-17 in the place of a zero on the box would be an alarm: whoever meets
    # that sets atol, to the same part of the largest entry.
    relative = _single(answers, 1e-4, 1e-7)
    size = float(np.abs(answers.trusted_classical).max(initial=0.0))
    return bool(np.allclose(answers.final, answers.trusted_classical, rtol=relative, atol=relative * size))


def _objectives(answers: Answers) -> tuple[Gap, Gap]:
    measure = GapMeasure(answers.problem)
    final, trusted = (np.asarray(a, dtype=np.float64) for a in (answers.final, answers.trusted_classical))
    return measure(final), measure(trusted)


def _objective(answers: Answers) -> bool:
    """The dual objective at the final a within 1e-6 of the trusted one, relatively (float32: 1e-4).

    So solvers are compared, such as those of LIBLINEAR and LIBSVM.
    """
    own, trusted = _objectives(answers)
    return abs(own.dual - trusted.dual) <= _single(answers, 1e-4, 1e-6) * abs(trusted.dual)


def _gap(answers: Answers) -> bool:
    """The duality gap no larger than the trusted one's by 1e-6 of the primal objective (float32: 1e-4).

    So do stopping rules and benchmarks of convex solvers.
    """
    own, trusted = _objectives(answers)
    return own.gap <= trusted.gap + _single(answers, 1e-4, 1e-6) * abs(trusted.primal)


def _test_ratio(answers: Answers) -> bool:
    """|a - a'|_1 / (m u |a'|_1) < 30 with a' the trusted classical answer, as LAPACK's test programs do."""
    distance = float(np.abs(answers.final - answers.trusted_classical).sum())
    size = float(np.abs(answers.trusted_classical).sum())
    if size == 0.0:
        return distance == 0.0
    return distance / (size * answers.final.size * unit_roundoff(answers.precision)) < THRESHOLD


def _own_classical(answers: Answers) -> bool | None:
    """The solver's s-step answer within 1e-8 of its own classical one, in relative 2-norm (float32: 1e-4).

    Papers on s-step methods print it, which stop at 1e-8, about half of float64's digits.
    """
    if answers.own_classical is None or answers.s == 1:
        return None
    distance = np.linalg.norm(answers.final - answers.own_classical)
    return bool(distance <= _single(answers, 1e-4, 1e-8) * np.linalg.norm(answers.own_classical))


def _baseline(answers: Answers) -> bool | None:
    """The error to the exact answer at most three times that of the trusted classical run.

    Errors below u count as u. So say ad hoc tests that a variant is as accurate as what it replaces.
    """
    if answers.exact is None:
        return None
    exact = answers.exact
    size = float(np.linalg.norm(exact)) or 1.0
    own, trusted = (
        float(np.linalg.norm(a - exact)) / size for a in (answers.final, answers.trusted_classical)
    )
    return loss_factor(own, trusted, unit_roundoff(answers.precision)) <= BASELINE


RIVALS = (
    Rival("allclose 1e-5", _close),
    Rival("allclose 1e-7", _assert_close),
    Rival("objective 1e-6", _objective),
    Rival("gap 1e-6", _gap),
    Rival("LAPACK ratio 30", _test_ratio),
    Rival("own classical 1e-8", _own_classical, asks_own=True),
    Rival("3 x baseline", _baseline),
)

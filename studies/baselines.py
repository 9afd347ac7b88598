"""Rivals: what people use in place of a verifier, and what they say of the runs that a campaign judged.

Each has the settings that its users take, so that none is made to look worse than it is. Where the tool
itself has a setting for float32 that is used; where only the number in float64 is customary, half of the
digits of float64 (1e-8) become half of those of float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sstep_verify import Problem, ReferenceSolver, RunRequest, Trajectory
from sstep_verify.campaign.artefact.files import read_artefact
from sstep_verify.checks.shared.case import Case, run_key
from sstep_verify.measures import Gap, GapMeasure, loss_factor
from sstep_verify.rounding.arithmetic import unit_roundoff
from studies.longdouble import LongReference
from studies.report.sensitivity.corpus import Opinion


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


@dataclass(frozen=True)
class Baseline:
    """One way to tell a right answer from a wrong one; what it compares and who does so says its function.

    It looks at vectors of m finite numbers and says True (accepted), False, or None where it needs what is
    not there. With `asks_own` it needs a run of the solver with s = 1.
    """

    name: str
    looks: Callable[[Answers], bool | None]
    asks_own: bool = False

    def accepts(self, answers: Answers) -> bool | None:
        """Whether it takes the answer for right; None: not applicable."""
        fit = answers.final.shape == answers.trusted_classical.shape and np.isfinite(answers.final).all()
        with np.errstate(all="ignore"):
            verdict = self.looks(answers) if fit else False
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
    # With atol = 0, the default, 1e-17 in place of a zero on the box would be an alarm: whoever meets
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
    # The threshold of these (dtest.in: THRESH) is 30.
    return distance / (size * answers.final.size * unit_roundoff(answers.precision)) < 30.0


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
    size = float(np.linalg.norm(answers.exact)) or 1.0
    own, trusted = (
        float(np.linalg.norm(a - answers.exact)) / size for a in (answers.final, answers.trusted_classical)
    )
    return loss_factor(own, trusted, unit_roundoff(answers.precision)) <= 3.0


BASELINES = (
    Baseline("allclose 1e-5", _close),
    Baseline("allclose 1e-7", _assert_close),
    Baseline("objective 1e-6", _objective),
    Baseline("gap 1e-6", _gap),
    Baseline("LAPACK ratio 30", _test_ratio),
    Baseline("own classical 1e-8", _own_classical, asks_own=True),
    Baseline("3 x baseline", _baseline),
)


def opinions(folder: Path) -> dict[str, Opinion]:
    """What each rival says of the runs kept in an artefact: refuses if it refuses at least one.

    Runs that ended at different iterations are compared where the shorter one ended.
    """
    artefact = read_artefact(folder)
    case, runs = artefact.case, artefact.trajectories
    own = runs.get(run_key(1))
    found = {s: _ends(case, s, run, own) for s in case.s_values if (run := runs.get(run_key(s)))}
    lengths = sorted({length for length, _, _ in found.values()})
    precision = case.declaration.precision
    references = ReferenceSolver(precision, "classical"), LongReference()
    trusted, exact = (_classical(case, one, lengths) for one in references)
    said: dict[str, list[bool]] = {rival.name: [] for rival in BASELINES}
    for s, (length, final, classical) in found.items():
        answers = Answers(case.problem, precision, s, final, trusted[length], classical, exact[length])
        for rival in BASELINES:
            if (taken := rival.accepts(answers)) is not None:
                said[rival.name].append(taken)
    return {
        name: "not applicable" if not taken else "accepts" if all(taken) else "refuses"
        for name, taken in said.items()
    }


def _ends(
    case: Case, s: int, run: Trajectory, own: Trajectory | None
) -> tuple[int, np.ndarray, np.ndarray | None]:
    """Where a run is looked at: after how many iterations, its a there, and that of the run with s = 1."""
    blocks = case.stream.blocks(case.start, case.start + run.length)
    other = None if s == 1 else own
    length = run.length if other is None else min(run.length, other.length)
    final = _state(run, blocks, length)
    if final is None:
        length, final = run.length, run.final
    return length, final, None if other is None else _state(other, blocks, length)


def _classical(case: Case, reference: ReferenceSolver, lengths: Sequence[int]) -> dict[int, np.ndarray]:
    """A after each number of iterations of the classical reference, made once to the largest of them."""
    if not lengths:
        return {}
    request = RunRequest(
        case.problem, case.stream, 1, lengths[-1], start=case.start, initial=case.initial,
        record=tuple(lengths),
    )  # fmt: skip
    run = reference.run(request)
    return {length: run.at(length) for length in lengths}


def _state(run: Trajectory, blocks: np.ndarray, length: int) -> np.ndarray | None:
    """A after so many iterations; None where neither a record nor the log of steps has it."""
    if length > run.length:
        return None
    place = int(np.searchsorted(run.iterations, length, side="right")) - 1
    begin = int(run.iterations[place])
    if begin == length:
        return run.alphas[place]
    if run.log is None:
        return None
    a = run.alphas[place].copy()
    # Of a coordinate that is drawn again the last value counts: the first one of the log read backwards.
    drawn, values = blocks[begin:length].ravel()[::-1], run.log[begin:length].ravel()[::-1]
    coordinates, first = np.unique(drawn, return_index=True)
    a[coordinates] = values[first]
    return a

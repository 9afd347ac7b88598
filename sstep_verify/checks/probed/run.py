"""A run with its probes, and the judge's own kernel rows: what K-SVM and K-RR share."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sstep_verify.bounds.kernel.entries import KernelEntries, kernel_entries
from sstep_verify.checks.probed.compared import ROWS, STORED, Compared, compared, joined, reduced
from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.finding import ratios
from sstep_verify.checks.shared.kept_entries import kept_entries
from sstep_verify.checks.steps.rows import WHOLE_WORDS
from sstep_verify.numerics.rounding import largest_normal
from sstep_verify.oracle.facade import Oracle
from sstep_verify.quantities import WRITE_BACK
from sstep_verify.trajectory import Probes, Trajectory


class ProbedRun:
    """A logged run with probes.

    Parameters
    ----------
    case : Case
        The case.
    trajectory : Trajectory
        The run; it has a log and probes, of the right shapes.
    oracle : Oracle
        Keeps kernel entries.
    """

    def __init__(self, case: Case, trajectory: Trajectory, oracle: Oracle):
        assert trajectory.log is not None
        assert trajectory.probes is not None
        self.case, self.trajectory, self._oracle = case, trajectory, oracle
        self.probes: Probes = trajectory.probes
        self.steps, self.width, self.block = trajectory.length, trajectory.s, case.stream.block
        self.draws = case.stream.blocks(trajectory.start, trajectory.start + self.steps)
        self.log = np.ascontiguousarray(trajectory.log, dtype=np.float64)
        self.formed = np.arange(self.steps)

    def windows(self) -> Iterator[slice]:
        """The windows, in order."""
        for begin in range(0, self.steps, self.width):
            yield slice(begin, min(begin + self.width, self.steps))

    def entries(self, coordinates: np.ndarray) -> KernelEntries:
        """Kernel rows of some coordinates, shape (c,)."""
        problem, declaration = self.case.problem, self.case.declaration
        if problem.samples**2 > WHOLE_WORDS:
            return kernel_entries(problem, declaration, coordinates)
        return kept_entries(self._oracle, problem, declaration).at(coordinates)

    def walked(self) -> Iterator[tuple[slice, np.ndarray, np.ndarray, KernelEntries]]:
        """Each window: steps, a at its start, a before each step (w, m), rows of its draws (w b, m)."""
        alpha = np.array(self.trajectory.alphas[0], dtype=np.float64)
        for window in self.windows():
            start, before = alpha.copy(), []
            for step in range(window.start, window.stop):
                before.append(alpha.copy())
                alpha[self.draws[step]] = self.log[step]
            yield window, start, np.array(before), self.entries(self.draws[window].ravel())

    def rows(self) -> Compared:
        """The kernel rows of every window."""
        parts = []
        for window in self.windows():
            entries, steps = self.entries(self.draws[window].ravel()), window.stop - window.start
            shape = (steps, -1)
            with np.errstate(over="ignore", invalid="ignore"):
                bound = (entries.solver + entries.own).reshape(shape)
            formed = np.full(steps, window.start)
            recorded = self.probes.rows[window].reshape(shape)
            parts.append(compared(ROWS, formed, recorded, entries.values.reshape(shape), bound))
        return joined(ROWS, parts)


def malformed(case: Case, trajectory: Trajectory) -> str:
    """What a run with probes lacks, or has in another shape; empty where it lacks nothing."""
    probes, steps, block = trajectory.probes, trajectory.length, case.stream.block
    if probes is None or trajectory.log is None:
        return (
            f"{case.declaration.name} declares that it writes down what its steps use, but the run did not"
        )
    shapes = {
        "log": (trajectory.log, (steps, block)),
        "rows": (probes.rows, (steps, block, case.problem.samples)),
        "gradient": (probes.gradient, (steps, block)),
        "curvature": (probes.curvature, (steps, block, block)),
        "increment": (probes.increment, (steps, block)),
    }
    for name, (values, shape) in shapes.items():
        if values is not None and np.shape(values) != shape:
            return f"the {name} of the steps has the shape {np.shape(values)} instead of {shape}"
    return ""


def stored_values(run: ProbedRun, values: np.ndarray, distance: np.ndarray, bound: np.ndarray) -> Compared:
    """What became of a: the new values logged, against the recorded increments; all of shape (H, b).

    Parameters
    ----------
    run : ProbedRun
        The run, with increments.
    values : ndarray
        Values of the drawn coordinates before each step.
    distance, bound : ndarray
        Logged change against the increment, and the bound on it.
    """
    increment = run.probes.increment
    assert increment is not None
    # No sum of these overflows, so that what is stored is a number.
    with np.errstate(over="ignore"):
        known = np.abs(values) + np.abs(increment) <= largest_normal(run.case.declaration.precision)
    stored = np.isfinite(run.log)
    distance, bound = np.where(stored, distance, np.inf), np.where(stored, bound, 0.0)
    bound = np.where(known & ~np.isnan(bound), bound, np.inf)
    with np.errstate(invalid="ignore", over="ignore"):
        lost = ratios(np.abs(increment), bound).max(axis=1)
        own = values + increment
    unchanged = {WRITE_BACK: (run.log == values).all(axis=1)}
    effects = {WRITE_BACK: np.nan_to_num(lost, nan=0.0, posinf=np.inf)}
    return reduced(STORED, run.formed, distance, bound, (run.log, own), effects, unchanged)

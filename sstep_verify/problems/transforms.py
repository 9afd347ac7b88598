"""Problems made from problems, whose exact solution paths follow from each other.

Every transformation states how a of the new problem follows from a of the old one, step by step, in
exact arithmetic; which of them rounding respects as well is for the checks to say.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from sstep_verify.errors import InputError
from sstep_verify.problems.losses import Loss, Ridge
from sstep_verify.problems.parameters import times_power
from sstep_verify.problems.problem import Problem
from sstep_verify.problems.streams import IndexStream, relabelling


@dataclass(frozen=True, eq=False)
class Transformed:
    """A transformed problem with its stream, and the map between the two vectors a.

    ``a' = sign * 2**exponent * a[order]``: every map is exact in floating point.

    Parameters
    ----------
    problem : Problem
        The new problem.
    stream : IndexStream
        The stream that draws the same samples.
    exponent : int
        Power of two by which a grows.
    sign : {1, -1}
        Sign by which a is multiplied.
    order : ndarray of int, shape (m,), optional
        Old number of each sample; unchanged if absent.
    kernel_exponent : int
        Power of two by which kernel values grow.
    """

    problem: Problem
    stream: IndexStream
    exponent: int = 0
    sign: int = 1
    order: np.ndarray | None = None
    kernel_exponent: int = 0

    def forward(self, alpha: np.ndarray) -> np.ndarray:
        """The vector a' that belongs to a, shape (m,)."""
        moved = alpha if self.order is None else alpha[self.order]
        return self.sign * np.ldexp(moved, self.exponent)

    def back(self, alpha: np.ndarray) -> np.ndarray:
        """The vector a that belongs to a', shape (m,)."""
        moved = self.sign * np.ldexp(alpha, -self.exponent)
        if self.order is None:
            return moved
        original = np.empty_like(moved)
        original[self.order] = moved
        return original


def scale_data(problem: Problem, stream: IndexStream, power: int) -> Transformed:
    """Multiply the data by ``2**power`` and adapt the parameters.

    The kernel gains a factor f = 2**(2 power) (linear), 2**(2 power degree) (polynomial, its offset
    multiplied by 2**(2 power)) or 1 (RBF, sigma divided by 2**(2 power)). K-SVM: C, and with it a, is
    divided by f, so that K a and the gradient stay; omega = 1/(2C) grows with K. K-RR: lambda is
    multiplied by f, so that K/lambda and a stay.

    Raises
    ------
    InputError
        If a value cannot be multiplied exactly in float64.
    """
    kernel, factor = problem.kernel.scaled(power)
    data = problem.data
    if isinstance(data, np.ndarray):
        data = times_power(data, power, "the data")
    else:
        data = sp.csr_array(
            (times_power(data.data, power, "the data"), data.indices, data.indptr), data.shape
        )
    loss: Loss = problem.loss
    if isinstance(loss, Ridge):
        loss, exponent = Ridge(float(times_power(loss.penalty, factor, "lambda"))), 0
    else:
        loss, exponent = replace(loss, C=float(times_power(loss.C, -factor, "C"))), -factor
    scaled = replace(problem, data=data, kernel=kernel, loss=loss)
    return Transformed(scaled, stream, exponent=exponent, kernel_exponent=factor)


def scale_targets(problem: Problem, stream: IndexStream, power: int) -> Transformed:
    """Multiply the targets of a K-RR by ``-2**power``, and with them a.

    Raises
    ------
    InputError
        If a target cannot be multiplied exactly in float64, or the problem is no K-RR.
    """
    targets = -times_power(problem.targets, power, "the targets")
    changed = replace(problem, targets=targets, loss=problem.ridge)
    return Transformed(changed, stream, exponent=power, sign=-1)


def flip_labels(problem: Problem, stream: IndexStream) -> Transformed:
    """Exchange the two classes of a K-SVM; Q, and with it a, stays.

    Raises
    ------
    InputError
        If the problem is no K-SVM.
    """
    return Transformed(replace(problem, targets=-problem.targets, loss=problem.hinge), stream)


def relabel(problem: Problem, stream: IndexStream, seed: int) -> Transformed:
    """Number the samples anew by a seeded permutation; the stream draws the same samples.

    Raises
    ------
    InputError
        If the samples of the stream are numbered anew already.
    """
    if stream.relabel is not None:
        raise InputError(f"the index stream is numbered anew already (seed {stream.relabel})")
    order, _ = relabelling(problem.samples, seed)
    changed = replace(problem, data=problem.data[order], targets=problem.targets[order])
    return Transformed(changed, replace(stream, relabel=seed), order=order)


def append_zero_columns(problem: Problem, stream: IndexStream, count: int) -> Transformed:
    """Append `count` features that are 0 in every sample; nothing else changes."""
    data, shape = problem.data, (problem.samples, problem.features + count)
    if isinstance(data, np.ndarray):
        return Transformed(replace(problem, data=np.pad(data, ((0, 0), (0, count)))), stream)
    wide = sp.csr_array((data.data, data.indices, data.indptr), shape)
    return Transformed(replace(problem, data=wide), stream)


def permute_features(problem: Problem, stream: IndexStream, seed: int) -> Transformed:
    """Put the features into another, seeded order; nothing else changes."""
    order, _ = relabelling(problem.features, seed)
    return Transformed(replace(problem, data=problem.data[:, order]), stream)

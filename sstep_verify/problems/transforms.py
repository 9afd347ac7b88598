"""Problems made from problems, whose exact solution paths follow from each other.

Every transformation states how a of the new problem follows from a of the old one, step by step, in
exact arithmetic; which of them rounding respects as well is for the checks to say.

Two are for what other programs solve. One is a constant feature in place of a bias term, which the
problems here do not have. Every sample x becomes (x, B), as LIBLINEAR's ``-B`` has it, in training and
in prediction. A linear kernel becomes ``<x, z> + B**2``: the last weight times B is the bias, and
unlike a true bias it is regularised, so that a larger B holds it back less. A polynomial kernel becomes
``(offset + B**2 + <x, z>)**degree``, which is another offset. An RBF kernel depends on differences of
samples only and does not change, so a constant feature is refused there.

Source: R.-E. Fan et al., "LIBLINEAR: A Library for Large Linear Classification", JMLR 9 (2008), section
2.

The other is the factor by which another convention writes a dual vector, c a instead of alpha (a). K-RR: a
solves ``(K/lambda + m I) a = y``, and d = a/lambda solves ``(K + lambda m I) d = y``, which is what
scikit-learn's KernelRidge(alpha = lambda m) returns; without the mean over the samples the factor m
moves to the other side. K-SVM: an objective with the mean of the losses, or with the penalty on the
weights in place of C on the losses, has C or m on the other side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from sstep_verify.errors import InputError, closest
from sstep_verify.problems.kernels import Kernel, times_power
from sstep_verify.problems.losses import Loss, Ridge
from sstep_verify.problems.problem import Problem
from sstep_verify.problems.streams import IndexStream, relabelling


def scales(problem: Problem) -> dict[str, float]:
    """Known factors c by name, for the parameters of one problem, that are finite and not 0."""
    m, parameter = float(problem.samples), problem.loss.parameter
    p = problem.loss.symbol
    factors = {
        "-1": -1.0, "2": 2.0, "1/2": 0.5, "m": m, "1/m": 1 / m, p: parameter, f"1/{p}": 1 / parameter,
        f"m*{p}": m * parameter, f"1/(m*{p})": 1 / m / parameter, f"m/{p}": m / parameter,
        f"{p}/m": parameter / m,
    }  # fmt: skip
    return {name: value for name, value in factors.items() if math.isfinite(value) and value}


def scale_from(problem: Problem, text: str) -> float:
    """The factor that a text says: a name of `scales`, or a number.

    Raises
    ------
    InputError
        If it is neither, or 0.
    """
    known = scales(problem)
    if (word := text.replace(" ", "")) in known:
        return known[word]
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value):
        raise InputError(
            f"scale {text!r}{closest(text, known)}; it must be a number other than 0, or one of "
            f"{', '.join(known)}"
        )
    return value


def require_usable(bias: float, kernel: Kernel) -> None:
    """Raise InputError unless a constant feature of this value (0: none) can be appended under a kernel."""
    if not (math.isfinite(bias) and bias >= 0):
        raise InputError(
            f"bias = {bias!r}, but the value of the constant feature must be finite and > 0; 0 appends none"
        )
    if bias and kernel.of_distance:
        raise InputError(
            f"bias = {bias:g} with the {kernel.name} kernel: a constant feature changes no distance, and "
            "no kernel value; leave the bias out, or use the linear or polynomial kernel"
        )


def with_constant_feature(data: Any, bias: float) -> Any:
    """A fresh matrix with a constant feature appended, dense or CSR as the data; the data if it is 0."""
    if not bias:
        return data
    parts: list[Any] = [data, np.full((data.shape[0], 1), bias)]
    return sp.hstack(parts, format="csr") if sp.issparse(data) else np.hstack(parts)


@dataclass(frozen=True, eq=False)
class Transformed:
    """A transformed problem with its stream, and the map between the two vectors a.

    ``a' = 2**exponent * a[order]``: every map is exact in floating point.

    Parameters
    ----------
    problem : Problem
        The new problem.
    stream : IndexStream
        The stream that draws the same samples.
    exponent : int
        Power of two by which a grows.
    order : ndarray of int, shape (m,), optional
        Old number of each sample; unchanged if absent.
    kernel_exponent : int
        Power of two by which kernel values grow.
    """

    problem: Problem
    stream: IndexStream
    exponent: int = 0
    order: np.ndarray | None = None
    kernel_exponent: int = 0

    def forward(self, alpha: np.ndarray) -> np.ndarray:
        """The vector a' that belongs to a, shape (m,)."""
        moved = alpha if self.order is None else alpha[self.order]
        return np.ldexp(moved, self.exponent)

    def back(self, alpha: np.ndarray) -> np.ndarray:
        """The vector a that belongs to a', shape (m,)."""
        moved = np.ldexp(alpha, -self.exponent)
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
        If a value cannot be multiplied exactly in float64, or the kernel has no form for such data.
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
    """Multiply the targets of a K-RR by ``2**power``, and with them a.

    Raises
    ------
    InputError
        If a target cannot be multiplied exactly in float64, or the problem is no K-RR.
    """
    targets = times_power(problem.targets, power, "the targets")
    changed = replace(problem, targets=targets, loss=problem.ridge)
    return Transformed(changed, stream, exponent=power)


def relabel(problem: Problem, stream: IndexStream, seed: int) -> Transformed:
    """Renumber the samples by a seeded permutation; the stream draws the same samples.

    Raises
    ------
    InputError
        If the samples of the stream are renumbered already.
    """
    if stream.relabel is not None:
        raise InputError(f"the index stream is renumbered already (seed {stream.relabel})")
    order, _ = relabelling(problem.samples, seed)
    changed = replace(problem, data=problem.data[order], targets=problem.targets[order])
    return Transformed(changed, replace(stream, relabel=seed), order=order)

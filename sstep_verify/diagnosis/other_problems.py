"""Problems that a solver may have solved instead of the right one: one list for all that explains.

A final vector may be the optimum of any of them; steps of a run may be right ones on those with a name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sstep_verify.diagnosis.kernel_rows import BIAS, EVERYWHERE, LABELS, LOST, MOST_WORDS, NORMS, SPLIT
from sstep_verify.errors import InputError
from sstep_verify.problems import (
    Hinge,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
)
from sstep_verify.problems.transforms import with_constant_feature

BOTH, UNLABELLED = "labels inside and outside the kernel", "K instead of Q"
TIMES_M, OVER_LAMBDA = "alpha scaled by m", "alpha scaled by 1/lambda"
M_LOST, LAMBDA_LOST = "m taken as 1", "lambda taken as 1"
OMEGA_TWICE, OMEGA_HALF, OTHER_LOSS = "omega doubled", "omega halved", "the other loss"
OMEGA_ZERO, OMEGA_INVERTED = "omega taken as 0", "omega taken as C/2"
SIGMA_AS_WIDTH = "sigma taken as a width"
SIGMA_TWICE, SIGMA_HALF, OFFSET = "sigma doubled", "sigma halved", "offset taken as 0"
POLYNOMIAL_LINEAR, RBF_LINEAR = "linear instead of polynomial kernel", "linear instead of RBF kernel"
DEGREE_LESS, DEGREE_MORE = "degree one too small", "degree one too large"

SOLVED_INSTEAD = (
    LABELS, BOTH, EVERYWHERE, TIMES_M, OVER_LAMBDA, M_LOST, LAMBDA_LOST, OMEGA_TWICE, OMEGA_HALF,
    OMEGA_ZERO, OMEGA_INVERTED, SIGMA_TWICE, SIGMA_HALF, SIGMA_AS_WIDTH,
    DEGREE_LESS, DEGREE_MORE, OFFSET, NORMS, LOST, SPLIT, BIAS, UNLABELLED,
    OTHER_LOSS, POLYNOMIAL_LINEAR, RBF_LINEAR,
)  # fmt: skip
"""Other matrices than Q or M: labels inside the kernel stand there instead of those outside."""


class Other(NamedTuple):
    """Another problem than the right one.

    Parameters
    ----------
    detail : tuple of str or float
        What it is, as its `ReadingKind` says.
    problem : Problem
        The problem.
    name : str
        Name of the mistake in the specification; empty where it names none.
    """

    detail: tuple[str | float, ...]
    problem: Problem
    name: str = ""


def changed(
    problem: Problem, detail: tuple[str | float, ...], name: str = "", **changes: Any
) -> Iterator[Other]:
    """The problem with some fields changed; none where no such problem is, or it is the same."""
    with suppress(InputError):  # A number beyond its range: nobody solves that problem.
        other = replace(problem, **changes)
        if other.digest != problem.digest:
            yield Other(detail, other, name)


def other_loss(problem: Problem) -> Iterator[Other]:
    """L2 instead of L1, or the other way round."""
    for mine, other, task in ((Hinge, SquaredHinge, "svm-l2"), (SquaredHinge, Hinge, "svm-l1")):
        if isinstance(problem.loss, mine):
            with suppress(InputError):
                yield from changed(problem, (task,), OTHER_LOSS, loss=other(problem.loss.C))


def other_penalty(problem: Problem) -> Iterator[Other]:
    """Another C or lambda: doubled, halved, inverted, with m on the other side."""
    loss, m = problem.loss, float(problem.samples)
    p, value = loss.symbol, loss.parameter
    parameters = {f"2*{p}": 2 * value, f"{p}/2": value / 2, f"m*{p}": m * value, f"1/{p}": 1 / value}
    parameters |= {f"1/(m*{p})": 1 / m / value} if problem.is_svm else {p: 1.0}
    # K-RR with lambda/m is what a sum instead of the mean gives, which is named apart.
    parameters |= {f"{p}/m": value / m} if problem.is_svm else {}
    names = {p: LAMBDA_LOST}
    if isinstance(loss, SquaredHinge):
        names = {f"2*{p}": OMEGA_HALF, f"{p}/2": OMEGA_TWICE, f"1/{p}": OMEGA_INVERTED}  # omega = 1/(2C)
    for how, one in parameters.items():
        with suppress(InputError):
            if one != value and 0 < one < math.inf:
                yield from changed(problem, (p, how, one, value), names.get(how, ""), loss=type(loss)(one))


def omega_taken_as_zero(problem: Problem) -> Iterator[Other]:
    """K-SVM-L2 with an omega that is 0 next to every other number."""
    if isinstance(problem.loss, SquaredHinge):
        yield from changed(problem, (), OMEGA_ZERO, loss=SquaredHinge(2.0**200))


def m_taken_as_one(problem: Problem) -> Iterator[Other]:
    """K-RR with 1 instead of m on the diagonal: with lambda/m, M is m times the matrix of that."""
    if isinstance(problem.loss, Ridge) and problem.ridge.penalty / problem.samples > 0:
        loss = Ridge(problem.ridge.penalty / problem.samples)
        with np.errstate(over="ignore"):
            targets = problem.targets * float(problem.samples)
        yield from changed(problem, (), M_LOST, targets=targets, loss=loss)


def scaled_solution(problem: Problem) -> Iterator[Other]:
    """K-RR whose solution is m or 1/lambda times the right one: M a = y has the steps of M (f a) = f y."""
    if isinstance(problem.loss, Ridge):
        with np.errstate(over="ignore"):
            y, m, penalty = problem.targets, float(problem.samples), problem.ridge.penalty
            yield from changed(problem, (), TIMES_M, targets=y * m)
            yield from changed(problem, (), OVER_LAMBDA, targets=y / penalty)


def labels_inside(problem: Problem) -> Iterator[Other]:
    """Labels inside the kernel, alone or also outside; with the linear kernel the first is right."""
    if problem.loss.labelled and _copied(problem):
        data = problem.targets[:, None] * problem.dense
        inside = {} if problem.kernel.linear else {LABELS: np.ones(problem.samples)}
        for name, targets in {**inside, BOTH: problem.targets}.items():
            yield from changed(problem, (name,), name, data=data, targets=targets)


def labels_left_out(problem: Problem) -> Iterator[Other]:
    """K instead of Q."""
    if problem.loss.labelled and np.unique(problem.targets).size > 1:
        yield from changed(problem, (), UNLABELLED, targets=np.ones(problem.samples))


def other_kernel(problem: Problem) -> Iterator[Other]:
    """Another parameter of the kernel: conventions of its width, degree, offset, and a factor 1/n."""
    kernel = problem.kernel
    if isinstance(kernel, RBFKernel):
        s = kernel.sigma
        widths = {
            "2*sigma": 2 * s, "sigma/2": s / 2, "1/sigma": 1 / s, "1/sigma^2": 1 / s / s,
            "1/(2*sigma^2)": 1 / s / s / 2, "1/(2*sigma)": 1 / s / 2, "sigma/n": s / problem.features,
            "1/n": 1.0 / problem.features,
        }  # fmt: skip
        for how, width in widths.items():
            with suppress(InputError):
                name = {"2*sigma": SIGMA_TWICE, "sigma/2": SIGMA_HALF, "1/(2*sigma^2)": SIGMA_AS_WIDTH}.get(
                    how, ""
                )
                if width != s:
                    yield from changed(problem, ("sigma", how, width, s), name, kernel=RBFKernel(width))
    elif isinstance(kernel, PolynomialKernel):
        for degree, name in ((kernel.degree - 1, DEGREE_LESS), (kernel.degree + 1, DEGREE_MORE)):
            with suppress(InputError):
                other = replace(kernel, degree=degree)
                yield from changed(problem, ("degree", "", degree, kernel.degree), name, kernel=other)
        for offset in {0.0, 1.0} - {kernel.offset}:
            name, shifted = OFFSET if offset == 0.0 else "", replace(kernel, offset=offset)
            yield from changed(problem, ("offset", "", offset, kernel.offset), name, kernel=shifted)
        if problem.features > 1 and _copied(problem):
            data = problem.dense / math.sqrt(problem.features)
            yield from changed(problem, ("n",), data=data)


def linear_kernel(problem: Problem) -> Iterator[Other]:
    """The linear kernel instead of another one."""
    names = {"polynomial": POLYNOMIAL_LINEAR, "rbf": RBF_LINEAR}
    yield from changed(problem, ("linear",), names.get(problem.kernel.name, ""), kernel=LinearKernel())


def constant_feature(problem: Problem) -> Iterator[Other]:
    """A regularised bias, as LIBLINEAR's -B 1."""
    if not problem.kernel.of_distance:
        yield from changed(problem, (), data=with_constant_feature(problem.data, 1.0))


def features_lost(problem: Problem) -> Iterator[Other]:
    """Features that are lost: of a rank, or the first or last by indices that count from 1 in the file."""
    n = problem.features
    parts = {(n // 2, n): ("last", "half"), (0, n // 2): ("first", "half")}
    parts |= {(n - 1, n): ("last", "feature"), (0, 1): ("first", "feature")}
    for (begin, end), part in parts.items() if n > 1 and _copied(problem) else ():
        if problem.dense[:, begin:end].any():
            data = np.array(problem.dense)
            data[:, begin:end] = 0.0
            yield from changed(problem, part, LOST, data=data)


def _copied(problem: Problem) -> bool:
    """Whether the data are so few that copies of them are made."""
    return problem.samples * problem.features <= MOST_WORDS


NAMED: tuple[Callable[[Problem], Iterator[Other]], ...] = (
    labels_inside, labels_left_out, scaled_solution, m_taken_as_one, omega_taken_as_zero, other_penalty,
    other_loss, other_kernel, linear_kernel, features_lost,
)  # fmt: skip
"""Those whose problems may have a name."""


def mistaken_problems(problem: Problem) -> list[Other]:
    """Problems with a name, right steps on which may explain a run."""
    return [other for others in NAMED for other in others(problem) if other.name]

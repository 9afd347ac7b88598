"""Other problems that a solver may have solved: another loss, penalty, kernel, bias, labels, features."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import numpy as np

from sstep_verify.checks.answer.reading import Answer, Reading, as_it_is
from sstep_verify.checks.window.mistaken import (
    BOTH,
    DEGREE,
    LABELS,
    LAMBDA_LOST,
    M_LOST,
    MOST_WORDS,
    OFFSET,
    OMEGA,
    SIGMA,
    UPPER,
    mistaken_problems,
)
from sstep_verify.errors import InputError
from sstep_verify.problems import Hinge, PolynomialKernel, RBFKernel, Ridge, SquaredHinge
from sstep_verify.problems.bias import with_constant_feature
from sstep_verify.problems.losses import Loss


def no_upper_end(answer: Answer) -> Iterator[Reading]:
    """K-SVM-L1 without its upper end: as with a C that no entry reaches."""
    if isinstance(answer.problem.loss, Hinge) and answer.largest > answer.problem.loss.C:
        told = f"the optimum without the upper end C = {answer.problem.loss.C:g} of the box"
        yield as_it_is(answer, told, problem=_with_loss(answer, Hinge(2 * answer.largest)), sign=UPPER)


def other_loss(answer: Answer) -> Iterator[Reading]:
    """L2 in the place of L1, or the other way round."""
    loss = answer.problem.loss
    if isinstance(loss, Ridge):
        return
    other, told = (SquaredHinge, "svm-l2") if isinstance(loss, Hinge) else (Hinge, "svm-l1")
    with suppress(InputError):
        problem = _with_loss(answer, other(loss.C))
        yield as_it_is(answer, f"the optimum of the other loss, {told} with the same C", problem=problem)


def other_penalty(answer: Answer) -> Iterator[Reading]:
    """Another C or lambda: doubled, halved, inverted, with m on the other side."""
    loss, m = answer.problem.loss, float(answer.problem.samples)
    p, value = loss.symbol, loss.parameter
    tried = {f"2*{p}": 2 * value, f"{p}/2": value / 2, f"m*{p}": m * value, f"1/{p}": 1 / value}
    tried |= {f"1/(m*{p})": 1 / m / value} if answer.problem.is_svm else {"1": 1.0}
    # K-RR with lambda/m is what a sum in the place of the mean gives, which has a hint of its own.
    tried |= {f"{p}/m": value / m} if answer.problem.is_svm else {}
    signs = {"1": LAMBDA_LOST}
    if isinstance(loss, SquaredHinge):
        signs = {f"2*{p}": OMEGA, f"{p}/2": OMEGA}
    for name, one in tried.items():
        with suppress(InputError):
            if one == value or not 0 < one < math.inf:
                continue
            problem = _with_loss(answer, type(loss)(one))
            told = f"the optimum for {p} = {name} = {one:.6g} in the place of {value:.6g}"
            yield as_it_is(answer, told, problem=problem, sign=signs.get(name, ""))


def m_taken_as_one(answer: Answer) -> Iterator[Reading]:
    """K-RR with 1 in the place of m on the diagonal."""
    for problem in () if answer.problem.is_svm else mistaken_problems(answer.problem).get(M_LOST, []):
        told = "the optimum with 1 in the place of m on the diagonal: of K/lambda + I"
        yield as_it_is(answer, told, problem=problem, sign=M_LOST)


def labels_inside(answer: Answer) -> Iterator[Reading]:
    """Labels inside the kernel, alone or also outside."""
    if answer.problem.is_svm:
        for name in (LABELS, BOTH):
            for problem in mistaken_problems(answer.problem).get(name, []):
                told = f"the optimum of {name}: K(y_i x_i, y_j x_j)"
                yield as_it_is(answer, told, problem=problem, sign=name)


def labels_left_out(answer: Answer) -> Iterator[Reading]:
    """K in the place of Q."""
    problem = answer.problem
    if problem.is_svm and np.unique(problem.targets).size > 1:
        plain = replace(problem, targets=np.ones(problem.samples))
        yield as_it_is(
            answer, "the optimum of K in the place of Q: the labels were left out", problem=plain
        )


def other_kernel(answer: Answer) -> Iterator[Reading]:
    """Another parameter of the kernel: conventions of its width, degree, offset, and a factor 1/n."""
    problem, kernel = answer.problem, answer.problem.kernel
    if isinstance(kernel, RBFKernel):
        s = kernel.sigma
        widths = {
            "2*sigma": 2 * s, "sigma/2": s / 2, "1/sigma": 1 / s, "1/sigma^2": 1 / s / s,
            "1/(2*sigma^2)": 1 / s / s / 2, "1/(2*sigma)": 1 / s / 2, "sigma/n": s / problem.features,
            "1/n": 1.0 / problem.features,
        }  # fmt: skip
        for name, width in widths.items():
            with suppress(InputError):
                sign = SIGMA if name in ("2*sigma", "sigma/2") else ""
                if width != s:
                    yield _of_kernel(answer, RBFKernel(width), f"sigma = {name} = {width:.6g}", sign)
    elif isinstance(kernel, PolynomialKernel):
        for degree in {kernel.degree - 1, kernel.degree + 1}:
            with suppress(InputError):
                yield _of_kernel(answer, replace(kernel, degree=degree), f"degree = {degree}", DEGREE)
        for offset in {0.0, 1.0} - {kernel.offset}:
            sign = OFFSET if offset == 0.0 else ""
            yield _of_kernel(answer, replace(kernel, offset=offset), f"offset = {offset:g}", sign)
        if problem.features > 1 and problem.samples * problem.features <= MOST_WORDS:
            data = problem.dense / math.sqrt(problem.features)
            told = "the optimum of (offset + <x, z>/n)^d: inner products divided by the number of features"
            yield as_it_is(answer, told, problem=replace(problem, data=data))


def _of_kernel(answer: Answer, kernel, told: str, sign: str) -> Reading:
    problem = replace(answer.problem, kernel=kernel)
    return as_it_is(answer, f"the optimum for {told} of the kernel", problem=problem, sign=sign)


def constant_feature(answer: Answer) -> Iterator[Reading]:
    """A regularised bias, as LIBLINEAR's -B 1."""
    if not answer.problem.kernel.of_distance:
        problem = replace(answer.problem, data=with_constant_feature(answer.problem.data, 1.0))
        told = "the optimum with a constant feature 1 for a bias, as -B 1 in LIBLINEAR (say --bias 1)"
        yield as_it_is(answer, told, problem=problem)


def free_bias(answer: Answer) -> Iterator[Reading]:
    """A bias that is not regularised, as LIBSVM has it: the dual then has the constraint y'a = 0."""
    if answer.problem.is_svm and np.unique(answer.problem.targets).size > 1:
        told = "the optimum with a bias that is not regularised, as LIBSVM has it (y'a = 0)"
        yield as_it_is(answer, told, free_bias=True)


def feature_lost(answer: Answer) -> Iterator[Reading]:
    """The first or last feature lost, as by indices that count from 1 in the file and from 0 elsewhere."""
    problem = answer.problem
    if problem.features < 2 or problem.samples * problem.features > MOST_WORDS:
        return
    for words, part in (("first", slice(1, None)), ("last", slice(None, -1))):
        if (problem.dense[:, 0 if words == "first" else -1] != 0).any():
            told = f"the optimum without the {words} feature: indices count from 1 in the file"
            yield as_it_is(answer, told, problem=replace(problem, data=problem.dense[:, part]))


def _with_loss(answer: Answer, loss: Loss):
    return replace(answer.problem, loss=loss)

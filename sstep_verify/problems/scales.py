"""Factors by which other conventions write a dual vector: c a in the place of a.

K-RR: a solves ``(K/lambda + m I) a = y``, and d = a/lambda solves ``(K + lambda m I) d = y``, which is what
scikit-learn's KernelRidge(alpha = lambda m) returns; without the mean over the samples the factor m moves
to the other side. K-SVM: an objective with the mean of the losses, or with the penalty on the weights in
the place of C on the losses, has C or m on the other side.
"""

from __future__ import annotations

import math

from sstep_verify.errors import InputError, closest
from sstep_verify.problems.problem import Problem


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
            f"scale {text!r}{closest(text, known)}; needed is a number other than 0, or one of "
            f"{', '.join(known)}"
        )
    return value

"""A problem as a declared precision holds it: what all bounds but those of the optimum are derived for.

A solver that rounds its input to its precision before anything is computed (`Declaration.data_rounding`)
solves another problem than the one that it was given, ``x~ = fl(x)``, ``y~ = fl(y)`` and parameters alike.
Rounding to nearest leaves no choice, so that problem is known exactly, and float64 holds it: a run is
judged against it, and no bound has a term for what the input lost. How far it is from the given problem is
a question about the input, which only what is said of the given problem's optimum asks
(bounds/optimum/). C is rounded before omega = 1/(2C) is formed from it.

Float64 and longdouble hold every problem as it is given, as does a solver that declares not to round.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import scipy.sparse as sp

from sstep_verify.declaration import Declaration
from sstep_verify.errors import InputError
from sstep_verify.problems import Problem
from sstep_verify.rounding.arithmetic import stored


def held_problem(problem: Problem, declaration: Declaration) -> Problem | None:
    """The problem whose data, targets and parameters are those that a solver computes with.

    Parameters
    ----------
    problem : Problem
        The problem that was given.
    declaration : Declaration
        Precision, and whether the input is rounded to it.

    Returns
    -------
    Problem or None
        The given problem itself where nothing is rounded; None where a number of it overflows, or a
        parameter that must be positive underflows: then nothing can be promised of a run.
    """
    if declaration.precision != "float32" or not declaration.data_rounding:
        return problem
    precision = declaration.precision
    data: Any = sp.csr_array(problem.data) if problem.is_sparse else problem.data
    if problem.is_sparse:
        data.data = stored(data.data, precision)
    try:
        held = replace(
            problem,
            data=data if problem.is_sparse else stored(data, precision),
            targets=stored(problem.targets, precision),
            kernel=_described(problem.kernel, precision),
            loss=_described(problem.loss, precision),
        )
    except InputError:
        return None
    return problem if held.digest == problem.digest else held


def _described(description: Any, precision: str) -> Any:
    """A kernel or loss with its real parameters rounded."""
    reals = {key: value for key, value in vars(description).items() if isinstance(value, float)}
    return replace(description, **{key: float(stored(value, precision)) for key, value in reals.items()})

"""The oracles by the names that a user chooses them by."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from sstep_verify.errors import InputError, closest
from sstep_verify.oracle.evaluated import EvaluatedOracle
from sstep_verify.oracle.facade import KERNEL, ROWS, Oracle
from sstep_verify.problems import Problem

ORACLES: dict[str, type[Oracle]] = {one.name: one for one in (Oracle, EvaluatedOracle)}


def oracle_named(name: str, problem: Problem) -> Oracle:
    """The oracle of this name about problems that share data and kernel with one.

    Raises
    ------
    InputError
        If there is none of this name, or the problem is too large for it.
    """
    if name not in ORACLES:
        raise InputError(
            f"oracle = {name!r:.40}: no oracle has that name{closest(name, ORACLES)} (known: "
            f"{', '.join(ORACLES)}); leave it out for arb"
        )
    return ORACLES[name](problem)


_latest: WeakKeyDictionary[Problem, tuple[str, dict[Hashable, Any]]] = WeakKeyDictionary()
"""What the last judgement leaves for the next one on the same problem object, as long as that lives."""


@contextmanager
def oracle_of_calls(name: str, problem: Problem) -> Iterator[Oracle]:
    """An oracle, as `oracle_named`, that takes over what the last call on the same problem object made.

    That are the judge's kernel rows and exact kernels, of one problem in the whole process. A call has them
    to itself: one that begins before it ends makes its own. None are left by a call that raises an error,
    nor of data that can be written to: NumPy makes those of a deep copy so, or unpickled ones.
    """
    oracle = oracle_named(name, problem)
    of, made = _latest.pop(problem, (name, {}))
    _latest.clear()
    if of == name:
        oracle.take_over(made)
    yield oracle
    _latest.clear()
    data: Any = problem.data
    arrays = (data.data, data.indices, data.indptr) if problem.is_sparse else (data,)
    if not any(array.flags.writeable for array in (problem.targets, *arrays)):
        _latest[problem] = name, oracle.passed_on((KERNEL, ROWS))

"""What wrong entries of an RBF kernel say of its exponent: another sigma, or other squared norms.

An entry K tells its exponent ``e = -log K`` up to ``a``: the error of exp, and that of the logarithm.
The exponent of a solver with another sigma, ``t d`` with ``d = |x - z|^2``, errs by ``t r``: r is what the
bound on entries (sstep_verify/rounding/kernel/entries.py) allows the distance to err by, and this module
once more. So t lies in ``[(e - a) / (d + r), (e + a) / (d - r)]`` for every entry.

The exponent of a solver that expands distances, from other squared norms and correct inner products, is
``sigma (d + u_i + v_j)``: ``e / sigma - d`` is a sum of a part of the row and a part of the column, up to
``a / sigma + r``. Lost features make every distance smaller, and a factor on rows or columns of the kernel
moves all of their exponents alike. Where either may be what was done, norms are not named, but for a norm
that is left out of every distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sstep_verify.declaration import LIBRARY_ULPS, Declaration
from sstep_verify.diagnosis.defects import Diagnosis
from sstep_verify.diagnosis.symbols import in_symbols
from sstep_verify.problems import Problem
from sstep_verify.problems.kernels import parameters_of
from sstep_verify.rounding.arithmetic import TYPES, gamma, unit_roundoff
from sstep_verify.specification import OFF, requirements_of
from sstep_verify.verdict import Defect

OTHER_SIGMA, ONE_NORM, OTHER_NORMS = "sigma" + OFF, "a squared norm left out", "other squared norms"

ENOUGH = 3
"""Entries, and different parts of rows or columns, that an explanation needs."""


class Entries(NamedTuple):
    """Entries of kernel rows that a solver used, shape (c, k), of the samples `rows` and `columns`."""

    rows: np.ndarray
    columns: np.ndarray
    used: np.ndarray


class _Exponents(NamedTuple):
    """What entries tell of exponents: all of shape (c, k).

    `exponent` is of those that are `told`; of those `below` the range of exp it is at least so much, and
    of those `at_one` the distance may have been negative, and taken as 0. `distance` is the correct one,
    and `reach` what it may err by.
    """

    exponent: np.ndarray
    error: np.ndarray
    told: np.ndarray
    below: np.ndarray
    at_one: np.ndarray
    distance: np.ndarray
    reach: np.ndarray


def explained_by_exponent(
    problem: Problem, declaration: Declaration, entries: Sequence[Entries]
) -> Diagnosis:
    """The defect of the exponent that reproduces all of these entries, some of which are wrong."""
    with np.errstate(all="ignore"):
        read = [_read(problem, declaration, one) for one in entries]
        if any(one is None for one in read):
            return Diagnosis()
        known, sigma = (
            [one for one in read if one is not None],
            float(parameters_of(problem.kernel)["sigma"]),
        )
        if (factors := _other_sigma(known, sigma)) is not None:
            low, high = factors
            symbol = in_symbols(problem, low, high, of_sigma=True)
            return _defect(problem, OTHER_SIGMA, (low + high) / 2, symbol)
        if declaration.rbf == "difference":
            return Diagnosis()
        norms = np.einsum("ij,ij->i", problem.dense, problem.dense)
        for moved in zip(*(_left_out(norms, one) for one in entries), strict=True):
            if all(_moved_by(one, by, sigma) for one, by in zip(known, moved, strict=True)):
                return _defect(problem, ONE_NORM)
        found = [_parts(one, sigma) for one in known]
        if all(one is not None for one in found) and any(one for one in found):
            return _defect(problem, OTHER_NORMS)
    return Diagnosis()


def _defect(problem: Problem, name: str, factor: float | None = None, symbol: str = "") -> Diagnosis:
    numbers = requirements_of(problem.loss.task, (name,))
    return Diagnosis((Defect((name,), factor, numbers, symbol=symbol),))


def _left_out(norms: np.ndarray, entries: Entries) -> tuple[np.ndarray, np.ndarray]:
    """How distances move where the norm of the row, and where that of the column, is left out."""
    shape = entries.used.shape
    of_rows, of_columns = -norms[entries.rows, None], -norms[entries.columns]
    return np.broadcast_to(of_rows, shape), np.broadcast_to(of_columns, shape)


def _read(problem: Problem, declaration: Declaration, entries: Entries) -> _Exponents | None:
    """What entries tell; None where one is no value of exp."""
    used = entries.used.astype(np.float64)
    if not (np.isfinite(used) & (used >= 0.0)).all():
        return None
    data, features = problem.dense, problem.features
    u, u64 = unit_roundoff(declaration.precision), unit_roundoff("float64")
    tiny = float(np.finfo(TYPES[declaration.precision]).tiny)
    others = data[entries.columns]
    distance = np.array([np.square(data[row] - others).sum(axis=1) for row in entries.rows.tolist()])
    reach = distance
    if declaration.rbf != "difference":
        norms = np.einsum("ij,ij->i", data, data)
        reach = norms[entries.rows, None] + norms[entries.columns]
        reach = reach + 2 * (np.abs(data[entries.rows]) @ np.abs(others).T)
    below = used < tiny
    exponent = -np.log(np.where(below, tiny, used))
    error = 4 * LIBRARY_ULPS * u + 4 * u64 * (1 + np.abs(exponent))
    # A solver may put 1 on the diagonal, whatever the distance.
    own = (entries.rows[:, None] == entries.columns) & (used == 1.0)
    return _Exponents(
        exponent, error, ~(below | own), below, (used == 1.0) & ~own, distance,
        2 * gamma(features + 8, u) * reach,
    )  # fmt: skip


def _other_sigma(known: Sequence[_Exponents], sigma: float) -> tuple[float, float] | None:
    """The interval of a factor on sigma that explains all entries; None if there is none but 1."""
    low, high, count = 0.0, np.inf, 0
    for one in known:
        largest = one.distance + one.reach
        least = np.where(one.told | one.below, (one.exponent - one.error) / largest, 0.0)
        low = max(low, float(np.nanmax(np.where(one.exponent > one.error, least, 0.0))))
        telling = one.told & (one.distance > one.reach)
        most = np.where(telling, (one.exponent + one.error) / (one.distance - one.reach), np.inf)
        high = min(high, float(most.min()))
        count += int(telling.sum())
    if count < ENOUGH or not 0.0 < low <= high < np.inf or low <= sigma <= high:
        return None
    return low / sigma, high / sigma


def _moved_by(one: _Exponents, moved: np.ndarray, sigma: float) -> bool:
    """Whether distances that are moved so make all entries, whether or not negative ones are taken as 0."""
    off = one.exponent / sigma - one.distance - moved
    room = one.error / sigma + one.reach
    taken_as_0 = one.at_one & (one.distance + moved <= room)
    right = (np.abs(off) <= room) | taken_as_0 | (one.below & (off <= room))
    return bool(right[one.told | one.below].all())


def _parts(one: _Exponents, sigma: float) -> bool | None:
    """Whether parts of rows and columns move the distances; None where no such parts explain them.

    True where no lost features and no factors on rows or columns would do the same.
    """
    told = one.told & ~one.at_one
    off, room = one.exponent / sigma - one.distance, one.error / sigma + one.reach
    first = int(told.sum(axis=1).argmax())
    of_columns = np.where(told[first], off[first], np.nan)
    rooms = room + room[first]
    apart = np.where(told, off - of_columns, np.nan)
    low, high = (
        np.nanmax(apart - rooms, axis=1, initial=-np.inf),
        np.nanmin(apart + rooms, axis=1, initial=np.inf),
    )
    known = np.isfinite(low) & np.isfinite(high)
    if not (low <= high).all():
        return None
    of_rows = np.where(known, (low + high) / 2, np.nan)
    moved = of_rows[:, None] + of_columns
    if not _moved_by(one._replace(reach=2 * room), np.where(np.isnan(moved), off, moved), sigma):
        return None
    larger = bool((told & (off > room)).any())
    told_often = int(np.isfinite(apart).sum()) - told.shape[1] - told.shape[0] >= ENOUGH
    widest = float(rooms[told].max(initial=0.0))
    different = max(_different(of_rows, widest), _different(of_columns, widest))
    return larger and told_often and different >= ENOUGH


def _different(values: np.ndarray, apart: float) -> int:
    """How many values differ by more than this from all smaller ones."""
    ordered = np.sort(values[np.isfinite(values)])
    return int((np.diff(ordered) > apart).sum()) + bool(ordered.size)

"""Numbers that count what is done with them: flops of a program, measured by running it over them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np


class Tally:
    """What has been done so far with the numbers that share it.

    Attributes
    ----------
    flops : int
        Additions, subtractions, multiplications, divisions and square roots.
    functions : int
        Exponentials.
    """

    def __init__(self) -> None:
        self.flops = self.functions = 0


def _counting(operation: Callable[[float, float], float]) -> tuple[Any, Any]:
    """An operator from the left and from the right, one flop each."""

    def left(self: CountedNumber, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        self.tally.flops += 1
        return CountedNumber(operation(self.value, float(other)), self.tally)

    def right(self: CountedNumber, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        self.tally.flops += 1
        return CountedNumber(operation(float(other), self.value), self.tally)

    return left, right


def _quotient(numerator: float, denominator: float) -> float:
    """As IEEE divides."""
    with np.errstate(all="ignore"):
        return float(np.divide(numerator, denominator))


class CountedNumber:
    """A float64 whose operations are counted; a change of sign and a comparison cost nothing.

    Parameters
    ----------
    value : float
        The number.
    tally : Tally
        Where operations are counted.
    """

    __slots__ = ("tally", "value")

    def __init__(self, value: float, tally: Tally):
        self.value, self.tally = value, tally

    __add__, __radd__ = _counting(lambda x, y: x + y)
    __sub__, __rsub__ = _counting(lambda x, y: x - y)
    __mul__, __rmul__ = _counting(lambda x, y: x * y)
    __truediv__, __rtruediv__ = _counting(_quotient)

    def __neg__(self) -> CountedNumber:
        return CountedNumber(-self.value, self.tally)

    def __float__(self) -> float:
        return self.value

    def __eq__(self, other: object) -> bool:
        return self.value == float(other)  # type: ignore[arg-type]

    def __lt__(self, other: Any) -> bool:
        return self.value < float(other)

    def __gt__(self, other: Any) -> bool:
        return self.value > float(other)

    __hash__ = None  # type: ignore[assignment]

    def sqrt(self) -> CountedNumber:
        """The square root, one flop; NumPy calls it."""
        self.tally.flops += 1
        return CountedNumber(math.sqrt(self.value) if self.value >= 0 else math.nan, self.tally)

    def exp(self) -> CountedNumber:
        """The exponential, counted apart; NumPy calls it."""
        self.tally.functions += 1
        return CountedNumber(math.exp(self.value), self.tally)


class CountedArray(np.ndarray):
    """An array of counted numbers, into which plain numbers are written as counted ones."""

    tally: Tally

    def __array_finalize__(self, source: Any) -> None:
        self.tally = getattr(source, "tally", None) or Tally()

    def __setitem__(self, place: Any, value: Any) -> None:
        if isinstance(value, (float, int)):
            value = CountedNumber(float(value), self.tally)
        super().__setitem__(place, value)


def counted(values: np.ndarray, tally: Tally) -> CountedArray:
    """The same numbers, each of which counts."""
    array = np.empty(values.shape, dtype=object).view(CountedArray)
    array.tally = tally
    for place, value in np.ndenumerate(values):
        array[place] = CountedNumber(float(value), tally)
    return array

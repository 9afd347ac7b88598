"""Greedy search of a small run that still fails: fewer iterations, smaller s and blocks, samples, features.

Hypothesis shrinks what it has drawn itself; here is a given problem, so the search is our own. It is
deterministic: what is tried follows from the size it begins with and from what has failed so far.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace


class OutOfTimeError(Exception):
    """The budget is spent; raised by what tries a size, and ends the search."""


@dataclass(frozen=True)
class Size:
    """What a run is cut down to: samples and features that are kept, ascending, and H, s and b."""

    samples: tuple[int, ...]
    features: tuple[int, ...]
    iterations: int
    s: int
    block: int

    @property
    def fitted(self) -> Size:
        """The size with no window longer than the run and no block of more coordinates than there are."""
        return replace(self, s=min(self.s, self.iterations), block=min(self.block, len(self.samples)))

    @property
    def words(self) -> str:
        """For reports."""
        shape = f"m = {len(self.samples)}, n = {len(self.features)}, H = {self.iterations}, s = {self.s}"
        return shape + (f", b = {self.block}" if self.block > 1 else "")


def smallest(size: Size, fails: Callable[[Size], bool]) -> Size:
    """The smallest size found that fails, from one that does.

    `fails` says whether a size fails; its `OutOfTimeError` ends the search with the smallest found so far.
    """
    search = _Search(size, fails)
    try:
        before = None
        while search.best != before:
            before = search.best
            for name in ("iterations", "s", "block"):
                search.lower(name)
            for name in ("samples", "features"):
                search.thin(name)
    except OutOfTimeError:
        pass
    return search.best


class _Search:
    def __init__(self, size: Size, fails: Callable[[Size], bool]):
        self.best = size
        self._fails, self._tried = fails, {size}

    def _take(self, size: Size) -> bool:
        """Go on from a size if it fails."""
        size = size.fitted
        if size in self._tried:
            return size == self.best
        self._tried.add(size)
        if self._fails(size):
            self.best = size
            return True
        return False

    def lower(self, name: str) -> None:
        """Halve the range in which the smallest number that fails is looked for."""
        low = 1
        while low < getattr(self.best, name):
            middle = (low + getattr(self.best, name)) // 2
            if not self._take(replace(self.best, **{name: middle})):
                low = middle + 1

    def thin(self, name: str) -> None:
        """Leave out half of the members, then quarters, and so on down to single ones."""
        width = len(getattr(self.best, name)) // 2
        while width:
            begin = 0
            while begin < len(held := getattr(self.best, name)):
                left = held[:begin] + held[begin + width :]
                if not left or not self._take(replace(self.best, **{name: left})):
                    begin += width
            width //= 2

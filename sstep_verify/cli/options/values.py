"""Options of a command together; their values: names that the shell completes, lists of numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def with_options(*options: Callable[[Callable], Callable]) -> Callable[[Callable], Callable]:
    """A decorator that gives a command some options, which its help lists in this order."""

    def decorate(function: Callable) -> Callable:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def campaigns() -> Iterable[str]:
    """Shipped campaigns."""
    from sstep_verify.campaign.shipped import shipped

    return shipped()


def checks() -> Iterable[str]:
    """Ids of the checks."""
    from sstep_verify.checks.registry import CHECKS

    return tuple(CHECKS)


def data_sets() -> Iterable[str]:
    """Data sets known by name."""
    from sstep_verify.problems.data.datasets import names

    return names()


def complete(names: Callable[[], Iterable[str]]) -> Complete:
    """Complete one of these names, or a file where no name begins so.

    Parameters
    ----------
    names : callable
        Gives the names; called only while the shell completes.
    """

    def found(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
        items = [CompletionItem(name) for name in names() if name.startswith(begun)]
        return items or [CompletionItem(begun, type="file")]

    return found


class Numbers(click.ParamType):
    """Whole numbers of at least `least`, between commas; where `none`, that word is an empty list."""

    name = "numbers"

    def __init__(self, least: int = 1, none: bool = False):
        self._least, self._none = least, none

    def convert(self, value, param, ctx):
        """The numbers, each once, ascending."""
        if isinstance(value, tuple):
            return value
        if self._none and value == "none":
            return ()
        try:
            found = sorted({int(word) for word in str(value).split(",")})
        except ValueError:
            self.fail(f"{value!r} is no list of whole numbers such as 1,2,4", param, ctx)
        if found[0] < self._least:
            self.fail(f"{found[0]} is below {self._least}", param, ctx)
        return tuple(found)


class Shape(click.ParamType):
    """Samples, features and nonzeros, between commas; the last ones may be left out."""

    name = "shape"

    def convert(self, value, param, ctx):
        """One to three whole numbers from 1."""
        if isinstance(value, tuple):
            return value
        try:
            shape = tuple(int(float(word)) for word in str(value).split(","))
        except (ValueError, OverflowError):
            shape = ()
        if not 1 <= len(shape) <= 3 or min(shape) < 1:
            self.fail(f"{value!r} is no shape such as 400,600 or 400,600,1000: M,N,NONZEROS", param, ctx)
        return shape


class Delays(click.ParamType):
    """Microseconds, and after a colon nanoseconds a byte, from 0; where `several`, between commas."""

    name = "delays"

    def __init__(self, several: bool):
        self._several = several

    def convert(self, value, param, ctx):
        """Pairs of microseconds and nanoseconds, ascending, each once."""
        if isinstance(value, tuple):
            return value
        words = str(value).split(",") if self._several else [str(value)]
        try:
            delays = {tuple(map(float, word.split(":", 1))) for word in words}
        except ValueError:
            self.fail(f"{value!r}: a delay is a number of microseconds such as 100, or 100:0.5", param, ctx)
        if not all(0 <= late <= 1e8 and 0 <= sum(byte) <= 1e6 for late, *byte in delays):
            self.fail(f"{value!r}: microseconds lie in 0..1e8, nanoseconds a byte in 0..1e6", param, ctx)
        return tuple(sorted(delays))

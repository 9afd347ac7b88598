"""Lists of numbers as values of options."""

from __future__ import annotations

import click


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


class Times(click.ParamType):
    """Numbers from 0, between commas, ascending, each once."""

    name = "numbers"

    def convert(self, value, param, ctx):
        """The numbers."""
        if isinstance(value, tuple):
            return value
        try:
            found = sorted({float(word) for word in str(value).split(",")})
        except ValueError:
            self.fail(f"{value!r} is no list of numbers such as 0,20,100", param, ctx)
        if not (found[0] >= 0 and found[-1] <= 1e8):
            self.fail(f"{value!r}: microseconds lie in 0..1e8", param, ctx)
        return tuple(found)

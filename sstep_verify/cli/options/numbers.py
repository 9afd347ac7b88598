"""Lists of numbers as values of options."""

from __future__ import annotations

import click


class Numbers(click.ParamType):
    """Whole numbers from 1, between commas."""

    name = "numbers"

    def convert(self, value, param, ctx):
        """The numbers, each once, ascending."""
        try:
            found = sorted({int(word) for word in str(value).split(",")})
        except ValueError:
            self.fail(f"{value!r} is no list of whole numbers such as 1,2,4", param, ctx)
        if found[0] < 1:
            self.fail(f"{found[0]} is below 1", param, ctx)
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

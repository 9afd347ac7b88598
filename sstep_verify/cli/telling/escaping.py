"""Standard output and error on which nothing that a message quotes can act: it is shown escaped."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

from sstep_verify.errors import visible


class Escaping:
    """A stream of text that shows what a terminal would obey, of arguments, names and words of programs.

    Parameters
    ----------
    inner : text stream
        Where it writes to.
    """

    def __init__(self, inner: Any):
        self._inner = inner

    def write(self, text: str) -> int:
        """Write a text; a bar begins, and may end, with a carriage return of its own."""
        bar = "\r" if text.startswith("\r") else ""
        body = text.removeprefix(bar).removesuffix(bar)
        text = text[: len(bar)] + visible(body, "\n\t") + text[len(bar) + len(body) :]
        encoding = getattr(self._inner, "encoding", None) or "utf-8"
        written: int = self._inner.write(text.encode(encoding, "backslashreplace").decode(encoding))
        return written

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


@contextlib.contextmanager
def escaping() -> Iterator[None]:
    """Let both streams of this process show control characters."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (Escaping(stream) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before

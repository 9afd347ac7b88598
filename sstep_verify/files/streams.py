"""Standard input, output and error, which whoever starts this process may have closed."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import Any


def open_standard_streams() -> None:
    """Open those of descriptors 0 to 2 that are closed on nothing: what is said there is dropped.

    A shell closes one by ``>&-``; services and launchers do too. A file that is opened later would have its
    number, and be written to by what prints.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            found = os.open(os.devnull, os.O_RDWR)
            if found != number:
                os.dup2(found, number)
                os.close(found)
            os.set_inheritable(number, True)
        if getattr(sys, name) is None:
            stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115 - for good
            setattr(sys, name, stream)


class _Lossy(io.FileIO):
    """A descriptor whose writing never fails: what its disk, reader or terminal does not take is lost."""

    def write(self, data: Any) -> int:
        """Write bytes, as many as there is room for; those that are left are lost."""
        with contextlib.suppress(OSError):
            super().write(data)
        return memoryview(data).nbytes


@contextlib.contextmanager
def lossy_output() -> Iterator[None]:
    """Let no word that other code prints here end it: on a full disk, to nobody, or beyond the encoding.

    It is for a process of ours in which a solver runs: what is wrong with the streams that the process was
    given is no error of the solver.
    """
    open_standard_streams()
    before = sys.stdout, sys.stderr
    for number, name in ((1, "stdout"), (2, "stderr")):
        given = getattr(sys, name)
        with contextlib.suppress(OSError, ValueError):
            given.flush()
        stream = io.TextIOWrapper(
            io.BufferedWriter(_Lossy(number, "w", closefd=False)),
            encoding=getattr(given, "encoding", None) or "utf-8",
            errors="backslashreplace",
            line_buffering=number == 2 or given.isatty(),
        )
        setattr(sys, name, stream)
    try:
        yield
    finally:
        for name in ("stdout", "stderr"):
            with contextlib.suppress(
                AttributeError, OSError, ValueError
            ):  # A solver may have put None there.
                getattr(sys, name).flush()
        sys.stdout, sys.stderr = before

"""Standard input, output and error, which whoever starts this process may have closed."""

from __future__ import annotations

import os
import sys


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

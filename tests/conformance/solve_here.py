"""The command ``solve`` in this process and folder: done, or refused with every file as it was."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from command import command

LINEAR = ("solve", "F", "--task", "svm-l1", "--exchange", "gram")
BRIEF = ("--iterations", "320", "--interval", "160", "--tolerance", "0")


def refused(*words: str) -> str:
    """The one line of a refusal, after which every file is as it was."""
    before = contents()
    code, out, err = command(*words)
    assert (code, out) == (2, ""), err
    assert err.count("\n") == 1
    assert err.startswith("error: ")
    assert len(err) < 500
    assert contents() == before
    return err


def done(*words: str) -> str:
    """What is said by a command that ends well."""
    code, out, err = command(*words)
    assert code == 0, err
    return out


def contents() -> dict[str, bytes | None]:
    """Bytes of every file; None for what is no file."""
    return {path.name: path.read_bytes() if path.is_file() else None for path in Path().iterdir()}


def arrays(path: str) -> dict[str, np.ndarray]:
    """All that a file of arrays holds."""
    with np.load(path, allow_pickle=False) as found:
        return dict(found)

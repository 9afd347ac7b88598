"""Opening what a user names as input: regular files only, whatever the name holds."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from sstep_verify.errors import DataError, visible

_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
}
_SHOWN = 200


def require_regular(path: str | Path, needed: str) -> None:
    """Refuse whatever is not a regular file, or a link to one, before it is opened.

    Opening a named pipe would wait for a writer, and a device may have no end.

    Parameters
    ----------
    path : str or Path
        The input.
    needed : str
        What is needed, with its article, for the message.

    Raises
    ------
    DataError
        If there is no such file, its name cannot be one, or it is something else than a regular file.
    """
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise DataError(f"{short_name(path)}: cannot be opened: {why}") from error
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise DataError(
            f"{short_name(path)}: is not a regular file but {kind}; {needed} is needed: "
            "write the data into a file first, and name that"
        )


def short_name(path: str | Path) -> str:
    """The name for a message: unprintable characters escaped, the middle of a long one left out."""
    name = visible(str(path)) or "''"
    return name if len(name) <= _SHOWN else f"{name[:80]}...{name[-80:]} ({len(name)} characters)"

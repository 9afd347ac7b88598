"""Files that are read whole: regular files only, and none larger than its reader allows."""

from __future__ import annotations

import os
import stat
from io import BufferedReader
from pathlib import Path

from sstep_verify.errors import InputError


def open_regular(path: str | Path, what: str, follow: bool = True) -> BufferedReader:
    """Open a file for reading; a FIFO or a device is refused at once instead of being waited for.

    Parameters
    ----------
    path : str or Path
        The file.
    what : str
        What is read, for messages, such as ``"a certificate"``.
    follow : bool
        Whether a symbolic link to a regular file is followed; not for the members of a folder of ours,
        which holds none.

    Raises
    ------
    InputError
        If it cannot be opened, or is not a regular file.
    """
    # Without O_NONBLOCK, opening a FIFO waits for its writer.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags)
    except (OSError, ValueError) as error:
        link = not follow and os.path.islink(path)
        reason = "it is a link" if link else getattr(error, "strerror", None) or str(error)
        raise InputError(f"{path}: cannot be read as {what}: {reason}") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InputError(f"{path}: cannot be read as {what}: it is not a regular file")
    return open(descriptor, "rb")


def read_whole(path: str | Path, most: int, what: str, follow: bool = True) -> bytes:
    """Read a file of at most so many bytes.

    Parameters
    ----------
    path, what, follow
        As for `open_regular`.
    most : int
        Largest size, in bytes.

    Raises
    ------
    InputError
        As `open_regular`, or if the file is larger.
    """
    with open_regular(path, what, follow) as file:
        size = os.fstat(file.fileno()).st_size
        content = b"" if size > most else file.read(most + 1)
    if max(size, len(content)) > most:
        raise InputError(f"{path}: has {size} bytes, but {what} of at most {most} bytes is read")
    return content

"""Files that are read whole: regular files only, and none larger than its reader allows."""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path
from tokenize import TokenError

from sstep_verify.errors import InputError, visible

MALFORMED_ARRAY = (ValueError, TypeError, SyntaxError, TokenError, EOFError)
"""What NumPy raises of a ``.npy`` file whose header or length is not what it should be."""

_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
}
_SHOWN = 200


def open_regular(path: str | Path, what: str, follow: bool = True) -> BufferedReader:
    """Open a file for reading; a FIFO or a device is refused at once instead of being waited for.

    `what` is read, for messages, such as ``"a certificate"``. A link to a regular file is followed if
    `follow`: not for the members of a folder of ours, which holds none. InputError if it cannot be opened.
    """
    where = f"{short_name(path)}: cannot be read as {what}"
    # Without O_NONBLOCK, opening a FIFO waits for its writer.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        if getattr(error, "errno", None) == errno.ENXIO:
            reason = "it is not a regular file but a socket"
        link = not follow and os.path.islink(path)
        raise InputError(f"{where}: {'it is a link' if link else reason}") from error
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise InputError(
            f"{where}: it is not a regular file but {kind}; write the data into a file and name that"
        )
    return open(descriptor, "rb")


def read_whole(path: str | Path, most: int, what: str, follow: bool = True) -> bytes:
    """Read a file of at most so many bytes; InputError as `open_regular`, or if it is larger."""
    with open_regular(path, what, follow) as file:
        size = os.fstat(file.fileno()).st_size
        content = b"" if size > most else file.read(most + 1)
    if max(size, len(content)) > most:
        raise InputError(f"{path}: has {size} bytes, but {what} of at most {most} bytes is read")
    return content


def short_name(path: str | Path) -> str:
    """The name for a message: unprintable characters escaped, the middle of a long one left out."""
    name = visible(str(path)) or "''"
    return name if len(name) <= _SHOWN else f"{name[:80]}...{name[-80:]} ({len(name)} characters)"

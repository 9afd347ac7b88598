"""Paths that are read and paths that may be written: of the right kind, and each its own file."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Iterable
from io import BufferedReader
from pathlib import Path
from tokenize import TokenError
from typing import Any, NamedTuple

from sstep_verify.errors import InputError, visible

MALFORMED_ARRAY = (ValueError, TypeError, SyntaxError, TokenError, EOFError)
"""What NumPy raises of a ``.npy`` file whose header or length is not what it should be."""

LONGEST_NAME = 255
"""Bytes of a name, where the file system does not say."""

LONGEST_STEM, DIGEST = 48, 8
"""Characters of the stem of a folder that is named after something, and of a digest in it."""

SHOWN = 200
"""Characters of a path that a message shows."""

_ROOM = len("..12345678.partial")

_KINDS = {
    stat.S_ISDIR: "a folder",
    stat.S_ISREG: "a file",
    stat.S_ISLNK: "a link to itself",
    stat.S_ISCHR: "a character device",
    stat.S_ISBLK: "a block device",
    stat.S_ISFIFO: "a named pipe",
    stat.S_ISSOCK: "a socket",
}


def folder_stem(name: str, otherwise: str) -> str:
    """What a folder may be called by a name, or by the stem of a path: letters of ASCII, digits, ``-._``.

    A name that is cut, or has letters outside ASCII, which are left out, differs from others by a digest.
    """
    given = Path(name).stem
    stem = re.sub(r"[^A-Za-z0-9._-]", "-", given).strip("-._")
    if given.isascii() and len(given) <= LONGEST_STEM:
        return stem or otherwise
    digest = hashlib.sha256(given.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST]
    return f"{stem[: LONGEST_STEM - DIGEST - 1] or otherwise}-{digest}"


def open_regular(path: str | Path, what: str, follow: bool = True) -> BufferedReader:
    """Open a file for reading; a FIFO or a device is refused at once instead of being waited for.

    `what` is read, for messages, such as ``"a certificate"``. A link to a regular file is followed if
    `follow`: not for the members of a folder of ours, which holds none. InputError if it cannot be opened.
    """
    where = f"{shortened(path)}: cannot be read as {what}"
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
        way = "name a file in it" if stat.S_ISDIR(mode) else "write what it gives into a file and name that"
        named = f"; {way}" if follow else ""  # Nobody names the members of a folder of ours.
        raise InputError(f"{where}: it is not a regular file but {kind_of(mode)}{named}")
    return open(descriptor, "rb")


def read_whole(path: str | Path, most: int, what: str, follow: bool = True) -> bytes:
    """Read a file of at most so many bytes; InputError as `open_regular`, or if it is larger."""
    with open_regular(path, what, follow) as file:
        size = os.fstat(file.fileno()).st_size
        content = b"" if size > most else file.read(most + 1)
    if max(size, len(content)) > most:
        raise InputError(f"{path}: has {size} bytes; of {what} at most {most} bytes are read")
    return content


class Output(NamedTuple):
    """A file or folder to be written, with the words for it in messages, such as ``--out``.

    `otherwise` is the way out where something is there that may not be replaced; `entries` are the names
    that a folder of this kind may hold: one that holds no others is replaced. Any name if empty.
    """

    option: str
    path: str | Path
    replace: bool = False
    folder: bool = False
    otherwise: str = "name another, or pass --force to replace it"
    entries: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"{self.option} {shortened(self.path)}"

    @property
    def kind(self) -> str:
        """File or folder, in words."""
        return "folder" if self.folder else "file"


def check(output: Output) -> Path:
    """See, before hours of work, that an output can be written; its absolute path, links resolved.

    InputError if the name is empty or unusable, its folder cannot be written, or something is there that is
    of another kind or may not be replaced.
    """
    kind = output.kind
    if not os.fspath(output.path):
        raise InputError(f"{output.option}: the name is empty; name a {kind}")
    if os.fspath(output.path).endswith(os.sep) and not output.folder:
        raise InputError(f"{output}: names a folder, but a file is to be written; name a file")
    try:
        target = Path(os.path.realpath(output.path))
        found, parent = _mode(target), target.parent
        if output.folder:
            parent = next(place for place in (parent, *parent.parents) if place.exists())
        writable = parent.is_dir() and os.access(parent, os.W_OK | os.X_OK)
        longest = _longest_name(parent)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{output}: cannot be written: {reason}; name another {kind}") from error
    if found is not None and not (stat.S_ISDIR if output.folder else stat.S_ISREG)(found):
        raise InputError(
            f"{output}: is {kind_of(found)}, but a {kind} is to be written; name another {kind}"
        )
    if not writable:
        raise InputError(f"{output}: {shortened(parent)} is no folder to write in; name another {kind}")
    if (size := len(os.fsencode(target.name))) > longest - _ROOM:
        raise InputError(
            f"{output}: the name has {size} bytes, but at most {longest - _ROOM} leave room for a "
            f"temporary name; name another {kind}"
        )
    if found is not None and output.entries:
        if foreign := sorted({*os.listdir(target)} - output.entries):
            raise InputError(
                f"{output}: holds {foreign[0]!r}, which is none of {', '.join(sorted(output.entries))} and "
                "would be lost; name another folder"
            )
    elif found is not None and not output.replace:
        raise InputError(f"{output}: is there already; {output.otherwise}")
    return target


def kind_of(mode: int) -> str:
    """What a path is, in words, by its mode."""
    return next((words for test, words in _KINDS.items() if test(mode)), "something else")


def require_distinct(outputs: Iterable[Output], inputs: Iterable[tuple[str, str | Path]] = ()) -> None:
    """Refuse two names for one file, whatever the spelling, and through links of either kind.

    Raises
    ------
    InputError
        If an output is an input, another output or its lock, or a folder that an input lies in.
    """
    taken: dict[Any, str] = {}
    read = [(words, os.path.realpath(path)) for words, path in inputs if path and os.path.exists(path)]
    for words, real in read:
        taken.update(dict.fromkeys(_identities(real), f"{words} {shortened(real)}, which is read"))
    for output in outputs:
        real = os.path.realpath(output.path)
        lock = str(lock_path(Path(real)))
        for identity in (*_identities(real), lock):
            if identity in taken:
                raise InputError(
                    f"{output}: is the same file as {taken[identity]}; one would be lost, name another"
                )
        if output.folder:
            for words, source in read:
                if Path(source).is_relative_to(real):
                    raise InputError(
                        f"{output}: holds {words} {shortened(source)}, which is read; name another folder"
                    )
        taken.update(dict.fromkeys((*_identities(real), lock), str(output)))


def lock_path(target: Path) -> Path:
    """The file next to a target that whoever writes the target holds a lock on."""
    return target.with_name(f".{target.name}.lock")


def hidden_path(target: Path, ending: str) -> Path:
    """A fresh temporary name next to a target; see `is_hidden_path`."""
    return target.with_name(f".{target.name}.{secrets.token_hex(4)}.{ending}")


def is_hidden_path(name: str, target: Path, ending: str) -> bool:
    """Whether a name is one that `hidden_path` gives."""
    token = name.removeprefix(f".{target.name}.").removesuffix(f".{ending}")
    made = f".{target.name}.{token}.{ending}"
    return name == made and len(token) == 8 and set(token) <= set("0123456789abcdef")


def shortened(path: str | Path) -> str:
    """A path for a message: unprintable characters escaped, the middle of a long one left out."""
    name = visible(os.fspath(path)) or "''"
    return name if len(name) <= SHOWN else f"{name[:80]}...{name[-80:]} ({len(name)} characters)"


def _identities(real: str) -> list[Any]:
    """How one file is known under several names: by its path without links, and by its inode."""
    with contextlib.suppress(OSError, ValueError):
        found = os.stat(real)
        return [real, (found.st_dev, found.st_ino)]
    return [real]


def _mode(path: Path) -> int | None:
    """Mode bits of what is there; None if nothing is."""
    try:
        return os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None


def _longest_name(parent: Path) -> int:
    try:
        return os.pathconf(parent, "PC_NAME_MAX")
    except (OSError, ValueError):
        return LONGEST_NAME

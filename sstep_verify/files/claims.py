"""Claims: output paths that belong to one process for as long as it works."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from sstep_verify.errors import FULL, InputError, unwritable
from sstep_verify.files.paths import SHOWN, Output, check, lock_path, require_distinct, shortened
from sstep_verify.files.writing import clear_leftovers


@contextlib.contextmanager
def claim(
    outputs: Iterable[Output], inputs: Iterable[tuple[str, str | Path]] = ()
) -> Iterator[tuple[Path, ...]]:
    """Take some outputs for this process until the end of a ``with`` block; yields their absolute paths.

    Outputs are all that the command will write, derived names included; inputs are words and path of each
    file that it reads, absent or not. Links are resolved. InputError if a path cannot be used, is an input
    or another output, or another process is writing there; what is there stays as it is.
    """
    outputs = tuple(outputs)
    targets = tuple(check(output) for output in outputs)
    require_distinct(outputs, inputs)
    with contextlib.ExitStack() as held:
        for output, target in zip(outputs, targets, strict=True):
            held.enter_context(_locked(output, target))
            clear_leftovers(target)
            check(output)  # Another process may have written it before it let go of the lock.
        yield targets


@contextlib.contextmanager
def _locked(output: Output, target: Path) -> Iterator[None]:
    """Hold the lock next to a target; its file is removed at the end, after a kill by the next holder."""
    path = lock_path(target)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = _open_lock(path)
    except BlockingIOError as error:
        raise InputError(
            f"{output}: {_holder(path)} writes there; wait for its end, or name another {output.kind}"
        ) from error
    except OSError as error:
        if error.errno in FULL:
            raise unwritable(f"{output}: its lock {shortened(path.name)}", error, output.kind) from error
        reason = error.strerror or error
        lock = shortened(path.name)
        raise InputError(
            f"{output}: its lock {lock} cannot be taken: {reason}; name another {output.kind}"
        ) from error
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
        os.close(descriptor)


def _open_lock(path: Path) -> int:
    """Open and lock a file that still has its name once it is locked."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    while True:
        descriptor = os.open(path, flags, 0o644)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(0, "it is no file")
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise
            except OSError:  # A file system without locks is no reason not to run.
                pass
            if os.fstat(descriptor).st_nlink == 0:
                os.close(descriptor)
                continue
            _sign(descriptor, path)
            return descriptor
        except BaseException:
            os.close(descriptor)
            raise


def _sign(descriptor: int, path: Path) -> None:
    """Write into a lock who holds it; where there is no room for that, the lock is removed."""
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
    except OSError:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
        raise


def _holder(path: Path) -> str:
    """Who holds a lock, in the words that it left there."""
    with contextlib.suppress(OSError, ValueError), open(path, encoding="utf-8") as handle:
        if words := handle.readline(SHOWN).strip():
            return f"another run ({shortened(words)})"
    return "another run"

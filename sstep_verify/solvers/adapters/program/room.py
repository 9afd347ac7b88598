"""The room of one run: an exchange folder in a folder of ours, looked at before it is read, and cleared."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Collection
from pathlib import Path

from sstep_verify.errors import ProgramError
from sstep_verify.outputs.paths import kind_of

SHOWN = 5
"""Names of files that a message lists."""


class Room:
    """An empty exchange folder, `folder`, for one run of a program."""

    def __init__(self) -> None:
        self._place = Path(tempfile.mkdtemp(prefix="sstep-verify-run-"))
        self.folder = self._place / "run"
        self.folder.mkdir()
        self._own = self._seen()
        self._open = [os.open(one, os.O_RDONLY | os.O_CLOEXEC) for one in (self._place, self.folder)]

    def _seen(self) -> tuple[int, int, int]:
        found = os.lstat(self.folder)
        return found.st_dev, found.st_ino, stat.S_IFMT(found.st_mode)

    def require_same(self) -> None:
        """Let the folder be read; ProgramError if it is no longer the one that the program was given."""
        try:
            if (seen := self._seen()) == self._own:
                self.folder.chmod(stat.S_IRWXU)  # The program may have locked it.
                return
        except OSError as error:
            raise ProgramError(
                f"moved or removed its folder ({error.strerror}): nothing is read"
            ) from error
        kind = "a link" if stat.S_ISLNK(seen[2]) else kind_of(seen[2])
        raise ProgramError(f"put {kind} in the place of its folder, so nothing of it is read")

    def others(self, known: Collection[str]) -> str:
        """Names of what lies in the folder and is not known, for a message; empty if there is nothing."""
        found = sorted(set(os.listdir(self.folder)) - set(known))
        more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        return ", ".join(found[:SHOWN]) + more

    def clear(self) -> str:
        """Remove all of it, whatever it has become; the path of what stays, or was moved elsewhere."""
        for _ in range(2):
            with contextlib.suppress(OSError):
                if stat.S_ISDIR(os.lstat(self._place).st_mode):  # Opening a pipe would wait for a writer.
                    shutil.rmtree(self._place, ignore_errors=True)
                else:
                    self._place.unlink()
            if not os.path.lexists(self._place):
                break
            _unlock(self._place)
        places = [str(self._place), *filter(None, map(_place_of, self._open))]
        for descriptor in self._open:
            os.close(descriptor)
        return next(filter(os.path.lexists, places), "")


def _place_of(descriptor: int) -> str:
    """Where an open folder is now; of one that was removed a path that does not exist."""
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/self/fd/{descriptor}")
    return ""


def _unlock(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.chmod(stat.S_IRWXU)
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    _unlock(Path(entry.path))

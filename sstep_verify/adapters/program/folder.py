"""The run folder of one run: looked at before it is read, read strictly, and cleared."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Collection
from pathlib import Path

import numpy as np

from sstep_verify.adapters.program.file import ProgramFile
from sstep_verify.adapters.program.numbers import (
    EXACT_DIGITS,
    ROUND_UP,
    Numbers,
    content_of,
    no_result,
    printed_numbers,
    read_draws,
    read_numbers,
    separated,
)
from sstep_verify.adapters.program.run import Ended
from sstep_verify.adapters.program.tables import Printed
from sstep_verify.adapters.program.translate import Translation
from sstep_verify.errors import NoResultError, RefusedError, counted
from sstep_verify.files.paths import kind_of
from sstep_verify.protocol import RunRequest
from sstep_verify.trajectory import FILLED, Trajectory

FILLED_WITH = {"log": FILLED[1:], "trace": FILLED[1:4], "final": FILLED}
"""Items of a run that a program's result does not state, by what it writes: a log has a row a step."""

SHOWN = 5
"""Names of files that a message lists."""

OTHER_BYTES = 1 << 20
"""Bytes that a file with a printed result may hold besides its numbers."""

NUMBER_BYTES = 64
"""Most bytes that a printed number and the white space next to it take."""


class Room:
    """An empty run folder, `folder`, for one run of a program."""

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
            raise NoResultError(
                f"moved or removed its folder ({error.strerror}): nothing is read"
            ) from error
        kind = "a link" if stat.S_ISLNK(seen[2]) else kind_of(seen[2])
        raise NoResultError(f"put {kind} in place of its folder, so nothing of it is read")

    def require_space(self, size: int) -> None:
        """Raise OSError unless a file of so many bytes can be written on the disk of the folder."""
        with tempfile.TemporaryFile(dir=self._place.parent) as file:
            os.posix_fallocate(file.fileno(), 0, max(size, 1))

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


def read_printed(
    printed: Printed,
    request: RunRequest,
    folder: Path,
    ended: Ended,
    taken: Translation,
    places: dict[str, object],
) -> Trajectory:
    """The end of a run, as far as its final a was printed; `places` are those of the program's command.

    ProgramError if that is no result, RefusedError if it prints more entries than a has.
    """
    samples = taken.order.size
    if printed.first > samples:
        raise RefusedError(f"[final] first = {printed.first}, but alpha has only m = {samples} entries")
    count, text = printed.first or samples, ended.output
    if name := printed.name(places):
        text = _printed_text(folder, name, count)
        text = text if printed.after else separated(text)
        if not printed.after and (found := len(text.split())) != count:
            has = f"has {counted(found, 'word')}, but it must hold {counted(count, 'number')} alone"
            raise NoResultError(f"{printed.file}: {has}")
    values, shown = printed_numbers(text, printed.after, count)
    own = taken.order[:count]
    final, rounding, known = np.zeros(samples), np.zeros(samples), np.zeros(samples, dtype=bool)
    final[own], rounding[own] = taken.ours(values, own)
    rounding[own] = (rounding[own] + taken.reach(shown)) * ROUND_UP
    known[own] = True
    return Trajectory(
        s=request.s,
        start=request.start,
        iterations=np.array([request.iterations]),
        alphas=final[None],
        rounding=rounding[None],
        known=known if printed.first else None,
        filled=FILLED,
    )


def _printed_text(folder: Path, name: str, count: int) -> str:
    """A file of the run folder, which no link may lead out of."""
    path = folder / name
    if not Path(os.path.realpath(path.parent)).is_relative_to(os.path.realpath(folder)):
        raise NoResultError(f"{name}: lies outside the run folder, where a link leads")
    content = content_of(path, OTHER_BYTES + NUMBER_BYTES * count, "a result", NoResultError)
    return content.decode("utf-8", "replace")


OTHERWISE = {
    "log": 'if it leaves its final alpha only, set writes = "final"',
    "trace": 'if it leaves its final alpha only, set writes = "final"',
    "final": 'if it prints alpha, name the text before the numbers, such as [final] after = "alpha:"',
}
"""What to declare of a program that leaves something else, by what it was to leave."""


def read_exchanged(
    described: ProgramFile,
    request: RunRequest,
    initial: np.ndarray,
    folder: Path,
    ended: Ended,
    taken: Translation,
    long: dict[str, set[float]],
) -> Trajectory:
    """What a program left of a run in the run folder, from `initial`; ProgramError if it is no result.

    Of one that leaves its final a only that is the end alone. `long` is changed: of each file of its runs,
    `Numbers.long` of all of them.
    """
    kind, samples = described.program.writes, request.problem.samples
    steps = (request.iterations, request.stream.block)
    shapes = {"log": steps, "trace": (len(request.stops), samples), "final": (samples,)}
    found = {name: read_numbers(folder, name, shape) for name, shape in shapes.items()}
    end = request.problem.hinge.C if request.problem.is_svm else 0.0
    held = {
        name: _exact(name, numbers, long.setdefault(name, set()), end)
        for name, numbers in found.items()
        if numbers is not None
    }
    if kind not in held:
        others = f" (but {', '.join(held)})" if held else ""
        raise no_result(kind)(
            f"ended with exit code 0 and left no {kind}.bin or {kind}.txt{others}; {OTHERWISE[kind]}"
            f"{ended.last_words}"
        )
    drawn = None
    if described.stream is not None and described.stream.logged:
        repeated = described.stream.replacement
        drawn = taken.order[read_draws(folder, steps, samples, replacement=repeated)]
    blocks, everywhere = request.blocks() if drawn is None else drawn, np.arange(samples)
    ours = {
        name: taken.ours(values, blocks)
        if name == "log"
        else taken.ours(values[..., np.argsort(taken.order)], everywhere)
        for name, values in held.items()
    }
    stops = request.stops
    if kind == "final":
        stops, (alphas, rounding) = [request.iterations], (part[None] for part in ours["final"])
    elif "trace" in ours:
        alphas, rounding = ours["trace"]
    else:
        firsts = initial, np.zeros_like(initial)
        alphas, rounding = (
            _followed(first, blocks, log, stops) for first, log in zip(firsts, ours["log"], strict=True)
        )
        if "final" in ours:
            alphas[-1] = ours["final"][0]
    return Trajectory(
        s=request.s,
        start=request.start,
        iterations=np.array(stops, dtype=np.int64),
        alphas=alphas,
        log=ours["log"][0] if request.log and "log" in ours and not described.rounded else None,
        rounding=rounding if described.rounded else None,
        drawn=drawn,
        filled=FILLED_WITH[kind],
    )


def _followed(initial: np.ndarray, blocks: np.ndarray, log: np.ndarray, stops: list[int]) -> np.ndarray:
    """The dual vector at some iterations, from the first and a log; shape (k, m)."""
    alpha, found, begin = initial.copy(), [], 0
    for stop in stops:
        for step in range(begin, stop):
            alpha[blocks[step]] = log[step]
        found.append(alpha.copy())
        begin = stop
    return np.array(found)


def _exact(name: str, numbers: Numbers, others: set[float], end: float) -> np.ndarray:
    """The values; ProgramError unless they are exact, as far as these digits and those of `others` tell."""
    others |= numbers.long
    # The end of the box, as a format of so many digits has it.
    rounded = float(f"{end:.{numbers.digits}g}")
    rounds = rounded != end and rounded in numbers.long
    if not numbers.exact or rounds or (numbers.long and not numbers.may_be_shortest(others)):
        raise no_result(name)(
            f"{name} is printed with at most {numbers.digits} significant digits"
            + ", small ones with fewer" * (numbers.digits >= EXACT_DIGITS)
            + ", but bounds are for exact values; print with %.17g or %a, or write float64 to a .bin file"
            + f' (or name it in the program file: [final] file = "{name}.txt")' * (name == "final")
        )
    return numbers.values

"""What one run of a program left, read and put into our words."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sstep_verify.errors import InputError, ProgramError, RefusedError
from sstep_verify.solver import RunRequest
from sstep_verify.solvers.adapters.decimals import EXACT_DIGITS, Numbers
from sstep_verify.solvers.adapters.program.execute import Ended
from sstep_verify.solvers.adapters.program.file import ProgramFile
from sstep_verify.solvers.adapters.program.printed import Printed
from sstep_verify.solvers.adapters.program.probes import Probed
from sstep_verify.solvers.adapters.program.results import read_draws, read_numbers
from sstep_verify.solvers.adapters.program.translation import Translation


@dataclass(frozen=True, eq=False)
class Left:
    """What one run left, in our words.

    Parameters
    ----------
    log, trace, final : ndarray or None
        As in docs/exchange.md; of `final`, entries that were not printed are 0.
    rounding : ndarray or None
        How far the last of them may be from what the program has, of its shape; None if it is that.
    known : ndarray of bool, shape (m,), or None
        Entries of `final` that were printed; None for all.
    drawn : ndarray of int64, shape (H, b), or None
        Coordinates that it says it drew.
    probed : Probed
        What it used in its steps, where that was asked for.
    """

    log: np.ndarray | None = None
    trace: np.ndarray | None = None
    final: np.ndarray | None = None
    rounding: np.ndarray | None = None
    known: np.ndarray | None = None
    drawn: np.ndarray | None = None
    probed: Probed = field(default_factory=Probed)


def read_left(
    described: ProgramFile,
    request: RunRequest,
    folder: Path,
    ended: Ended,
    taken: Translation,
    places: dict[str, object],
    long: dict[str, set[float]],
) -> Left:
    """Read what a run left.

    Parameters
    ----------
    described : ProgramFile
        The program.
    request : RunRequest
        The run that it was to make.
    folder : Path
        Its exchange folder.
    ended : Ended
        What it said.
    taken : Translation
        From its words to ours.
    places : dict
        What stood for the places of its command.
    long : dict of str to set of float
        Changed: of each file of its runs, `Numbers.long`, emptied where 17 digits were seen.

    Raises
    ------
    ProgramError
        If that is no result.
    RefusedError
        If it prints more entries than a has.
    """
    if described.final:
        return _printed(described.final, request, folder, ended, taken, places)
    return _exchanged(described, request, folder, ended, taken, long)


def _printed(
    printed: Printed,
    request: RunRequest,
    folder: Path,
    ended: Ended,
    taken: Translation,
    places: dict[str, object],
) -> Left:
    """Its final a, as far as it was printed."""
    samples = request.problem.samples
    try:
        count = printed.count(samples)
    except InputError as error:
        raise RefusedError(str(error)) from error
    values, shown = printed.read(ended.output, folder, count, places)
    own = taken.order[:count]
    final, rounding = np.zeros(samples), np.zeros(samples)
    final[own], rounding[own] = taken.ours(values, own)
    rounding[own] = (rounding[own] + taken.reach(shown)) * (1 + 2.0**-50)
    known = None
    if printed.first:
        known = np.zeros(samples, dtype=bool)
        known[own] = True
    return Left(final=final, rounding=rounding, known=known)


def _exchanged(
    described: ProgramFile,
    request: RunRequest,
    folder: Path,
    ended: Ended,
    taken: Translation,
    long: dict[str, set[float]],
) -> Left:
    """What it left in the exchange folder."""
    kind, samples = described.program.writes, request.problem.samples
    steps = (request.iterations, request.stream.block)
    shapes = {"log": steps, "trace": (len(request.stops), samples), "final": (samples,)}
    found = {name: read_numbers(folder, name, shape) for name, shape in shapes.items()}
    end = request.problem.hinge.C if request.problem.is_svm else 0.0
    held = {
        name: _exact(name, numbers, long, end) for name, numbers in found.items() if numbers is not None
    }
    if kind not in held:
        raise ProgramError(_without(kind, list(held), ended))
    drawn = None
    if described.stream is not None and described.stream.logged:
        drawn = taken.order[read_draws(folder, steps, samples)]
    made: dict[str, np.ndarray] = {}
    rounding = None
    for name, values in held.items():
        if name == "log":
            asked = drawn
            if asked is None:
                asked = request.stream.blocks(request.start, request.start + request.iterations)
            made[name], errors = taken.ours(values, asked)
        else:
            made[name], errors = taken.ours(values[..., np.argsort(taken.order)], np.arange(samples))
        if name == kind and described.rounded:
            rounding = errors
    return Left(made.get("log"), made.get("trace"), made.get("final"), rounding=rounding, drawn=drawn)


def _exact(name: str, numbers: Numbers, long: dict[str, set[float]], end: float) -> np.ndarray:
    others = long.setdefault(name, set())
    others |= numbers.long
    # The end of the box, as a format of so many digits has it.
    rounded = float(f"{end:.{numbers.digits}g}")
    rounds = rounded != end and rounded in numbers.long
    if not numbers.exact or rounds or (numbers.long and not numbers.may_be_shortest(others)):
        raise ProgramError(
            f"{name} is printed with at most {numbers.digits} significant digits"
            + ", small ones with fewer" * (numbers.digits >= EXACT_DIGITS)
            + ", but bounds are for exact values; print with %.17g or %a, or write float64 to a .bin file"
            + f' (or name it in the program file: [final] file = "{name}.txt")' * (name == "final")
        )
    return numbers.values


def _without(kind: str, held: list[str], ended: Ended) -> str:
    told = f"; its last words: {ended.told}" if ended.told else "; it said nothing"
    beside = f" (but {', '.join(held)})" if held else ""
    return f"ended with exit code 0 and left no {kind}.bin or {kind}.txt{beside}{told}"

"""Numbers that a program left, as float64 or as text, and how far each may be from the program's own.

One rule says how far a printed number may be off, whoever reads it: half a unit of the last digit of
each. One format prints all numbers of a text, and it is the text that tells it: ``2`` shows one digit
both of ``%.17g`` and of ``%.0f``. Where a number ends in a zero after its point, zeros are filled in;
then, and where all show as many decimals, the last digit shown is the last one, but of a whole number
with fewer, such as ``0`` or ``2.0``, which no such format prints. Else, and of that, zeros may have been
left out (``%g``, the shortest text that is read back, numbers rounded before they were printed): each was
rounded either to as many significant digits as the number that shows most of them, or to as many
decimals. The larger of the two is taken; where the format has more digits than any number shows, it is
larger than the rounding made.

From 17 significant digits every float64 is read back as it was, and from fewer where a unit of the last
is less than the distance d of two float64 there: what was printed is within half of that unit of the
text, and so it is the one that lies nearest. Else reading rounds once more.

Where exact values are needed, it is asked whether this rounding was made at all. Whoever prints 17
digits, or the shortest text that is read back, shows 16 or more in some number, unless there are few
numbers or all are as short as 0.5. One rounded to fewer digits, such as 0.333333, has other 17 digits
than it shows; that it is the shortest text of a float64 says nothing.
"""

from __future__ import annotations

import codecs
import math
import os
import re
import sys
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path

import numpy as np

from sstep_verify.errors import (
    MACHINE,
    InputError,
    NoLogError,
    NoResultError,
    ProgramError,
    RepeatedDrawError,
    counted,
)
from sstep_verify.files import read_whole
from sstep_verify.problems.draws import require_blocks

EXACT_DIGITS = 17
"""Significant decimal digits that tell every float64 from its neighbours."""

FEW = 8
"""Numbers of which nobody can tell by their digits whether they were rounded."""

UNLIKELY = 2.0**-20
"""Chance that shortest texts are as short as these, below which they are none."""

ROUND_UP = 1 + 2.0**-50

TEXT_BYTES = 32
"""Most bytes that a number and the white space next to it take in a text file."""


@dataclass(frozen=True)
class Numbers:
    """Numbers that a program wrote.

    `values` and `rounding`, how far each may be from the program's own, are float64 of one shape. `digits`
    is the most significant digits that one was printed with, `exact` whether they are the program's own, as
    far as can be told from how they were printed; where that hangs on whether they are the shortest texts,
    `long` has those of 15 digits and more. `shown` are finite decimals as they stand and as they were read,
    `filled` says whether zeros fill them up, as ``%.6f`` does.
    """

    values: np.ndarray
    rounding: np.ndarray
    digits: int = EXACT_DIGITS
    exact: bool = True
    long: frozenset[float] = frozenset()
    shown: list[tuple[Decimal, float]] = field(default_factory=list)
    filled: bool = False

    def may_be_shortest(self, others: Collection[float] = ()) -> bool:
        """Whether these and others may all be the shortest texts that are read back.

        They are as short as this by chance only: of float64 that lie d apart, no more than a share d/u has
        a text of so many digits that is read back, u being a unit of the last.
        """
        numbers = {*self.long, *others}
        units = (10.0 ** (math.floor(math.log10(abs(one))) - self.digits + 1) for one in numbers)
        shares = (
            min(math.ulp(one), unit) / unit if unit else 1.0
            for one, unit in zip(numbers, units, strict=True)
        )
        return math.prod(shares) >= UNLIKELY

    def exact_if_short(self, ends: Collection[float]) -> bool:
        """Whether they are exact, be they few or of few digits.

        Of few digits those are that float64 holds as they are shown, such as 0.75, and ends of the box; not
        where zeros were filled in.
        """
        held = all(Decimal(value) == shown or value in ends for shown, value in self.shown)
        return self.exact and (self.digits >= EXACT_DIGITS or (held and not self.filled))


def shown_numbers(
    words: list[bytes], where: str, shape: tuple[int, ...], wrong: type[ProgramError] = NoResultError
) -> Numbers:
    """Numbers in text, decimal or hexadecimal, by the rule above; `wrong` where one is none."""
    words = [with_exponent(word) for word in words]
    read = [read_number(word, f"{where}, number {place}", wrong) for place, word in enumerate(words, 1)]
    values = np.array([value for value, _ in read])
    most = max((digits for _, digits in read), default=EXACT_DIGITS)
    decimals = {
        place: Decimal(word.decode())
        for place, word in enumerate(words)
        if math.isfinite(values[place]) and b"x" not in word.lower()
    }
    shown = [(one, float(values[place])) for place, one in decimals.items()]
    filled = any(re.search(rb"\.\d+0(?!\d)", word) for word in words)  # ``2.0`` alone says nothing.
    rounding = _rounding(words, values, decimals, filled)
    exact, long = True, frozenset[float]()
    sure = not rounding.any() or (most >= EXACT_DIGITS and not filled)
    if not sure and any(one != Decimal(f"{value:.17g}") for one, value in shown):
        long = frozenset(one for one, digits in read if digits in (15, 16) and one and math.isfinite(one))
        exact = not filled and all(one == Decimal(repr(value)) for one, value in shown)
        exact = exact and (bool(long) or len({value for _, value in shown if value}) < FEW)
    found = Numbers(values.reshape(shape), rounding.reshape(shape), most, exact, long, shown, filled)
    return replace(found, exact=exact and (not long or found.may_be_shortest()))


def _rounding(
    words: list[bytes], values: np.ndarray, decimals: dict[int, Decimal], filled: bool
) -> np.ndarray:
    """How far each number may be off; infinite where float64 has no such digit, as of 0e999."""
    found = np.zeros(values.size)
    exponents = {place: int(one.as_tuple().exponent) for place, one in decimals.items()}
    alike = len(set(exponents.values())) == 1
    digits = max((len(one.as_tuple().digits) for one in decimals.values() if one), default=1)
    least = min(exponents.values(), default=0)
    for place, one in decimals.items():
        literal = exponents[place] >= -1 and one == one.to_integral_value()
        fixed = alike or (filled and not literal)
        last = exponents[place] if fixed else least
        if one and not fixed:
            last = max(one.adjusted() - digits + 1, least)
        unit = 10.0**last if last <= sys.float_info.max_10_exp else math.inf
        if one:
            nearest = unit * ROUND_UP < math.ulp(math.nextafter(values[place], 0.0))
            exact = nearest or one.adjusted() - last + 1 >= EXACT_DIGITS
        else:  # Whatever is no zero is printed as none by %e.
            exact = b"e" in words[place].lower() and last <= 0
        if not exact:
            found[place] = (0.5 * unit + math.ulp(values[place])) * ROUND_UP
    return found


def with_exponent(word: bytes) -> bytes:
    """A number with the letter of its exponent as C prints it, where Fortran printed ``1.0D+00``."""
    has_letter = (b"D" in word or b"d" in word) and b"x" not in word.lower()
    return re.sub(rb"(?<=[0-9.])[dD](?=[+-]?[0-9])", b"e", word) if has_letter else word


def read_number(word: bytes, where: str, wrong: type[ProgramError] = NoResultError) -> tuple[float, int]:
    """A number as C prints it, and with how many significant digits; 17 for hexadecimal ones.

    The error `wrong` if it is none. NaN and infinities are numbers here: what follows is a verdict.
    """
    text = word.decode("ascii", "replace")
    try:
        if "x" in text.lower():
            return float.fromhex(text), EXACT_DIGITS
        value = float(word)
    except (ValueError, OverflowError) as error:
        raise wrong(f"{where}: {text[:40]!r} is no number") from error
    return value, len(re.sub(r"\D", "", text.lower().partition("e")[0]).lstrip("0"))


def content_of(path: Path, most: int, what: str, wrong: type[ProgramError] = ProgramError) -> bytes:
    """A file that a program left, of at most so many bytes; the error `wrong` where it cannot be read.

    OSError where that lies with the machine (`MACHINE`).
    """
    try:
        return read_whole(path, most, what, follow=False)
    except InputError as error:
        if isinstance(error.__cause__, OSError) and error.__cause__.errno in MACHINE:
            raise error.__cause__ from None
        raise wrong(f"{path.name}: {str(error).removeprefix(f'{path}: ')}") from error


def no_result(name: str) -> type[ProgramError]:
    """The error of a program that left no result of this name, or one that cannot be used."""
    return NoLogError if name in ("log", "indices") else NoResultError


def left_as(folder: Path, name: str) -> list[Path]:
    """Which of ``NAME.bin`` and ``NAME.txt`` a program left."""
    return [path for end in (".bin", ".txt") if os.path.lexists(path := folder / f"{name}{end}")]


def _one_of(folder: Path, name: str, count: int, kind: str) -> bytes | list[bytes] | None:
    """What ``NAME.bin`` holds, or the words of ``NAME.txt``, so many numbers; None if neither is there."""
    found = left_as(folder, name)
    if not found:
        return None
    if len(found) > 1:
        raise no_result(name)(f"left both {name}.bin and {name}.txt; one of them is wanted")
    binary, what = found[0].suffix == ".bin", "integers" if kind == "int64" else "numbers"
    most = (8 if binary else TEXT_BYTES) * (count + 1)
    content = content_of(found[0], most, f"{count} {what}", no_result(name))
    if binary and len(content) != 8 * count:
        raise no_result(name)(f"{name}.bin has {len(content)} bytes, but {count} {kind} have {8 * count}")
    if binary:
        return content
    if len(words := content.removeprefix(codecs.BOM_UTF8).split()) != count:
        raise no_result(name)(
            f"{name}.txt has {counted(len(words), 'word')}, but there must be {count} {what}"
        )
    return words


def read_numbers(folder: Path, name: str, shape: tuple[int, ...]) -> Numbers | None:
    """The numbers of ``NAME.bin`` or ``NAME.txt`` in a run folder; None if there is neither.

    ProgramError if both are there, there are too few or too many, or something is no number.
    """
    found = _one_of(folder, name, math.prod(shape), "float64")
    if isinstance(found, list):
        return shown_numbers(found, f"{name}.txt", shape, no_result(name))
    if found is None:
        return None
    return Numbers(np.frombuffer(found, dtype="<f8").astype(np.float64).reshape(shape), np.zeros(shape))


def read_draws(
    folder: Path, shape: tuple[int, int], samples: int, *, replacement: bool = False
) -> np.ndarray:
    """The coordinates that a program says it drew, from ``indices.bin`` or ``indices.txt``; int64, (H, b).

    ProgramError if neither or both are there, there are too few or too many, something is no integer in
    0..m-1, or a block holds one twice that is not declared to be drawn with `replacement`.
    """
    found, name = _one_of(folder, "indices", math.prod(shape), "int64"), "indices.bin"
    if found is None:
        raise NoLogError("left no indices.bin or indices.txt, the coordinates that it drew")
    if isinstance(found, list):
        name = "indices.txt"
        if wrong := [word for word in found if not re.fullmatch(rb"\d{1,18}", word)]:
            raise NoLogError(f"{name}: {wrong[0].decode('ascii', 'replace')[:40]!r} is no index")
        drawn = np.array([int(word) for word in found], dtype=np.int64)
    else:
        drawn = np.frombuffer(found, dtype="<i8").astype(np.int64)
    try:
        return require_blocks(drawn.reshape(shape), samples, name, replacement=replacement)
    except InputError as error:
        if ((drawn >= 0) & (drawn < samples)).all():
            way = "if it draws with replacement, declare [stream] replacement = true"
            raise RepeatedDrawError(f"{error}; {way}") from error
        raise NoLogError(str(error)) from error


def read_ranks(folder: Path, ranks: int, samples: int) -> list[np.ndarray]:
    """What every rank says its a is at the end, ``rank-R.bin``; none if no rank does.

    ProgramError if some ranks do and others do not, one does not leave m float64, or there is a file of a
    rank that was not started.
    """
    left = {path.name for path in folder.glob("rank-*")}
    if not left:
        return []
    due = {f"rank-{rank}{end}" for rank in range(ranks) for end in (".bin", ".txt")}
    if others := sorted(left - due):
        raise NoResultError(
            f"left {others[0]}, but it was started on {counted(ranks, 'rank')}: rank-R.bin holds "
            f"the alpha of rank R, with R from 0 to {ranks - 1}"
        )
    found = [read_numbers(folder, f"rank-{rank}", (samples,)) for rank in range(ranks)]
    if None in found:
        raise NoResultError(
            f"rank-{found.index(None)}.bin is not there, but others are: all {ranks} ranks leave their a, "
            "or none"
        )
    return [numbers.values for numbers in found if numbers is not None]


CLOSING = {"[": "]", "(": ")", "{": "}"}
"""Brackets in which a program may print its numbers."""


def separated(text: str) -> str:
    """A text of numbers without what stands between them but white space.

    A list in brackets, also in nested ones, is read as far as it goes; commas and semicolons separate its
    numbers. Elsewhere only those do that white space follows, as a comma may belong to the number.
    """
    inside = text.lstrip()
    if inside[:1] not in CLOSING:
        return re.sub(r"[,;](?=\s|$)", " ", text)
    opening, depth, end = inside[0], 0, len(inside)
    for found in re.finditer(re.escape(opening) + "|" + re.escape(CLOSING[opening]), inside):
        depth += 1 if found[0] == opening else -1
        if not depth:
            end = found.end()
            break
    return re.sub(r"[][(){},;]", " ", inside[:end])


def printed_numbers(output: str, after: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The first `count` numbers that follow a text where it stands last, and how far each may be off.

    ProgramError if the text, which may be empty, is not there, or too few numbers follow.
    """
    _, found, rest = output.rpartition(after) if after else ("", "all", output)
    if not found:
        raise NoResultError(
            f"printed nothing after {after!r}: that text is not in its output; print it before the "
            "numbers, or name a text that is there ([final] after)"
        )
    words = separated(rest).split()[:count]
    if len(words) < count:
        found = f"printed {counted(len(words), 'word')} after {after!r}"
        raise NoResultError(f"{found}, but there must be {counted(count, 'number')}")
    numbers = shown_numbers([word.encode() for word in words], f"numbers after {after!r}", (count,))
    return numbers.values, numbers.rounding

"""Lists of whole numbers in options."""

from __future__ import annotations

from sstep_verify.errors import InputError

MOST = 1 << 20
"""Largest number that is taken."""


def numbers(option: str, text: str, least: int = 1) -> tuple[int, ...]:
    """Numbers separated by commas, ascending and each once.

    Raises
    ------
    InputError
        If one is no whole number, or out of range.
    """
    found = set()
    for word in text.split(","):
        if not word.strip().isdecimal() or not least <= int(word) <= MOST:
            raise InputError(
                f"{option} {text}: {word.strip()!r}; give numbers of {least} to {MOST}, as in 2,4,8"
            )
        found.add(int(word))
    return tuple(sorted(found))

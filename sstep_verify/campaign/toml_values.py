"""Values of a campaign file: taken out of their table, of the right type, or refused by name."""

from __future__ import annotations

from sstep_verify.errors import InputError
from sstep_verify.problems import Kernel, kernel_from


def take(table: dict, key: str, kind, where: str):
    """Remove a key from a table and return its value.

    Raises
    ------
    InputError
        If the key is missing or its value is not of the type (or one of the types) `kind`.
    """
    if key not in table:
        raise InputError(f"{where}: {key} is missing")
    value = table.pop(key)
    expect(value, kind, f"{where}, {key}")
    return value


def take_several(table: dict, key: str, kind, where: str) -> tuple:
    """Remove a key from a table and return its values, each of the type (or one of the types) `kind`."""
    values = take(table, key, list, where)
    for value in values:
        expect(value, kind, f"{where}, {key}")
    return tuple(values)


def expect(value, kind, where: str) -> None:
    """Raise InputError unless a value is of the type (or one of the types) `kind`; true is no number."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        wanted = " or ".join(item.__name__ for item in (kind if isinstance(kind, tuple) else (kind,)))
        raise InputError(f"{where} is {value!r}, but must be of type {wanted}")


def refuse_rest(table: dict, where: str, level: str) -> None:
    """Raise InputError if anything is left in a table."""
    if table:
        raise InputError(f"{where}: unknown key {sorted(table)[0]!r} at the {level}")


def read_kernel(table, where: str) -> Kernel:
    """The kernel of a table with a name and its parameters.

    Raises
    ------
    InputError
        If a key is unknown, the name is missing, or a parameter is out of range.
    """
    expect(table, dict, f"{where}, kernel")
    known = {"name", "degree", "offset", "sigma"}
    unknown = sorted(set(table) - known)
    if unknown or "name" not in table:
        raise InputError(f"{where}: kernel {table!r} needs a name and may have {sorted(known - {'name'})}")
    try:
        return kernel_from(**table)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error

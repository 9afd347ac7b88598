"""The text form of a scenario: ``task,kernel,key=value,...``, values left out where they are the default.

The keys and the defaults are part of the format: changing one makes ids in old reports mean something else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import Field, fields
from typing import TYPE_CHECKING, Any

from sstep_verify.errors import InputError
from sstep_verify.problems.kernels import kernel_from

if TYPE_CHECKING:
    from sstep_verify.scenarios.scenario import Scenario

_SHORT = {
    "samples": "m", "features": "n", "block": "b", "iterations": "H", "ranks": "P", "condition": "cond",
    "unit_rows": "unit", "duplicates": "dup", "zero_rows": "zero", "constant_features": "const",
}  # fmt: skip
SIZES = ("m", "n", "b", "s", "H", "P", "seed")
"""Keys that every id has."""

_KERNEL_KEYS: dict[str, dict[str, str]] = {
    "linear": {},
    "polynomial": {"degree": "degree", "c": "offset"},
    "rbf": {"sigma": "sigma"},
}


def _keyed(scenario: Scenario | type[Scenario]) -> dict[str, Field[Any]]:
    """Fields of a scenario by key, all but task and kernel."""
    return {_SHORT.get(field.name, field.name): field for field in fields(scenario)[2:]}


def to_text(scenario: Scenario) -> str:
    """The id of a scenario; floats are written with all the digits that tell them apart."""
    kernel = scenario.kernel
    keys = _KERNEL_KEYS[kernel.name].items()
    written = {key: getattr(kernel, name) for key, name in keys}
    for key, field in _keyed(scenario).items():
        if (value := getattr(scenario, field.name)) != field.default or key in SIZES:
            written[key] = value
    return ",".join([scenario.task, kernel.name, *(f"{key}={_written(x)}" for key, x in written.items())])


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def to_fields(text: str, kind: type[Scenario]) -> dict[str, Any]:
    """Keyword arguments of the scenario with this id.

    InputError if a part is malformed, unknown, or there twice.
    """
    task, _, rest = text.partition(",")
    kernel_name, *parts = rest.split(",")
    if kernel_name not in _KERNEL_KEYS:
        raise InputError(
            f"scenario id {text!r}: kernel {kernel_name!r} is unknown; an id begins with a task and one of "
            f"{', '.join(_KERNEL_KEYS)}, such as 'svm-l1,linear,m=4,n=2'"
        )
    parameters, keyed = _KERNEL_KEYS[kernel_name], _keyed(kind)
    readers = {key: _READERS[field.type] for key, field in keyed.items()}
    readers |= {key: int if key == "degree" else float for key in parameters}
    values: dict[str, Any] = {}
    for part in parts:
        key, equals, value = part.partition("=")
        if not equals or key not in readers or key in values:
            raise InputError(
                f"scenario id {text!r}: part {part!r} is not key=value, is unknown, or is there "
                f"twice; keys: {', '.join([*parameters, *keyed])}"
            )
        try:
            values[key] = readers[key](value)
        except ValueError as error:
            raise InputError(f"scenario id {text!r}: {value!r} cannot be read as {key}: {error}") from error
    options = {parameters[key]: values.pop(key) for key in parameters if key in values}
    kernel = kernel_from(kernel_name, **options)
    return {"task": task, "kernel": kernel, **{keyed[key].name: value for key, value in values.items()}}


def _flag(value: str) -> bool:
    return bool(("0", "1").index(value))


_READERS: dict[Any, Callable[[str], object]] = {"int": int, "float": float, "str": str, "bool": _flag}

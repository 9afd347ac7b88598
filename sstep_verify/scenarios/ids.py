"""The text form of a scenario: ``task,kernel,key=value,...``, values left out where they are the default.

The keys and the defaults are part of the format: changing one makes ids in old reports mean something else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from sstep_verify.errors import InputError
from sstep_verify.problems.kernels import Kernel, kernel_from
from sstep_verify.scenarios.fields import Fields

_SIZES = {
    "m": "samples",
    "n": "features",
    "b": "block",
    "s": "s",
    "H": "iterations",
    "P": "ranks",
    "seed": "seed",
}
_OTHERS = {
    "parameter": "parameter",
    "spectrum": "spectrum",
    "cond": "condition",
    "scale": "scale",
    "offset": "offset",
    "unit": "unit_rows",
    "dup": "duplicates",
    "zero": "zero_rows",
    "const": "constant_features",
    "density": "density",
    "skew": "skew",
    "positive": "positive",
    "start": "start",
    "precision": "precision",
    "order": "order",
}
_KERNEL_KEYS: dict[str, dict[str, str]] = {
    "linear": {},
    "polynomial": {"degree": "degree", "c": "offset"},
    "rbf": {"sigma": "sigma"},
}


def to_text(scenario: Fields) -> str:
    """The id of a scenario; floats are written with all the digits that tell them apart."""
    parts = [scenario.task, *_kernel_parts(scenario.kernel)]
    parts += [f"{key}={getattr(scenario, name)}" for key, name in _SIZES.items()]
    defaults = {field.name: field.default for field in fields(scenario)}
    for key, name in _OTHERS.items():
        if (value := getattr(scenario, name)) != defaults[name]:
            parts.append(f"{key}={_written(value)}")
    return ",".join(parts)


def _kernel_parts(kernel: Kernel) -> list[str]:
    keys = _KERNEL_KEYS[kernel.name].items()
    return [kernel.name, *(f"{key}={_written(getattr(kernel, field))}" for key, field in keys)]


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def to_fields(text: str) -> dict[str, Any]:
    """Keyword arguments of the scenario with this id.

    Raises
    ------
    InputError
        If a part is malformed, unknown, or there twice.
    """
    task, _, rest = text.partition(",")
    kernel_name, *parts = rest.split(",")
    if kernel_name not in _KERNEL_KEYS:
        raise InputError(
            f"scenario id {text!r}: kernel {kernel_name!r} is unknown; an id begins with a task and one of "
            f"{', '.join(_KERNEL_KEYS)}, such as 'svm-l1,linear,m=4,n=2'"
        )
    names = {**_SIZES, **_OTHERS}
    keys = {**_KERNEL_KEYS[kernel_name], **names}
    found: dict[str, Any] = {}
    for part in parts:
        key, equals, value = part.partition("=")
        if not equals or key not in keys or key in found:
            raise InputError(
                f"scenario id {text!r}: part {part!r} is not key=value, is unknown, or is there "
                f"twice; keys: {', '.join(keys)}"
            )
        try:
            found[key] = _READERS.get(key, float)(value)
        except ValueError as error:
            raise InputError(f"scenario id {text!r}: {value!r} cannot be read as {key}: {error}") from error
    options = {keys[key]: found.pop(key) for key in _KERNEL_KEYS[kernel_name] if key in found}
    kernel = kernel_from(kernel_name, **options)
    return {"task": task, "kernel": kernel, **{names[key]: value for key, value in found.items()}}


def _flag(value: str) -> bool:
    return bool(("0", "1").index(value))


_READERS: dict[str, Callable[[str], object]] = {
    **dict.fromkeys((*_SIZES, "zero", "const", "degree"), int),
    **dict.fromkeys(("spectrum", "scale", "start", "precision", "order"), str),
    "unit": _flag,
}

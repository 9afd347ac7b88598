"""Records as plain values and arrays: what JSON and ``.npz`` files hold, with no pickle, and back again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass

import numpy as np
import scipy.sparse as sp

from sstep_verify.checks.case import Case
from sstep_verify.errors import InputError
from sstep_verify.problems import (
    Hinge,
    IndexStream,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
)
from sstep_verify.solver import Declaration
from sstep_verify.trajectory import Asked, Claim, Panel, Trajectory

RECORDS = {
    record.__name__: record
    for record in (
        Case, Problem, IndexStream, Declaration, Trajectory, Asked, Panel, Claim, LinearKernel,
        PolynomialKernel, RBFKernel, Hinge, SquaredHinge, Ridge,
    )
}  # fmt: skip
"""What an artefact may hold; nothing else is built from a file."""

Arrays = dict[str, np.ndarray]


def to_plain(value, name: str, arrays: Arrays):
    """Turn a record into values that strict JSON holds; its arrays go to `arrays` under dotted names.

    Records become ``{"record": name, field: ...}``, arrays ``{"array": name}``, CSR matrices ``{"csr":
    [...], "shape": [...]}``, mappings ``{"pairs": [[key, value], ...]}``, tuples lists, infinite or
    undefined numbers ``{"float": "inf"}``. Finite numbers keep every bit.

    Parameters
    ----------
    value : object
        One of `RECORDS`, or whatever stands in their fields.
    name : str
        Where it stands, such as ``case.problem``.
    arrays : dict
        Filled.

    Raises
    ------
    InputError
        If a part has no such form, as an array of Python objects.
    """
    if isinstance(value, np.generic) and not isinstance(value, (str, float, bool)):
        value = value.item()
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"float": repr(float(value))}
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        arrays[name] = value
        return {"array": name}
    if isinstance(value, sp.csr_array):
        parts = [(part, getattr(value, part)) for part in ("data", "indices", "indptr")]
        return {
            "csr": [to_plain(array, f"{name}.{part}", arrays) for part, array in parts],
            "shape": [int(size) for size in value.shape],
        }
    if isinstance(value, Mapping):
        pairs = [
            [to_plain(key, name, arrays), to_plain(item, f"{name}.{key}", arrays)]
            for key, item in value.items()
        ]
        return {"pairs": pairs}
    if isinstance(value, (list, tuple)):
        return [to_plain(item, f"{name}.{place}", arrays) for place, item in enumerate(value)]
    if is_dataclass(value) and RECORDS.get(type(value).__name__) is type(value):
        held = {item.name: getattr(value, item.name) for item in fields(value)}
        return {
            "record": type(value).__name__,
            **{key: to_plain(item, f"{name}.{key}", arrays) for key, item in held.items()},
        }
    kind = f"{value.dtype} array" if isinstance(value, np.ndarray) else type(value).__name__
    raise InputError(f"{name}: a {kind} cannot be kept in an artefact, which holds no pickle")


def from_plain(value, arrays: Mapping[str, np.ndarray], where: str):
    """Build what `to_plain` took apart; lists come back as tuples.

    Raises
    ------
    InputError
        If a part is unknown, an array is missing, or a record refuses its values.
    """
    if isinstance(value, list):
        return tuple(from_plain(item, arrays, where) for item in value)
    if not isinstance(value, dict):
        return value
    if "float" in value:
        return float(value["float"])
    if "array" in value:
        return _array(arrays, value["array"], where)
    if "csr" in value:
        parts = from_plain(value["csr"], arrays, where)
        return sp.csr_array(parts, shape=tuple(value["shape"]))
    if "pairs" in value:
        return {
            from_plain(key, arrays, where): from_plain(item, arrays, f"{where}.{key}")
            for key, item in value["pairs"]
        }
    return _record(value, arrays, where)


def _array(arrays: Mapping[str, np.ndarray], name: str, where: str) -> np.ndarray:
    if name not in arrays:
        raise InputError(f"{where}: the array {name!r} is missing; it holds {', '.join(sorted(arrays))}")
    return arrays[name]


def _record(value: dict, arrays: Mapping[str, np.ndarray], where: str):
    kind = RECORDS.get(value.get("record", ""))
    if kind is None:
        raise InputError(
            f"{where}: the record {value.get('record')!r} is unknown; known: {', '.join(sorted(RECORDS))}"
        )
    known = {item.name for item in fields(kind)}
    unknown = sorted(set(value) - known - {"record"})
    if unknown:
        raise InputError(
            f"{where}: the field {unknown[0]!r} of {value['record']} is unknown to this version; read the "
            "artefact with the version that wrote it"
        )
    parts = {
        key: from_plain(item, arrays, f"{where}.{key}") for key, item in value.items() if key != "record"
    }
    return kind(**parts)

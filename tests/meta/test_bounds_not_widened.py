"""Every bound has an example of its own that notices where it is 1.5 times too large, or as much too small.

The examples are those of tests/unit/bounds/test_exact_*.py and tests/unit/rounding/test_exact_*.py. Each
number that a bound's function returns is planted by itself, wherever an example calls that function.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import importlib.util
import inspect
import itertools
import pkgutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from daily import some

import sstep_verify.bounds
import sstep_verify.rounding
from sstep_verify.bounds.window.split import REST_RIDGE

UNIT = Path(__file__).parent.parent / "unit"
FACTORS = (1.5, 1 / 1.5)

NO_BOUNDS = {
    "rounding.arithmetic": {"flushed_to_zero", "rounded_problem", "norm", "stored", "raise_smallest"},
    "rounding.box": {"Box", "box_of", "finish", "finish_flat", "shifts", "soft"},
    "rounding.formulas": {"Formulas", "formulas_of", "is_scaled", "rounds_data"},
    "rounding.pairs": {"exact_sum", "exact_product"},
    "rounding.sums": {"Factored.may_overflow"},
    "rounding.rows": {
        "FactoredProducts.at", "KernelEntries.at", "KernelEntries.among", "may_factor", "some_rows", "joined",
    },
    "rounding.samples": {
        "inner_products", "absolute_products", "sharing", "sample_sizes", "squared_norms", "squared_distances",
    },
    "rounding.right_hand_side": {"CarriedTerms.at"},
    "rounding.kernel.entries": {"entries_of", "rows_at_once", "stays_small"},
    "rounding.block.energy": {"without_kernel"},
    "rounding.block.repeats": {"Repeats.summed", "last_draws", "most_often", "redrawn", "repeats_of"},
    "bounds.box": {"stays_within"},
    "bounds.carried_run": {"CarriedWeights.end", "CarriedWeights.restart", "carried_weights"},
    "bounds.optimum.reported": {"may_overflow"},
    "bounds.optimum.svm": {"uniqueness"},
    "bounds.screen": {"grow"},
    "bounds.step.drift": {"sized_samples"},
    "bounds.step.residual": {"factored"},
    "bounds.window.svm": {"new_state", "svm_arithmetic"},
    "bounds.window.svm_formulas": {"carry"},
    "bounds.window.ridge": {"RidgePropagation.advance"},
}  # fmt: skip
"""What returns a problem, a decision or a value, or hands on what others bound; the numbers of a decision
lie on both sides of it in its example."""

NO_PART = {
    "KernelEntries.values", "KernelProducts.values", "Evaluated.value", "SvmValues.slopes",
    "RidgeValues.entries", "ClipConstants.shift", "SolveConstants.penalty", "Box.lower", "Box.upper",
    "Box.threshold", "Factors.modulus", "SumConstants.form", "CompiledRows.values", "CompiledRows.labels",
    "CompiledRows.linear", "StepErrors.draws", "StepErrors.modulus", "Screened.distance",
    "Screened.ratio", "Screened.events", "Factors.kind", "TrajectoryBound.written", "Slopes.constant", f"[{REST_RIDGE}]",
}  # fmt: skip
"""Numbers that stand next to bounds in what a function returns; the last one is all but nothing."""


def modules_of(package: ModuleType) -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not found.ispkg:
            yield importlib.import_module(found.name)


def bounds() -> Iterator[tuple[str, Any, str]]:
    """Each bound: its name, and the module or class that holds it under its own."""
    for package in (sstep_verify.bounds, sstep_verify.rounding):
        for module in modules_of(package):
            short = module.__name__.removeprefix("sstep_verify.")
            left = NO_BOUNDS.get(short, set())
            for name, value in vars(module).items():
                if name.startswith("_") or getattr(value, "__module__", "") != module.__name__:
                    continue
                if inspect.isclass(value):
                    for method, part in vars(value).items():
                        callable_part = callable(part) or isinstance(
                            part, property | functools.cached_property
                        )
                        if not method.startswith("_") and callable_part and f"{name}.{method}" not in left:
                            yield f"{short}.{name}.{method}", value, method
                elif callable(value) and name not in left:
                    yield f"{short}.{name}", module, name


BOUNDS = {name: (holder, attribute) for name, holder, attribute in bounds()}


@pytest.fixture(scope="module")
def examples() -> list[ModuleType]:
    found = []
    for path in sorted(UNIT.glob("*/test_exact_*.py")):
        spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found.append(module)
    return found


def calls(test: Callable[..., None]) -> Iterator[Callable[[], None]]:
    """A test with each set of its parameters."""
    marks = [mark for mark in getattr(test, "pytestmark", ()) if mark.name == "parametrize"]
    choices = []
    for mark in marks:
        names = mark.args[0].split(",") if isinstance(mark.args[0], str) else mark.args[0]
        rows = [row if len(names) > 1 else (row,) for row in mark.args[1]]
        choices.append([dict(zip(names, row, strict=True)) for row in rows])
    for drawn in itertools.product(*choices):
        yield functools.partial(test, **{key: value for part in drawn for key, value in part.items()})


class Planted:
    """Multiplies one number of what a function returns, wherever it stands."""

    def __init__(self) -> None:
        self.part, self.factor = "", 1.0
        self.parts: dict[str, None] = {}

    def __call__(self, value: Any, name: str = "") -> Any:
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            made = {
                field.name: self(getattr(value, field.name), f"{type(value).__name__}.{field.name}")
                for field in dataclasses.fields(value)
            }
            changed = {key: part for key, part in made.items() if part is not getattr(value, key)}
            return dataclasses.replace(value, **changed) if changed else value
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            made = {
                key: self(getattr(value, key), f"{type(value).__name__}.{key}") for key in value._fields
            }
            return value._replace(**made)
        if isinstance(value, tuple):
            return tuple(self(part, f"{name}[{place}]") for place, part in enumerate(value))
        if isinstance(value, list):
            return [self(part, name) for part in value]
        if isinstance(value, dict):
            return {
                key: self(part, f"[{key}]" if isinstance(key, str) else name) for key, part in value.items()
            }
        return self._number(value, name)

    def _number(self, value: Any, name: str) -> Any:
        kind = getattr(value, "dtype", np.dtype(type(value)) if isinstance(value, int | float) else None)
        if kind is None or kind.kind not in "fi" or isinstance(value, bool) or name in NO_PART:
            return value
        self.parts[name] = None
        if name != self.part or self.factor == 1.0:
            return value
        if kind.kind == "i":
            return value + (1 if self.factor > 1 else -1) * np.maximum(1, np.asarray(value) // 2)
        return value * self.factor

    def around(self, function: Any) -> Any:
        if isinstance(function, property):
            return property(lambda owner: self(function.fget(owner)))
        if isinstance(function, functools.cached_property):
            return property(lambda owner: self(function.func(owner)))
        return functools.wraps(getattr(function, "py_func", function))(
            lambda *values, **names: self(function(*values, **names))
        )


def users(examples: list[ModuleType], holder: Any, attribute: str) -> list[ModuleType]:
    """Examples that have a function, or a class of this name, or that call a function which returns one."""
    if inspect.isclass(holder):
        return examples
    value = getattr(holder, attribute)
    return [module for module in examples if getattr(module, attribute, None) is value]


def noticed(modules: list[ModuleType]) -> bool:
    for module in modules:
        for name, test in vars(module).items():
            if not name.startswith("test_"):
                continue
            for call in calls(test):
                try:
                    call()
                except (AssertionError, ValueError, OverflowError):
                    return True
    return False


@pytest.mark.parametrize("name", some(BOUNDS, of=3))
def test_a_bound_that_is_half_as_large_again_is_noticed(name, examples, monkeypatch):
    holder, attribute = BOUNDS[name]
    planted, modules = Planted(), users(examples, holder, attribute)
    assert modules, f"{name} has no example: write one in tests/unit, or say why it is no bound"
    wrapped = planted.around(vars(holder)[attribute])
    if inspect.isclass(holder):
        monkeypatch.setattr(holder, attribute, wrapped)
        modules = sorted(modules, key=lambda module: holder.__name__ not in vars(module))
    else:
        for module in modules:
            monkeypatch.setattr(module, attribute, wrapped)
    assert not noticed(modules), "the examples hold as they are"
    assert planted.parts, f"no example of {name} returns a number"
    missed = []
    for part, factor in itertools.product(list(planted.parts), FACTORS):
        planted.part, planted.factor = part, factor
        if not noticed(modules):
            missed.append((part, factor))
    assert not missed

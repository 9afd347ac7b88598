"""Families of scenarios: the tables ``[[scenario]]`` of a campaign file, and the units they stand for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import lcm
from typing import Any

from sstep_verify.campaign.ranges import WORDS, Range, kernel_of, known, refuse_lists, within
from sstep_verify.campaign.selection import chosen
from sstep_verify.campaign.toml_values import take, take_several
from sstep_verify.errors import InputError, closest
from sstep_verify.problems import Kernel
from sstep_verify.problems.kernels import identify
from sstep_verify.scenarios.scenario import Scenario

FORMS = {"float64": ("in-place", "frozen"), "float32": ("frozen",)}
"""Forms of the s-step recurrence that a solver of each precision has."""

MOST_SCENARIOS = 10_000
"""Most scenarios of a campaign: a report of more can be neither read nor drawn."""

EVERY = 8
"""Iterations from one recorded state to the next, in windows no longer than that."""


@dataclass(frozen=True)
class ScenarioFamily:
    """Scenarios that differ in task, kernel, block, condition and seed; every s is run on each.

    Parameters
    ----------
    precision : {"float64", "float32"}
        Precision of data and runs: float64 is run by the production solver, float32 by the reference.
    form : tuple of str
        Forms of the s-step runs: in-place, frozen. The classical run is the solver's own, in place.
    task : tuple of str
        svm-l1, svm-l2, krr.
    kernel : tuple of Kernel
        Kernels.
    condition : tuple of float
        Prescribed condition numbers of the data.
    s : tuple of int
        Iterations per window; 1 and H are added, what exceeds H left out.
    seed : tuple of int
        Seeds of data and index stream.
    parameter : float
        C of a K-SVM, lambda of a K-RR.
    block : tuple of int
        Block sizes (b).
    samples, features, iterations : int
        m, n and H.
    spectrum : str
        Shape of the spectrum, one of `scenarios.spectrum.SHAPES`.
    replay : tuple of int
        Values of s whose windows are replayed, on the first seed; H stands for any that exceeds it.
    replay_draws : int
        Most coordinates drawn (s b) in a window that is replayed.
    windows, minimum_windows : int
        Windows sampled per run for window-replay; fewest replayed per s over all conditions.
    """

    precision: str
    form: tuple[str, ...]
    task: tuple[str, ...]
    kernel: tuple[Kernel, ...]
    condition: tuple[float, ...]
    s: tuple[int, ...]
    seed: tuple[int, ...] = (0,)
    parameter: float = 1.0
    block: tuple[int, ...] = (1,)
    samples: int = 48
    features: int = 16
    iterations: int = 512
    spectrum: str = "geo"
    replay: tuple[int, ...] = ()
    replay_draws: int = 1 << 13
    windows: int = 2
    minimum_windows: int = 2

    @property
    def steps(self) -> tuple[int, ...]:
        """Values of s that are run: 1, those of the file below H, and H."""
        return tuple(sorted({1, *(s for s in self.s if s < self.iterations), self.iterations}))

    @property
    def replayed(self) -> tuple[int, ...]:
        """Values of s that are run and whose windows are replayed, for b = 1."""
        wanted = {min(s, self.iterations) for s in self.replay}
        return tuple(s for s in self.steps if s in wanted)

    def points(self, s: int) -> tuple[int, ...]:
        """Window ends at which a run of this s is compared: every `EVERY` iterations if s allows."""
        step = lcm(s, EVERY)
        return (*range(step, self.iterations, step), self.iterations)


@dataclass(frozen=True)
class ScenarioUnit:
    """One scenario of a family, run in some of its forms."""

    family: ScenarioFamily
    task: str
    kernel: Kernel
    block: int
    condition: float
    seed: int
    forms: tuple[str, ...]

    @property
    def key(self) -> str:
        """What sets its outcome apart; one of fewer forms is another one."""
        cases = " + ".join(map(self.case, self.forms))
        return f"{cases}, condition {float(self.condition)!r}, seed {self.seed}"

    @property
    def scenario(self) -> Scenario:
        """The scenario; its own s stays 1, for the runs bring theirs."""
        family = self.family
        return Scenario(
            task=self.task,
            kernel=self.kernel,
            samples=family.samples,
            features=family.features,
            block=self.block,
            iterations=family.iterations,
            seed=self.seed,
            parameter=family.parameter,
            spectrum=family.spectrum,
            condition=self.condition,
            precision=family.precision,
        )

    def case(self, form: str) -> str:
        """Id of the case that this unit is part of, such as ``float64/frozen/krr/b=4/linear``."""
        block = [f"b={self.block}"] if self.task == "krr" else []
        return "/".join([self.family.precision, form, self.task, *block, identify(self.kernel)])


def scenario_units(families: Sequence[ScenarioFamily], only: str = "") -> list[ScenarioUnit]:
    """All units with a case that `only` selects, in those forms, in the order of the file.

    Raises
    ------
    InputError
        If two families make the same case, or no case is left.
    """
    owners: dict[str, int] = {}
    every: list[ScenarioUnit] = []
    for place, family in enumerate(families):
        for unit in _product(family):
            for case in map(unit.case, unit.forms):
                if owners.setdefault(case, place) != place:
                    raise InputError(f"case {case} stands in two [[scenario]] tables")
            every.append(unit)
            if len(every) > MOST_SCENARIOS:
                raise InputError(f"more than {MOST_SCENARIOS:,} scenarios; make several campaigns of them")
    wanted = chosen(only, owners)
    left = [
        replace(unit, forms=tuple(form for form in unit.forms if unit.case(form) in wanted))
        for unit in every
    ]
    return [unit for unit in left if unit.forms]


def _product(family: ScenarioFamily) -> Iterator[ScenarioUnit]:
    return (
        ScenarioUnit(family, task, kernel, block, condition, seed, family.form)
        for task in family.task
        for block in family.block
        for kernel in family.kernel
        for condition in family.condition
        for seed in family.seed
    )


def read_scenario(table: dict, where: str) -> ScenarioFamily:
    """The family of one ``[[scenario]]`` table as TOML gives it, which is emptied.

    Raises
    ------
    InputError
        If a key is missing or unknown, or a value cannot be used.
    """
    values: dict = {
        key: (take_several if several else take)(table, key, kind, where)
        for key, (kind, several) in _KINDS.items()
        if key in table
    }
    for key in table:
        raise InputError(f"{where}: unknown key {key!r}{closest(key, _KINDS)}; known: {', '.join(_KINDS)}")
    for key in ("precision", "form", "task", "kernel", "condition", "s"):
        if not values.get(key):
            raise InputError(f"{where}: {key} is missing or empty")
    values["kernel"] = tuple(kernel_of(item, where) for item in values["kernel"])
    family = ScenarioFamily(**values)
    _check(family, where)
    return family


_REAL = (int, float)

_KINDS: dict[str, tuple[Any, bool]] = {
    **dict.fromkeys(("precision", "spectrum"), (str, False)),
    **dict.fromkeys(("form", "task"), (str, True)),
    "kernel": (dict, True),
    "condition": (_REAL, True),
    "parameter": (_REAL, False),
    **dict.fromkeys(("s", "seed", "block", "replay"), (int, True)),
    **dict.fromkeys(
        ("samples", "features", "iterations", "replay_draws", "windows", "minimum_windows"), (int, False)
    ),
}


_SIZE = Range(1, 1 << 20, "the trajectory is computed exactly")
_COUNT = Range(1, WORDS)

_RANGES = {
    **dict.fromkeys(("samples", "features", "iterations"), _SIZE),
    **dict.fromkeys(("s", "replay", "block", "replay_draws"), _COUNT),
    "seed": Range(0, WORDS),
    "condition": Range(1),
    "parameter": Range(0, open=True),
    "windows": Range(0, 1 << 20, "each is replayed in exact arithmetic"),
}


def _check(family: ScenarioFamily, where: str) -> None:
    values = {key: value for key, value in vars(family).items() if key != "replay" or value}
    refuse_lists(where, values)
    least = Range(1, family.windows + 2, f"windows = {family.windows}, with the first and the last")
    within(where, values, {**_RANGES, "minimum_windows": least})
    known(where, "precision", family.precision, tuple(FORMS))
    for form in family.form:
        known(where, f"{family.precision} form", form, FORMS[family.precision])
    for unit in _product(family):
        try:
            _ = unit.scenario
        except InputError as error:
            raise InputError(f"{where}: {error}") from error

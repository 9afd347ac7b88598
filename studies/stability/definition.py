"""Families of scenarios: the tables ``[[scenario]]`` of a campaign file, and the units they stand for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from math import lcm
from typing import Annotated

from sstep_verify.campaign.cases import (
    POSITIVE,
    WORDS,
    Count,
    OneOf,
    Range,
    chosen,
    read_table,
    refuse_beyond,
)
from sstep_verify.errors import InputError
from sstep_verify.problems import Kernel
from sstep_verify.problems.kernels import identify
from sstep_verify.problems.losses import TASKS
from sstep_verify.scenarios.data import SHAPES
from sstep_verify.scenarios.scenario import Scenario

FORMS = {"float64": ("in-place", "frozen"), "float32": ("frozen",)}
"""Forms of the s-step recurrence that a solver of each precision has."""

MOST_SCENARIOS = 10_000
"""Most scenarios of a campaign: a report of more can be neither read nor drawn."""

ORDERS = 5
"""Orders of samples and features in which a classical run is made, the given one among them."""

EVERY = 8
"""Iterations from one recorded state to the next, in windows no longer than that."""

Size = Annotated[int, Range(1, 1 << 20, "the trajectory is computed exactly")]


@dataclass(frozen=True)
class ScenarioFamily:
    """Scenarios that differ in task, kernel, block, condition and seed; every s is run on each.

    Data and runs are of a precision: float64 is run by the production solver, float32 by the reference.
    `form` says how s-step runs update a; the classical run is the solver's own, in place. To s, 1 and H are
    added, what exceeds H is left out. `parameter` is C or lambda; samples, features and iterations are m, n
    and H; `spectrum` is one of `scenarios.data.SHAPES`. Windows of the s in `replay` (H for any that
    exceeds it) are replayed on the first seed, where they draw at most `replay_draws` coordinates (s b): of
    each run so many `windows`, and of each s over all conditions at least `minimum_windows`.
    """

    precision: Annotated[str, OneOf(FORMS)]
    form: tuple[str, ...]
    task: Annotated[tuple[str, ...], OneOf(TASKS)]
    kernel: tuple[Kernel, ...]
    condition: Annotated[tuple[float, ...], Range(1)]
    s: Annotated[tuple[int, ...], Range(1, WORDS)]
    seed: Annotated[tuple[int, ...], Range(0, WORDS)] = (0,)
    parameter: Annotated[float, POSITIVE] = 1.0
    block: Annotated[tuple[int, ...], Range(1, WORDS)] = (1,)
    samples: Size = 48
    features: Size = 16
    iterations: Size = 512
    spectrum: Annotated[str, OneOf(SHAPES)] = "geo"
    replay: Annotated[tuple[int, ...], Range(1, WORDS)] = ()
    replay_draws: Count = 1 << 13
    windows: Annotated[int, Range(0, 1 << 20, "each is replayed in exact arithmetic")] = 2
    minimum_windows: Count = 2

    @property
    def steps(self) -> tuple[int, ...]:
        """Values of s that are run: 1, those of the file below H, and H."""
        return tuple(sorted({1, *(s for s in self.s if s < self.iterations), self.iterations}))

    def points(self, s: int) -> tuple[int, ...]:
        """Window ends at which a run of this s is compared: every `EVERY` iterations if s allows."""
        step = lcm(s, EVERY)
        return (*range(step, self.iterations, step), self.iterations)


@dataclass(frozen=True)
class ScenarioUnit:
    """One scenario of a family, run in some of its forms; its own s stays 1, for the runs bring theirs."""

    family: ScenarioFamily
    scenario: Scenario
    forms: tuple[str, ...]

    @property
    def key(self) -> str:
        """What sets its outcome apart; one of fewer forms is another one."""
        cases = " + ".join(map(self.case, self.forms))
        return f"{cases}, condition {float(self.scenario.condition)!r}, seed {self.scenario.seed}"

    @property
    def replayed(self) -> tuple[int, ...]:
        """Values of s that are run and whose windows are replayed, on the first seed."""
        family = self.family
        wanted = {min(s, family.iterations) for s in family.replay}
        most = family.replay_draws // self.scenario.block
        return tuple(s for s in family.steps if s in wanted and s <= most)

    def case(self, form: str) -> str:
        """Id of the case that this unit is part of, such as ``float64/frozen/krr/b=4/linear``."""
        one = self.scenario
        block = [f"b={one.block}"] if one.task == "krr" else []
        return "/".join([one.precision, form, one.task, *block, identify(one.kernel)])


def scenario_units(families: Sequence[ScenarioFamily], only: str = "") -> list[ScenarioUnit]:
    """All units with a case that `only` selects, in those forms, in the order of the file.

    Raises
    ------
    InputError
        If two families make the same case, or no case is left.
    """
    owners: dict[str, ScenarioFamily] = {}
    every = list(islice((unit for family in families for unit in _product(family)), MOST_SCENARIOS + 1))
    for unit in every:
        for case in map(unit.case, unit.forms):
            if owners.setdefault(case, unit.family) is not unit.family:
                raise InputError(f"case {case} is in two [[scenario]] tables")
    if len(every) > MOST_SCENARIOS:
        raise InputError(f"more than {MOST_SCENARIOS:,} scenarios; make several campaigns of them")
    wanted = chosen(only, owners)
    left = [
        replace(unit, forms=tuple(form for form in unit.forms if unit.case(form) in wanted))
        for unit in every
    ]
    return [unit for unit in left if unit.forms]


def _product(family: ScenarioFamily) -> Iterator[ScenarioUnit]:
    """The units of a family; InputError where one is no scenario."""
    for task, block, kernel, condition, seed in product(
        family.task, family.block, family.kernel, family.condition, family.seed
    ):
        scenario = Scenario(
            task=task,
            kernel=kernel,
            samples=family.samples,
            features=family.features,
            block=block,
            iterations=family.iterations,
            seed=seed,
            parameter=family.parameter,
            spectrum=family.spectrum,
            condition=condition,
            precision=family.precision,
        )
        yield ScenarioUnit(family, scenario, family.form)


def read_scenario(table: dict, where: str) -> ScenarioFamily:
    """The family of one ``[[scenario]]`` table; InputError if a key or a value cannot be used."""
    family = ScenarioFamily(**read_table(table, ScenarioFamily, where))
    ends = f"windows = {family.windows}, with the first and the last"
    Range(1, family.windows + 2, ends).refuse(where, "minimum_windows", family.minimum_windows)
    drawn = "a K-SVM draws one coordinate a step, and a block holds none twice"
    blocks = Range(1, family.samples if family.task == ("krr",) else 1, drawn)
    refuse_beyond(where, {"block": family.block}, {"block": blocks})
    for form in family.form:
        OneOf(FORMS[family.precision]).refuse(where, f"{family.precision} form", form)
    try:
        for _ in _product(family):
            pass
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    return family

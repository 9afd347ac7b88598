"""Campaign files: TOML that says which problems are run, with which s, until when, and how judged."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, fields
from importlib import resources
from pathlib import Path

from sstep_verify.campaign.solvers import make_solvers
from sstep_verify.campaign.stability_definition import ScenarioFamily, read_scenario
from sstep_verify.checks.registry import MODULES, checks_of
from sstep_verify.errors import InputError
from sstep_verify.problems import Kernel, kernel_from

TASKS = ("svm-l1", "svm-l2", "krr")


@dataclass(frozen=True)
class Family:
    """Problems that share everything but data, task, kernel and parameter: their product is run.

    Parameters
    ----------
    data : tuple of str
        Names of data sets, or paths.
    task : tuple of str
        svm-l1, svm-l2 (together), or krr (alone).
    kernel : tuple of Kernel
        Kernels.
    s : tuple of int
        Iterations per window; 1 is the classical method.
    parameter : tuple of float
        Values of C (K-SVM) or lambda (K-RR).
    block : tuple of int
        Block sizes (b); 1 for K-SVM.
    iterations : int
        Cap on the iterations of a run.
    tolerance : float
        Relative duality gap (K-SVM) or relative solution error (K-RR) at which a run ends.
    windows : int
        Windows sampled per run for window-replay.
    minimum_windows : int
        Fewest windows replayed per run; a run with fewer makes the campaign incomplete.
    replay_limit : int
        Largest number of kernel entries of a window that is replayed.
    drift : int
        Coordinate updates (b an iteration) over which the drift from the exact trajectory is measured;
        0 for none.
    stream : str
        Kind of the index stream.
    seed : int
        Seed of stream and window sample.
    keep_gram : bool
        Let the solver keep the whole Gram matrix.
    update : str
        Form of the solver's update: in-place or frozen.
    solver, precision : str
        Solver under test and its arithmetic; see `sstep_verify.campaign.solvers`.
    storage : {"as-is", "dense", "csr"}
        How the data are held.
    checks : tuple of str
        Ids of the checks that judge the runs; all by default.
    """

    data: tuple[str, ...]
    task: tuple[str, ...]
    kernel: tuple[Kernel, ...]
    s: tuple[int, ...]
    parameter: tuple[float, ...] = (1.0,)
    block: tuple[int, ...] = (1,)
    iterations: int = 10_000
    tolerance: float = 1e-8
    windows: int = 4
    minimum_windows: int = 2
    replay_limit: int = 1 << 24
    drift: int = 0
    stream: str = "uniform"
    seed: int = 0
    keep_gram: bool = False
    update: str = "in-place"
    solver: str = "production"
    precision: str = "float64"
    storage: str = "as-is"
    checks: tuple[str, ...] = tuple(MODULES)

    @property
    def label(self) -> str:
        """What sets the family's runs apart from those of the default solver; empty for it."""
        parts = [] if self.solver == "production" else [f"{self.solver}-{self.precision}"]
        parts += [] if self.storage == "as-is" else [self.storage]
        return "-".join(parts)


@dataclass(frozen=True)
class Definition:
    """A campaign as its file says.

    Parameters
    ----------
    name, title, description : str
        For the report.
    families : tuple of Family
        What is run.
    notes : tuple of str
        Remarks that the report prints.
    tolerated_vacuous : int
        Problems that may turn out VACUOUS before the campaign counts as incomplete.
    source : str
        Where the definition was read from: a name or a path.
    scenarios : tuple of ScenarioFamily
        What is run on generated data instead: a campaign has families of one kind.
    """

    name: str
    title: str
    description: str
    families: tuple[Family, ...]
    notes: tuple[str, ...] = ()
    tolerated_vacuous: int = 0
    source: str = field(default="", compare=False)
    scenarios: tuple[ScenarioFamily, ...] = ()


def shipped() -> list[str]:
    """Names of the campaigns that come with the package."""
    folder = resources.files("sstep_verify.campaign") / "campaigns"
    return sorted(
        item.name.removesuffix(".toml") for item in folder.iterdir() if item.name.endswith(".toml")
    )


def read_definition(name_or_path: str) -> Definition:
    """Read a shipped campaign by name, or any campaign file by path.

    Raises
    ------
    InputError
        If there is none, or the file has a syntax error, an unknown key or an unusable value.
    """
    if name_or_path in shipped():
        folder = resources.files("sstep_verify.campaign") / "campaigns"
        text = (folder / f"{name_or_path}.toml").read_text("utf-8")
    else:
        path = Path(name_or_path)
        if path.suffix != ".toml" and not path.exists():
            raise InputError(
                f"campaign {name_or_path!r} is unknown; shipped: {', '.join(shipped())}; "
                "any other must be the path of a .toml file"
            )
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: cannot be read as a campaign file: {error}") from error
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{name_or_path}: not a TOML file: {error}") from error
    return _definition(table, name_or_path)


def _definition(table: dict, source: str) -> Definition:
    head = _take(table, "campaign", dict, source)
    families = _take(table, "family", list, source) if "family" in table else []
    scenarios = _take(table, "scenario", list, source) if "scenario" in table else []
    if not families and not scenarios:
        raise InputError(f"{source}: holds no [[family]] and no [[scenario]], so there is nothing to run")
    if families and scenarios:
        raise InputError(f"{source}: holds both [[family]] and [[scenario]]; make two campaigns of it")
    _refuse_rest(table, source, "top level")
    known = {item.name for item in fields(Definition)} - {"families", "scenarios", "source"}
    unknown = sorted(set(head) - known)
    if unknown:
        raise InputError(f"{source}: [campaign] has the unknown key {unknown[0]!r}; known: {sorted(known)}")
    for key, kind in (("name", str), ("title", str), ("description", str)):
        _expect(head.get(key), kind, f"{source}: [campaign] {key}")
    _expect(head.get("tolerated_vacuous", 0), int, f"{source}: [campaign] tolerated_vacuous")
    notes = head.get("notes", [])
    _expect(notes, list, f"{source}: [campaign] notes")
    return Definition(
        name=head["name"],
        title=head["title"],
        description=head["description"],
        notes=tuple(str(note) for note in notes),
        tolerated_vacuous=head.get("tolerated_vacuous", 0),
        families=tuple(_family(dict(item), f"{source}: family {k}") for k, item in enumerate(families, 1)),
        source=source,
        scenarios=tuple(
            read_scenario(dict(item), f"{source}: scenario {k}", _kernel)
            for k, item in enumerate(scenarios, 1)
        ),
    )


def _family(table: dict, where: str) -> Family:
    lists = {"data": str, "task": str, "s": int, "parameter": (int, float), "block": int, "checks": str}
    scalars = {
        "iterations": int, "tolerance": (int, float), "windows": int, "minimum_windows": int,
        "replay_limit": int, "drift": int, "stream": str, "seed": int, "keep_gram": bool, "update": str,
        "solver": str, "precision": str, "storage": str,
    }  # fmt: skip
    values: dict = {"kernel": tuple(_kernel(item, where) for item in _take(table, "kernel", list, where))}
    for key, kind in lists.items():
        if key in table:
            items = _take(table, key, list, where)
            for item in items:
                _expect(item, kind, f"{where}, {key}")
            values[key] = tuple(items)
    for key, kind in scalars.items():
        if key in table:
            values[key] = _take(table, key, kind, where)
    _refuse_rest(table, where, "family")
    for key in ("data", "task", "kernel", "s"):
        if not values.get(key):
            raise InputError(f"{where}: {key} is missing or empty")
    family = Family(**values)
    _check_family(family, where)
    return family


def _check_family(family: Family, where: str) -> None:
    checks_of(family.checks)
    if family.storage not in ("as-is", "dense", "csr"):
        raise InputError(f"{where}: storage {family.storage!r} is unknown; known: as-is, dense, csr")
    make_solvers(
        family.solver, precision=family.precision, update=family.update, keep_gram=family.keep_gram
    )
    for task in family.task:
        if task not in TASKS:
            raise InputError(f"{where}: task {task!r} is unknown; known: {', '.join(TASKS)}")
    if "krr" in family.task and len(family.task) > 1:
        raise InputError(f"{where}: krr needs other data than a K-SVM; put it in a family of its own")
    if "krr" not in family.task and family.block != (1,):
        raise InputError(f"{where}: block = {list(family.block)}, but a K-SVM draws one coordinate a step")
    for name, values in (("s", family.s), ("block", family.block)):
        if min(values) < 1:
            raise InputError(f"{where}: {name} = {min(values)}, but it must be >= 1")
    if min(family.parameter) <= 0:
        name = "lambda" if "krr" in family.task else "C"
        raise InputError(f"{where}: {name} = {min(family.parameter)}, but it must be > 0")
    for name in ("iterations", "minimum_windows", "replay_limit"):
        if getattr(family, name) < 1:
            raise InputError(f"{where}: {name} = {getattr(family, name)}, but it must be >= 1")
    if not family.tolerance > 0 or min(family.drift, family.seed, family.windows) < 0:
        raise InputError(f"{where}: tolerance must be > 0; drift, seed and windows >= 0")


def _kernel(table, where: str) -> Kernel:
    _expect(table, dict, f"{where}, kernel")
    known = {"name", "degree", "offset", "sigma"}
    unknown = sorted(set(table) - known)
    if unknown or "name" not in table:
        raise InputError(f"{where}: kernel {table!r} needs a name and may have {sorted(known - {'name'})}")
    try:
        return kernel_from(**table)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error


def _take(table: dict, key: str, kind, where: str):
    if key not in table:
        raise InputError(f"{where}: {key} is missing")
    value = table.pop(key)
    _expect(value, kind, f"{where}, {key}")
    return value


def _expect(value, kind, where: str) -> None:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        wanted = " or ".join(item.__name__ for item in (kind if isinstance(kind, tuple) else (kind,)))
        raise InputError(f"{where} is {value!r}, but must be of type {wanted}")


def _refuse_rest(table: dict, where: str, level: str) -> None:
    if table:
        raise InputError(f"{where}: unknown key {sorted(table)[0]!r} at the {level}")

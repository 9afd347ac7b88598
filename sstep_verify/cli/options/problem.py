"""Options that say which problem is solved, the same for every command, and what they mean together."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from sstep_verify.cli.options.values import with_options

FORCE = "Replace a file that is there."

FOLDER_OF_DATA = "Folder with the data sets in LIBSVM format."

TASKS, KERNELS = ("svm-l1", "svm-l2", "krr"), ("linear", "polynomial", "rbf")

USED_BY = {
    "sigma": ("--sigma", "kernel", ("rbf",)),
    "degree": ("--degree", "kernel", ("polynomial",)),
    "offset": ("--offset", "kernel", ("polynomial",)),
    "penalty_c": ("--C", "task", ("svm-l1", "svm-l2")),
    "penalty": ("--lambda", "task", ("krr",)),
}
"""Parameters, their options, and which kernels or tasks use them."""


def problem_options(*, required: bool) -> Callable[[Callable], Callable]:
    """Decorate a command with the options of a problem: task, kernel, parameters, bias."""
    options = (
        click.option("--task", type=click.Choice(TASKS), required=required, help="What to solve."),
        click.option("--kernel", type=click.Choice(KERNELS), default="linear", show_default=True),
        click.option("--sigma", type=float, help="rbf: inverse squared width  [default: 1.0]"),
        click.option("--degree", type=int, help="polynomial: exponent  [default: 3]"),
        click.option("--offset", type=float, help="polynomial: constant  [default: 0.0]"),
        click.option("--C", "penalty_c", type=float, help="K-SVM: penalty  [default: 1.0]"),
        click.option("--lambda", "penalty", type=float, help="K-RR: regularisation  [default: 1.0]"),
        click.option(
            "--bias", type=float, default=0.0,
            help="Append a constant feature of this value  [default: none]",
        ),
    )  # fmt: skip

    return with_options(*options)


def kernel_and_loss(given: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """Kernel and loss that the options describe, and the other options.

    Raises
    ------
    InputError
        If a value is out of range, or an option was given that the kernel or task does not use.
    """
    from sstep_verify.errors import InputError
    from sstep_verify.problems import kernel_from, loss_from

    rest = dict(given)
    parameters = {name: rest.pop(name) for name in USED_BY}
    named = {"kernel": rest.pop("kernel"), "task": rest.pop("task")}
    for name, (option, chosen, users) in USED_BY.items():
        if parameters[name] is not None and named[chosen] not in users:
            raise InputError(
                f"{option} {parameters[name]}: --{chosen} {named[chosen]} does not use it; drop it, or "
                f"give --{chosen} {' or '.join(users)}"
            )
    found = {name: value for name, value in parameters.items() if value is not None}
    shape = {name: found[name] for name in ("sigma", "degree", "offset") if name in found}
    scale = [found[name] for name in ("penalty_c", "penalty") if name in found]
    return kernel_from(named["kernel"], **shape), loss_from(named["task"], *scale), rest


def loaded_for(data: str, task: str, directory: str | None) -> Any:
    """DATA, with targets for a task."""
    from sstep_verify.problems.data.datasets import load

    return load(data, directory=directory, task="regression" if task == "krr" else "classification")


def problem_of(data: str, kernel: Any, loss: Any, given: dict[str, Any]) -> tuple[Any, Any]:
    """The problem that DATA and the options are, with the feature of --bias, and the data as loaded."""
    from sstep_verify.problems import Problem
    from sstep_verify.problems.bias import require_usable, with_constant_feature

    require_usable(given["bias"], kernel)
    loaded = loaded_for(data, loss.task, given["directory"])
    values = with_constant_feature(loaded.data, given["bias"])
    return Problem(loaded.name, values, loaded.targets, kernel, loss).with_finite_kernel(), loaded


@contextlib.contextmanager
def claimed_out(
    out: str | None,
    data: str,
    directory: str | None,
    *,
    force: bool = False,
    entries: frozenset[str] = frozenset(),
) -> Iterator[Path | None]:
    """What --out names, held for as long as it takes; None if nothing is to be written.

    Parameters
    ----------
    out : str or None
        The file, or the folder where `entries` are given.
    data, directory : str, str or None
        DATA and --data, which must not be written over.
    force : bool
        Whether a file that is there may be replaced.
    entries : frozenset of str
        Names that a folder of this kind may hold, which is then replaced.
    """
    from sstep_verify.outputs import Output, claim
    from sstep_verify.problems.data.datasets import stored_file

    if out is None:
        yield None
        return
    inputs = [("DATA", path) for path in (stored_file(data, directory),) if path]
    with claim([Output("--out", out, force, bool(entries), entries=entries)], inputs) as (path,):
        yield path

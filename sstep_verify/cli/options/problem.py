"""Options that say which problem is solved, the same for every command, and what they mean together."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from sstep_verify.cli.options.values import complete, with_options

FORCE = "Replace a file that is there."

FOLDER_OF_DATA = "Folder with the data sets in LIBSVM format."

TASKS, KERNELS = ("svm-l1", "svm-l2", "krr"), ("linear", "polynomial", "rbf")

USED_BY = {
    "penalty_c": ("--C", ("svm-l1", "svm-l2")),
    "penalty": ("--lambda", ("krr",)),
}
"""Parameters of a loss, their options, and which tasks use them."""

kernel_option = click.option(
    "--kernel", default="linear", show_default=True, metavar="NAME[,KEY=NUMBER]",
    shell_complete=complete(lambda: KERNELS),
    help="linear; polynomial,degree=3,offset=0; or rbf,sigma=1, the inverse squared width. These numbers "
    "hold where none are given.",
)  # fmt: skip


def problem_options(*, required: bool) -> Callable[[Callable], Callable]:
    """Decorate a command with the options of a problem: task, kernel, parameters, bias."""
    options = (
        click.option("--task", type=click.Choice(TASKS), required=required, help="What to solve."),
        kernel_option,
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
    from sstep_verify.problems import loss_from

    rest = dict(given)
    task, kernel = rest.pop("task"), kernel_of(rest.pop("kernel"))
    scale = []
    for name, (option, users) in USED_BY.items():
        if (value := rest.pop(name)) is None:
            continue
        if task not in users:
            raise InputError(
                f"{option} {value}: --task {task} does not use it; drop it, or give --task "
                f"{' or '.join(users)}"
            )
        scale.append(value)
    return kernel, loss_from(task, *scale), rest


def kernel_of(text: str) -> Any:
    """The kernel that a text such as ``rbf,sigma=0.5`` names, as the id of a case does.

    Raises
    ------
    InputError
        If there is no such kernel, it has no such parameter, or a value is none or out of range.
    """
    from sstep_verify.errors import InputError, closest
    from sstep_verify.problems import kernel_from
    from sstep_verify.problems.kernels import KERNELS as KNOWN

    where, (name, *words) = f"--kernel {text:.80}", text.split(",")
    if name not in KNOWN:
        known = f"{closest(name, KNOWN)}; known: {', '.join(KNOWN)}"
        raise InputError(f"{where}: {name!r:.40} is unknown{known}")
    parameters: dict[str, float] = {}
    for word in words:
        key, _, number = word.partition("=")
        users = [one for one, kind in KNOWN.items() if key in {item.name for item in fields(kind)}]
        if name not in users:
            way_out = f", or give --kernel {' or '.join(users)}" if users else ""
            raise InputError(f"{where}: {name} has no {key!r:.40}; drop it{way_out}")
        if key in parameters:
            raise InputError(f"{where}: {key} is there twice")
        try:
            parameters[key] = int(number) if number.isdecimal() and len(number) < 40 else float(number)
        except ValueError as error:
            raise InputError(f"{where}: {key} is {number!r:.40}, which is no number") from error
    return kernel_from(name, **parameters)


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

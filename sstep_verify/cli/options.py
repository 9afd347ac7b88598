"""Options that commands share: their values, what they mean together, what the shell completes."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from sstep_verify.errors import InputError, among
from sstep_verify.files import Output, claim

FORCE = "Replace a file that is there."

TASKS, KERNELS = ("svm-l1", "svm-l2", "krr"), ("linear", "polynomial", "rbf")

ORACLES = ("arb", "mpmath")
"""Names of `oracle.choice`, which is imported where it is used."""

USED_BY = {
    "penalty_c": ("--C", ("svm-l1", "svm-l2")),
    "penalty": ("--lambda", ("krr",)),
}
"""Parameters of a loss, their options, and which tasks use them."""


def with_options(*options: Callable[[Callable], Callable]) -> Callable[[Callable], Callable]:
    """A decorator that gives a command some options, which its help lists in this order."""

    def decorate(function: Callable) -> Callable:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def checks() -> Iterable[str]:
    """Ids of the checks."""
    from sstep_verify.checks.registry import CHECKS

    return tuple(CHECKS)


def data_sets() -> Iterable[str]:
    """Data sets known by name."""
    from sstep_verify.problems.data.datasets import names

    return names()


def on_command_line() -> dict[str, str]:
    """Names of the options and arguments that were given, and how each is written."""
    context = click.get_current_context()
    return {
        str(one.name): one.opts[0] if isinstance(one, click.Option) else str(one.name).upper()
        for one in context.command.params
        if context.get_parameter_source(str(one.name)) is click.core.ParameterSource.COMMANDLINE
    }


def complete(names: Callable[[], Iterable[str]]) -> Callable[..., list[CompletionItem]]:
    """Complete one of these names, which are asked for only then, or a file where none begins so."""

    def found(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
        items = [CompletionItem(name) for name in names() if name.startswith(begun)]
        return items or [CompletionItem(begun, type="file")]

    return found


def numbers(least: int = 1, none: bool = False) -> Callable[[str], tuple[int, ...]]:
    """Whole numbers of at least `least`, between commas; where `none`, that word is an empty list."""

    def numbers(text: str) -> tuple[int, ...]:
        if none and text == "none":
            return ()
        try:
            found = sorted({int(word) for word in text.split(",")})
        except ValueError:
            raise click.BadParameter(f"{text!r} is no list of whole numbers such as 1,2,4") from None
        if found[0] < least:
            raise click.BadParameter(f"{found[0]} is below {least}")
        return tuple(found)

    return numbers


def shape(text: str) -> tuple[int, ...]:
    """Samples, features and nonzeros, between commas; the last ones may be left out."""
    try:
        found = tuple(int(float(word)) for word in text.split(","))
    except (ValueError, OverflowError):
        found = ()
    if not 1 <= len(found) <= 3 or min(found) < 1:
        raise click.BadParameter(f"{text!r} is no shape such as 400,600 or 400,600,1000: M,N,NONZEROS")
    return found


def delays(text: str) -> tuple[tuple[float, ...], ...]:
    """Microseconds, and after a colon nanoseconds a byte, from 0; between commas."""
    try:
        found = {tuple(map(float, word.split(":", 1))) for word in text.split(",")}
    except ValueError:
        told = f"{text!r}: a delay is a number of microseconds such as 100, or 100:0.5"
        raise click.BadParameter(told) from None
    if not all(0 <= late <= 1e8 and 0 <= sum(byte) <= 1e6 for late, *byte in found):
        told = f"{text!r}: microseconds lie in 0..1e8, nanoseconds a byte in 0..1e6"
        raise click.BadParameter(told)
    return tuple(sorted(found))


def print_json(document: object) -> None:
    """Print a document as strict JSON."""
    click.echo(json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False))


def words_of(option: str, line: str) -> tuple[str, ...]:
    """Arguments that a line stands for, as a shell would cut it."""
    try:
        return tuple(shlex.split(line))
    except ValueError as error:
        raise InputError(f"{option} {line!r}: {error}") from error


data_argument = click.argument("data", metavar="DATA", shell_complete=complete(data_sets))

folder_option = click.option(
    "--data", "directory", metavar="DIR", help="Folder with the data sets in LIBSVM format."
)

block_option = click.option(
    "--block", type=click.IntRange(min=1), default=1, show_default=True, help="K-RR: coordinates a step."
)


def jobs_option(of_ranks: str = "") -> Callable[[Callable], Callable]:
    """The option of processes; `of_ranks` says what holds where problems are run on several ranks."""
    told = f"Processes{of_ranks}  [default: one for each processor that this one may use]"
    return click.option("--jobs", type=click.IntRange(min=1, max=1024), metavar="N", help=told)


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
    """Kernel and loss that the options describe, and the other options; InputError if one is not used."""
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


def stepped(given: dict[str, Any]) -> Any:
    """The kernel of the options; InputError where --block or --exchange go with no such task or kernel."""
    kernel, block = kernel_of(given["kernel"]), given["block"]
    if given["task"] != "krr" and block > 1:
        raise InputError(f"--block {block}: a K-SVM draws one coordinate a step; drop it, or --task krr")
    if given["exchange"] == "gram" and not kernel.linear:
        raise InputError("--exchange gram carries weights, so it is for --kernel linear; take allreduce")
    return kernel


def kernel_of(text: str) -> Any:
    """The kernel that a text such as ``rbf,sigma=0.5`` names, as the id of a case does."""
    from sstep_verify.problems import kernel_from
    from sstep_verify.problems.kernels import KERNELS as KNOWN
    from sstep_verify.problems.kernels import OTHER_KERNELS

    where, (name, *words) = f"--kernel {text:.80}", text.split(",")
    if name not in KNOWN:
        raise InputError(f"{where}: {name!r:.40} is unknown{among(name, KNOWN)}; {OTHER_KERNELS}")
    parameters: dict[str, float] = {}
    for word in words:
        key, _, number = word.partition("=")
        keys = {one: [item.name for item in fields(kind)] for one, kind in KNOWN.items()}
        if key not in keys[name]:
            if word.isdecimal() and parameters:
                last = list(parameters)[-1]
                meant = f"{last}={parameters[last]:g}.{word:.40}"
                raise InputError(f"{where}: a comma ends a number; write {meant} with a point")
            users = [one for one in keys if key in keys[one]]
            own = ", ".join(keys[name]) or "no number"
            way_out = f", or give --kernel {' or '.join(users)}" if users else ""
            if called := KNOWN[name].elsewhere.get(key):
                raise InputError(
                    f"{where}: {key} is called {called} here; write {name},{called}={number:.40}"
                )
            raise InputError(f"{where}: {name} has no {key!r:.40}, it has {own}; drop it{way_out}")
        if key in parameters:
            raise InputError(f"{where}: {key} is there twice")
        try:
            parameters[key] = int(number) if number.isdecimal() and len(number) < 40 else float(number)
        except ValueError as error:
            raise InputError(f"{where}: {key} is {number!r:.40}, which is no number") from error
    return kernel_from(name, **parameters)


def loaded_for(data: str, task: str, directory: str | None) -> Any:
    """DATA, with targets for a task; says what a reader of a file should know, such as labels mapped."""
    from sstep_verify.problems.data.datasets import load, told_of

    loaded = load(data, directory=directory, task="regression" if task == "krr" else "classification")
    for line in told_of(data, loaded):
        click.echo(f"note: {line}", err=True)
    return loaded


def problem_of(data: str, given: dict[str, Any]) -> tuple[Any, Any]:
    """The problem that DATA and the options are, with the feature of --bias, and the data as loaded."""
    from sstep_verify.problems import Problem
    from sstep_verify.problems.transforms import require_usable, with_constant_feature

    kernel, loss, _ = kernel_and_loss(given)
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

    It is a file, which `force` lets be replaced, or a folder that may hold `entries`, which is replaced.
    `data` and `directory` are DATA and --data, which must not be written over.
    """
    from sstep_verify.cli.work import ended_by
    from sstep_verify.problems.data.datasets import stored_file

    # Ended by SIGTERM as by Ctrl-C, a command says so and leaves no lock.
    with ended_by(signal.default_int_handler, signal.SIGTERM):
        if out is None:
            yield None
            return
        inputs = [("DATA", path) for path in (stored_file(data, directory),) if path]
        with claim([Output("--out", out, force, bool(entries), entries=entries)], inputs) as (path,):
            yield path


def processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0))

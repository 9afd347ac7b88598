"""Options of the commands that time runs: what runs, on how many ranks, how long."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click

from sstep_verify.cli.options.numbers import Numbers
from sstep_verify.cli.options.problem import kernel_and_loss, problem_options

EXCHANGES = ("allreduce", "reduce-scatter", "gram")

AT_LEAST_ONE = click.IntRange(min=1)


def laboratory_options(*, s: str, seconds: float) -> Callable[[Callable], Callable]:
    """Decorate a command with what its runs are.

    Parameters
    ----------
    s : str
        Which s are run unless told otherwise.
    seconds : float
        Length of a stretch unless told otherwise.
    """
    options = (
        click.option(
            "--block", type=AT_LEAST_ONE, default=1, show_default=True, help="K-RR: coordinates a step."
        ),
        click.option(
            "--s", "s_values", type=Numbers(), default=s, show_default=True, metavar="S,S,...",
            help="Iterations per window, beside 1.",
        ),
        click.option(
            "--np", "ranks", type=click.IntRange(2, 4096), default=2, show_default=True, help="Ranks (P)."
        ),
        click.option(
            "--per-byte", type=click.FloatRange(0, 1e6), default=0.0, show_default=True, metavar="NS",
            help="Nanoseconds that a delay takes more for each byte, a level.",
        ),
        click.option(
            "--exchange", type=click.Choice(EXCHANGES), default="allreduce", show_default=True,
            help="What our solver communicates in a window.",
        ),
        click.option(
            "--exec", "command_line", metavar="COMMAND|FILE.toml",
            help="A program instead of our solver: arguments as for check --exec, or a program file.",
        ),
        click.option(
            "--writes", type=click.Choice(["log", "trace", "final"]), default="final", show_default=True,
            help="What the program of --exec leaves.",
        ),
        click.option(
            "--witness", metavar="MPICC", help="Compiler wrapper of the program's MPI  [default: mpicc]"
        ),
        click.option(
            "--time-limit", type=click.FloatRange(min=0, min_open=True), default=600.0, show_default=True,
            help="Seconds of one run of the program.",
        ),
        click.option(
            "--repeats", type=click.IntRange(min=3), default=5, show_default=True,
            help="Stretches of each cell; the cells take turns.",
        ),
        click.option(
            "--seconds", type=click.FloatRange(min=0, min_open=True), default=seconds, show_default=True,
            help="Length of a stretch.",
        ),
        click.option(
            "--seed", type=click.IntRange(min=0), default=0, show_default=True,
            help="Seed of the drawn coordinates.",
        ),
        click.option("--data", "directory", metavar="DIR", help="Folder of data sets in LIBSVM format."),
        click.option("--out", metavar="FOLDER", help="Folder for text, JSON, CSV and figure."),
        click.option("--force", is_flag=True, help="Replace a folder that is there."),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of lines."),
    )  # fmt: skip

    def decorate(function: Callable) -> Callable:
        for option in reversed(options):
            function = option(function)
        return problem_options(required=True)(function)

    return decorate


def wanted_of(data: str, given: dict[str, Any]):
    """What is solved, and the other options.

    Raises
    ------
    InputError
        If the options do not go together.
    """
    from sstep_verify.errors import InputError
    from sstep_verify.laboratory.ranks import Wanted
    from sstep_verify.problems.bias import require_usable

    kernel, loss, rest = kernel_and_loss(given)
    require_usable(rest["bias"], kernel)
    if loss.task != "krr" and rest["block"] > 1:
        raise InputError(
            f"--block {rest['block']}: a K-SVM draws one coordinate a step; it is for --task krr"
        )
    if rest["exchange"] == "gram" and not kernel.linear:
        raise InputError("--exchange gram carries weights, which only the linear kernel has")
    if rest["command_line"] is None and rest["witness"]:
        raise InputError(f"--witness {rest['witness']} is for --exec")
    return Wanted(data, rest["directory"], kernel, loss, rest["block"], rest["seed"], rest["bias"]), rest


def program_of(wanted, given: dict[str, Any]):
    """The program of --exec, made ready; None if there is none."""
    if given["command_line"] is None:
        return None
    from sstep_verify.cli.options.solver import words_of
    from sstep_verify.laboratory.programs import SomeProgram, require_s
    from sstep_verify.problems import Problem
    from sstep_verify.problems.bias import with_constant_feature
    from sstep_verify.problems.data.datasets import load
    from sstep_verify.solvers.adapters.program import is_program, program_from, read_program

    line, witness = given["command_line"], given["witness"]
    if is_program(line):
        described = read_program(line)
        if witness:
            described = replace(described, program=replace(described.program, witness=witness))
    else:
        described = program_from(
            words_of("--exec", line), (), given["writes"], given["time_limit"], (), witness or ""
        )
    require_s(described)
    found = load(wanted.data, directory=wanted.directory, task=wanted.task)
    values = with_constant_feature(found.data, wanted.bias)
    problem = Problem(found.name, values, found.targets, wanted.kernel, wanted.loss)
    return SomeProgram(described, problem, wanted.block, wanted.seed)


def described_problem(wanted, about: dict[str, Any]) -> str:
    """What is solved, in words."""
    from sstep_verify.problems.losses import describe

    name = wanted.data.rsplit("/", 1)[-1]
    block = f", b = {wanted.block}" if wanted.block > 1 else ""
    return (
        f"{name} ({about['samples']} x {about['features']}), {describe(wanted.loss)}, "
        f"{wanted.kernel.name} kernel{block}"
    )


@contextlib.contextmanager
def claimed(wanted, given: dict[str, Any]):
    """The folder of --out, held for as long as it takes; None if there is to be none."""
    from sstep_verify.outputs import Output, claim
    from sstep_verify.problems.data.datasets import stored_file

    if given["out"] is None:
        yield None
        return
    inputs = [("DATA", path) for path in (stored_file(wanted.data, wanted.directory),) if path]
    with claim([Output("--out", given["out"], given["force"], folder=True)], inputs) as (folder,):
        yield folder


def tell(message: str) -> None:
    """Say how far it is, to whoever sits before a terminal."""
    if sys.stderr.isatty():
        click.echo(f"\r{message:<60}", nl=False, err=True)

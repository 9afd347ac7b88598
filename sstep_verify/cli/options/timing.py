"""What ``sstep-verify perf latency`` and ``perf autopsy`` share: what runs, on how many ranks, how long."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from sstep_verify.cli.options.problem import FOLDER_OF_DATA, TASKS, claimed_out, kernel_of, kernel_option
from sstep_verify.cli.options.values import Delays, Numbers, complete, data_sets, with_options

EXCHANGES = ("allreduce", "reduce-scatter", "gram")


def timing_options(*, s: str, delays: str, several: bool, seconds: float) -> Callable[[Callable], Callable]:
    """Decorate a command with what its runs are; given are values unless told otherwise."""
    options = (
        click.argument("data", metavar="DATA", shell_complete=complete(data_sets)),
        click.option("--task", type=click.Choice(TASKS), required=True, help="What is solved."),
        kernel_option,
        click.option(
            "--block", type=click.IntRange(min=1), default=1, show_default=True,
            help="K-RR: coordinates a step.",
        ),
        click.option(
            "--s", "steps", type=Numbers(), default=s, show_default=True, metavar="S,S,...",
            help="Iterations per window, beside 1.",
        ),
        click.option(
            "--np", "ranks", type=click.IntRange(2, 4096), default=2, show_default=True, help="Ranks (P)."
        ),
        click.option(
            "--delay", "delays", type=Delays(several), default=delays, show_default=True,
            metavar="US[:NS]" + ",..." * several,
            help="Microseconds that every collective is late, and nanoseconds more for each byte; both for "
            "each level of a tree over the ranks.",
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
            "--set", "settings", multiple=True, metavar="KEY=VALUE",
            help="Of the program of --exec, what its file would say, such as writes=log or fixed.C=2.0.",
        ),
        click.option(
            "--repeats", type=click.IntRange(min=3), default=5, show_default=True,
            help="Stretches of each cell; the cells take turns.",
        ),
        click.option(
            "--seconds", type=click.FloatRange(min=0, min_open=True), default=seconds, show_default=True,
            help="Length of a stretch.",
        ),
        click.option("--data", "directory", metavar="DIR", help=FOLDER_OF_DATA),
        click.option(
            "--out", metavar="FOLDER", help="Folder for text, JSON, CSV and figure; it is replaced."
        ),
    )  # fmt: skip

    return with_options(*options)


def perform(name: str, study: Callable[..., Any], given: dict[str, Any]) -> None:
    """Make a study, print it, and write it into the folder of --out, which is held meanwhile.

    Raises
    ------
    InputError
        If the options do not go together.
    """
    from sstep_verify.errors import InputError
    from sstep_verify.problems import loss_from
    from sstep_verify.timing.measure import Delay, Plan, about, in_words, write
    from sstep_verify.timing.ranks import OurSolver, Wanted

    kernel, loss, block = kernel_of(given["kernel"]), loss_from(given["task"]), given["block"]
    if loss.task != "krr" and block > 1:
        raise InputError(f"--block {block}: a K-SVM draws one coordinate a step; it is for --task krr")
    if given["exchange"] == "gram" and not kernel.linear:
        raise InputError("--exchange gram carries weights, which only the linear kernel has")
    wanted = Wanted(given["data"], given["directory"], kernel, loss, block)
    entries = frozenset(f"{name}.{suffix}" for suffix in ("txt", "json", "csv", "svg"))
    with claimed_out(given["out"], given["data"], given["directory"], entries=entries) as folder:
        wanted, program = _program(wanted, given["command_line"], given["settings"])
        ours = OurSolver(wanted, given["exchange"])
        steps = [s for s in sorted({1, *given["steps"]}) if program is None or program.knows(s)]
        delays = tuple(sorted({Delay(), *(Delay(*delay) for delay in given["delays"])}))
        plan = Plan(tuple(steps), delays, given["ranks"], given["repeats"], given["seconds"])
        known = ours.about(plan.ranks)
        where = about(known["mpi"], sys.argv)
        measured = study(program, ours, _in_words(wanted, known), plan, tell=_tell)
        lines = list(measured.lines(in_words(where, plan.ranks)))
        if folder is not None:
            write(folder, name, lines, measured.document(where), measured.files())
    click.echo("\n".join(lines))


def _program(wanted, line: str | None, settings: tuple[str, ...]):
    """What is solved, with what the program of --exec fixes of it, and that program, ready; or None."""
    from sstep_verify.errors import InputError

    if line is None:
        if settings:
            raise InputError(f"--set {settings[0]} is for the program of --exec")
        return wanted, None
    from sstep_verify.adapters.program import is_program, program_from, read_program
    from sstep_verify.cli.options.solver import words_of
    from sstep_verify.problems import Problem
    from sstep_verify.problems.data.datasets import load
    from sstep_verify.timing.programs import SomeProgram, as_fixed, require_s

    if is_program(line):
        described = read_program(line, settings)
    else:
        described = program_from(words_of("--exec", line), ("writes=final", "time_limit=600", *settings))
    require_s(described)
    wanted = as_fixed(described, wanted)
    loaded = load(wanted.data, directory=wanted.directory, task=wanted.task)
    problem = Problem(loaded.name, loaded.data, loaded.targets, wanted.kernel, wanted.loss)
    return wanted, SomeProgram(described, problem, wanted.block)


def _in_words(wanted, known: dict[str, Any]) -> str:
    """What is solved."""
    from sstep_verify.problems.kernels import identify
    from sstep_verify.problems.losses import describe

    name = wanted.data.rsplit("/", 1)[-1]
    block = f", b = {wanted.block}" if wanted.block > 1 else ""
    return (
        f"{name} ({known['samples']} x {known['features']}), {describe(wanted.loss)}, "
        f"{identify(wanted.kernel)} kernel{block}"
    )


def _tell(message: str) -> None:
    """Say how far it is, to whoever sits before a terminal."""
    if sys.stderr.isatty():
        click.echo(f"\r{message:<60}", nl=False, err=True)

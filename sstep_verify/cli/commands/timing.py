"""``sstep-verify perf latency`` and ``perf autopsy``: how much faster windows of s steps are, and why."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import click

from sstep_verify.cli.options import (
    TASKS,
    block_option,
    claimed_out,
    data_argument,
    delays,
    folder_option,
    kernel_option,
    loaded_for,
    numbers,
    stepped,
    with_options,
    words_of,
)
from sstep_verify.errors import InputError

EXCHANGES = ("allreduce", "reduce-scatter", "gram")


def timing_options(*, s: str, late: str, several: bool, seconds: float) -> Callable[[Callable], Callable]:
    """Decorate a command with what its runs are; given are values unless told otherwise."""
    options = (
        data_argument,
        click.option("--task", type=click.Choice(TASKS), required=True, help="What is solved."),
        kernel_option,
        block_option,
        click.option(
            "--s", "steps", type=numbers(), default=s, show_default=True, metavar="S,S,...",
            help="Iterations per window, beside 1.",
        ),
        click.option(
            "--np", "ranks", type=click.IntRange(2, 4096), default=2, show_default=True, help="Ranks (P)."
        ),
        click.option(
            "--delay", "delays", type=delays(several), default=late, show_default=True,
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
        folder_option,
        click.option(
            "--out", metavar="FOLDER", help="Folder for text, JSON, CSV and figure; it is replaced."
        ),
    )  # fmt: skip

    return with_options(*options)


@click.command("latency")
@timing_options(s="2,4,8,16,32,64,128,256", late="0,20,50,100,200,1000,10000", several=True, seconds=0.25)
def latency(**given):
    """Time the classical method against s-step runs on a network that is made slower.

    DATA is a LIBSVM file or the name of a data set. Our solver, or the program of --exec, runs on real
    ranks; a library between it and its MPI counts the collectives and makes each of them late. No kernel
    row is kept from window to window. For every delay are shown, for each s: the time of an iteration with
    its spread, what was predicted of it from runs without a delay and from a collective alone, the error
    of that, the speed-up over the classical method (s = 1); and the best s. docs/latency.md says more.

    Exit codes: 0 measured; 2 usage or input error, or something that is needed is missing.
    """
    from sstep_verify.timing.latency import study

    perform("latency", study, given)


@click.command("autopsy")
@timing_options(s="4,16,64,256", late="200", several=False, seconds=0.5)
@click.option(
    "--baseline", type=click.Choice(["best", "same"]), default="best", show_default=True,
    help="Strong baseline: our classical solver with the best of these exchanges, or with --exchange.",
)  # fmt: skip
def autopsy(baseline, **given):
    """Say which part of a speed-up is fewer messages, a better panel product, or a weak baseline.

    DATA is a LIBSVM file or the name of a data set. Timed are our classical solver with each of its
    exchanges but support, of which the fastest is the strong baseline, and our s-step solver or the
    program of --exec, classical and s-step; each on P ranks with late collectives, and on one rank, where
    nothing is communicated. The speed-up over the program's own classical method is taken apart into three
    factors, whose product it is. docs/latency.md has the formulas.

    Exit codes: 0 measured; 2 usage or input error, or something that is needed is missing.
    """
    from sstep_verify.timing.autopsy import study

    usual = [one for one in EXCHANGES if given["kernel"] == "linear" or one != "gram"]
    exchanges = usual if baseline == "best" else [given["exchange"]]
    if given["command_line"] is None:
        exchanges = [one for one in exchanges if one != given["exchange"]]
    perform("autopsy", partial(study, exchanges=tuple(exchanges)), given)


def perform(name: str, study: Callable[..., Any], given: dict[str, Any]) -> None:
    """Make a study, print it, and write it into the folder of --out, which is held meanwhile."""
    from sstep_verify.problems import loss_from
    from sstep_verify.timing.measure import Delay, Plan, about, in_words, write
    from sstep_verify.timing.ranks import OurSolver, Wanted

    loss = loss_from(given["task"])
    wanted = Wanted(given["data"], given["directory"], stepped(given), loss, given["block"])
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
    if line is None:
        if settings:
            raise InputError(f"--set {settings[0]} is for the program of --exec")
        return wanted, None
    from sstep_verify.adapters.program import program_from, read_program
    from sstep_verify.problems import Problem
    from sstep_verify.protocol import is_program
    from sstep_verify.timing.programs import SomeProgram, as_fixed, require_s

    if is_program(line):
        described = read_program(line, settings)
    else:
        described = program_from(words_of("--exec", line), ("writes=final", "time_limit=600", *settings))
    require_s(described)
    wanted = as_fixed(described, wanted)
    loaded = loaded_for(wanted.data, wanted.loss.task, wanted.directory)
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

"""``sstep-verify perf latency``: how much faster windows of s steps are on a network made slower."""

from __future__ import annotations

import sys
from collections.abc import Callable
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
    words_of,
)
from sstep_verify.errors import InputError

EXCHANGES = ("allreduce", "reduce-scatter", "gram")


@click.command("latency")
@data_argument
@click.option("--task", type=click.Choice(TASKS), required=True, help="What is solved.")
@kernel_option
@block_option
@click.option(
    "--s", "steps", type=numbers(), default="2,4,8,16,32,64,128,256", show_default=True,
    metavar="S,S,...", help="Iterations per window, in addition to 1.",
)  # fmt: skip
@click.option(
    "--np", "ranks", type=click.IntRange(2, 4096), default=2, show_default=True, help="Ranks (P)."
)
@click.option(
    "--delay", "delays", type=delays, default="0,20,50,100,200,1000,10000", show_default=True,
    metavar="US[:NS],...",
    help="Microseconds that every collective is late, and nanoseconds more for each byte; both for "
    "each level of a tree over the ranks.",
)  # fmt: skip
@click.option(
    "--exchange", type=click.Choice(EXCHANGES), default="allreduce", show_default=True,
    help="Communication scheme of our solver.",
)  # fmt: skip
@click.option(
    "--exec", "command_line", metavar="COMMAND|FILE.toml",
    help="A program instead of our solver: arguments as for check --exec, or a program file.",
)  # fmt: skip
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE",
    help="Of the program of --exec, what its file would say, such as writes=log or fixed.C=2.0.",
)  # fmt: skip
@click.option(
    "--repeats", type=click.IntRange(min=3), default=5, show_default=True,
    help="Segments of each cell; the cells take turns.",
)  # fmt: skip
@click.option(
    "--seconds", type=click.FloatRange(min=0, min_open=True), default=0.25, show_default=True,
    help="Length of a segment.",
)  # fmt: skip
@folder_option
@click.option("--out", metavar="FOLDER", help="Folder for text, JSON, CSV and figure; it is replaced.")
def command(**given):
    """Time the classical method against s-step runs on a network that is made slower.

    DATA is a LIBSVM file or the name of a data set. Our solver, or the program of --exec, runs on real
    ranks; a library between it and its MPI counts the collectives and makes each of them late. No kernel
    row is kept from window to window. For every delay are shown, for each s: the time of an iteration with
    its spread, what was predicted of it from runs without a delay and from a single collective, the error
    of that, the speed-up over the classical method (s = 1); and the best s. docs/latency.md says more.

    Exit codes: 0 measured; 2 usage or input error, or something that is needed is missing.
    """
    from sstep_verify.problems import loss_from
    from sstep_verify.timing.latency import study
    from sstep_verify.timing.measure import Delay, Plan, about, in_words, write
    from sstep_verify.timing.ranks import OurSolver, Wanted

    loss = loss_from(given["task"])
    wanted = Wanted(given["data"], given["directory"], stepped(given), loss, given["block"])
    entries = frozenset(f"latency.{suffix}" for suffix in ("txt", "json", "csv", "svg"))
    with claimed_out(given["out"], given["data"], given["directory"], entries=entries) as folder:
        wanted, program = _program(wanted, given["command_line"], given["settings"])
        ours = OurSolver(wanted, given["exchange"])
        steps = [s for s in sorted({1, *given["steps"]}) if program is None or program.knows(s)]
        late = tuple(sorted({Delay(), *(Delay(*delay) for delay in given["delays"])}))
        plan = Plan(tuple(steps), late, given["ranks"], given["repeats"], given["seconds"])
        known = ours.about(plan.ranks)
        where = about(known["mpi"], sys.argv)
        measured = study(program, ours, _in_words(wanted, known), plan, tell=_teller())
        lines = list(measured.lines(in_words(where, plan.ranks)))
        if folder is not None:
            write(folder, "latency", lines, measured.document(where), measured.files())
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


def _teller() -> Callable[[str, float], None]:
    """Say how far it is: at every segment on a terminal, elsewhere in a line now and then."""
    from sstep_verify.cli.work import SpacedLines

    terminal = sys.stderr.isatty()
    lines = SpacedLines(not terminal)

    def tell(message: str, part: float) -> None:
        if terminal:
            click.echo(f"\r{message:<60}", nl=False, err=True)
        lines.say(message, part)

    return tell

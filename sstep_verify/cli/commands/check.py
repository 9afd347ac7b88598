"""``sstep-verify check``: judge somebody's solver, a program or a Python object, on small problems."""

from __future__ import annotations

import shlex
import sys

import click

from sstep_verify.campaign import PROFILES
from sstep_verify.cli.campaign import campaign_options, run_and_report
from sstep_verify.cli.options import (
    KERNELS,
    TASKS,
    complete,
    data_sets,
    numbers,
    words_of,
)
from sstep_verify.errors import InputError


@click.command("check")
@click.argument("solver", required=False, metavar="[MODULE:OBJECT|PROGRAM.toml]")
@click.argument("more", nargs=-1, type=click.UNPROCESSED, metavar="")
@click.option(
    "--exec", "command_line", metavar="COMMAND", help="Arguments of a program, such as './solver {dir}'."
)
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE",
    help="What a program file would say of the program, such as writes=final; repeatable.",
)  # fmt: skip
@click.option(
    "--np", "ranks", type=numbers(), metavar="P,P,...", default="1", show_default=True,
    help="Numbers of ranks, for {np}.",
)  # fmt: skip
@click.option(
    "--s", "s_values", type=numbers(), metavar="S,S,...",
    help="Iterations per window instead of the profile's.",
)  # fmt: skip
@click.option(
    "--block", type=click.IntRange(min=1), metavar="B",
    help="K-RR: coordinates a step instead of the profile's.",
)  # fmt: skip
@click.option(
    "--profile", type=click.Choice(list(PROFILES)), default="ci", show_default=True,
    shell_complete=complete(lambda: PROFILES), help="Which problems.",
)  # fmt: skip
@click.option(
    "--on", "data", metavar="DATA", shell_complete=complete(data_sets),
    help="A LIBSVM file or data set instead of the profile's.",
)  # fmt: skip
@click.option(
    "--task", "tasks", multiple=True, type=click.Choice(TASKS), help="Only these tasks; repeatable."
)
@click.option(
    "--kernel", "kernels", multiple=True, type=click.Choice(KERNELS), help="Only these kernels; repeatable."
)
@click.option(
    "--stability", is_flag=True,
    help="Also report the error of s-step runs over that of s = 1: figures and a table, no verdict.",
)  # fmt: skip
@campaign_options("NAME-PROFILE", "Draw values and further s from N  [default: 0, the profile's own]")
def command(solver, more, command_line, settings, **given):
    """Judge a solver of your own: a program of any language, or a Python object.

    \b
      sstep-verify check --exec 'mpiexec -n {np} ./my_solver {dir}' --np 1,2,4
      sstep-verify check my_program.toml --profile smoke
      sstep-verify check my_module:my_solver

    For every run the program finds the problem in the folder {dir}, and leaves there what it did: see
    docs/exchange.md. {np}, {s}, {b}, {H}, {m} and {n} are numbers of the run. No shell is started.
    A program that cannot be changed is reached by a file, see docs/adapters.md.

    The report, its last line and the exit codes are those of ``sstep-verify run``.
    """  # noqa: D301
    from sstep_verify.campaign.profile import Selection, profile_of
    from sstep_verify.campaign.verdicts.measured import with_stability

    s_values = given["s_values"] or ()
    if s_values and given["stability"]:
        s_values = tuple(sorted({1, *s_values}))
    chosen = given["data"] or "", given["tasks"], given["kernels"]
    selection = Selection(given["ranks"], s_values, *chosen, block=given["block"] or 0)
    if more:
        from sstep_verify.adapters.program.tables import exec_option

        raise InputError(
            f"check takes one solver, and {len(more) + 1} words are given. A program's command is one "
            f"text: {exec_option((solver, *more))}"
        )
    described = solver_of(solver, command_line, settings)
    definition = profile_of(given["profile"], described, selection, command_again())
    if given["stability"]:
        definition = with_stability(definition)
    run_and_report(definition, given, draws=not given["s_values"])


def command_again():
    """The command that was given, but for what names a case or a report."""
    return shlex.join(["sstep-verify", *sys.argv[1:2], *_without_case(sys.argv[2:])])


def solver_of(solver, command_line, settings):
    """The solver that is named, if it is one: ``MODULE:OBJECT`` as it is, a program as its description."""
    from sstep_verify.adapters.program import program_from, read_program
    from sstep_verify.protocol import is_program

    if (solver is None) == (command_line is None):
        raise InputError(
            "name one solver: MODULE:OBJECT, a program file, or a program's command with --exec. A vector "
            "that one left is judged by: sstep-verify oracle DATA --final FILE"
        )
    if command_line is not None:
        return program_from(words_of("--exec", command_line), settings)
    if is_program(solver):
        return read_program(solver, settings)
    if settings:
        raise InputError(
            f"--set {settings[0]} is for a program. A Python solver says what it is by its declaration "
            "(docs/api.md); how long a run may take, by time_limit in a campaign file (docs/campaigns.md)"
        )
    return solver


WITH_VALUE = ("--only", "--out")
"""Options of `_without_case` that have a value."""


def _without_case(words: list[str]) -> list[str]:
    """Arguments without those that name cases or what is kept: whoever runs a case again names its own.

    A word behind ``--`` that looks like an option is none that can be judged, so that is left out, too.

    The folder of the report is that of a part, as without ``--out``: the report itself stays.
    """
    kept, named, folder = [], "", ""
    for word in words:
        name, equals, value = word.partition("=")
        if named or name in (*WITH_VALUE, "--", "--resume", "--force", "--list", "--keep-runs"):
            folder = word if named == "--out" else value if name == "--out" and not named else folder
            named = name if not named and name in WITH_VALUE and not equals else ""
            continue
        kept.append(word)
    return [*kept, "--out", f"{folder.rstrip('/')}-part"] if folder else kept

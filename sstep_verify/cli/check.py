"""``sstep-verify check``: judge somebody's solver, a program or a Python object, on small problems."""

from __future__ import annotations

import shlex
import sys

import click

from sstep_verify.campaign.shipped import PROFILES
from sstep_verify.cli.completion import complete


class Numbers(click.ParamType):
    """Whole numbers from 1, between commas."""

    name = "numbers"

    def convert(self, value, param, ctx):
        """The numbers, each once, ascending."""
        try:
            found = sorted({int(word) for word in str(value).split(",")})
        except ValueError:
            self.fail(f"{value!r} is no list of whole numbers such as 1,2,4", param, ctx)
        if found[0] < 1:
            self.fail(f"{found[0]} is below 1", param, ctx)
        return tuple(found)


@click.command("check")
@click.argument("solver", required=False, metavar="[MODULE:OBJECT|PROGRAM.toml]")
@click.option(
    "--exec", "command_line", metavar="COMMAND", help="Arguments of a program, such as './solver {dir}'."
)
@click.option("--setup", metavar="COMMAND", help="Arguments of a command that builds the program first.")
@click.option(
    "--writes",
    type=click.Choice(["log", "trace", "final"]),
    help="What the program leaves in its folder  [default: log]",
)
@click.option(
    "--declare",
    multiple=True,
    metavar="NAME=VALUE",
    help="What the program is, such as update=frozen; repeatable.",
)
@click.option(
    "--time-limit", type=click.FloatRange(min=0, min_open=True), help="Seconds of one run  [default: 60]"
)
@click.option(
    "--np", "ranks", type=Numbers(), metavar="P,P,...", default="1", help="Ranks, for {np}  [default: 1]"
)
@click.option(
    "--s",
    "s_values",
    type=Numbers(),
    metavar="S,S,...",
    help="Iterations per window instead of the profile's.",
)
@click.option("--data", "data", help="A LIBSVM file or data set instead of the profile's.")
@click.option(
    "--task",
    "tasks",
    multiple=True,
    type=click.Choice(["svm-l1", "svm-l2", "krr"]),
    help="Only these tasks; repeatable.",
)
@click.option(
    "--kernel",
    "kernels",
    multiple=True,
    type=click.Choice(["linear", "polynomial", "rbf"]),
    help="Only these kernels; repeatable.",
)
@click.option(
    "--profile",
    type=click.Choice(list(PROFILES)),
    default="ci",
    show_default=True,
    shell_complete=complete(lambda: PROFILES),
)
@click.option(
    "--out", type=click.Path(), help="Folder of the report  [default: sstep-verify-out/NAME-PROFILE]"
)
@click.option("--only", default="", metavar="TEXT", help="Run only the cases that TEXT selects.")
@click.option(
    "--jobs", type=click.IntRange(min=1, max=1024), default=1, show_default=True, help="Processes."
)
@click.option("--resume", is_flag=True, help="Go on with an interrupted run: keep what it had finished.")
@click.option("--force", is_flag=True, help="Discard what an interrupted run had finished.")
@click.option("--list", "list_cases", is_flag=True, help="List the ids of the cases and stop.")
@click.option("--witness", metavar="MPICC", help="Count collectives from outside, by this compiler's MPI.")
def command(solver, command_line, out, only, jobs, resume, force, list_cases, **options):
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
    from sstep_verify.cli.run import Asked, judge

    definition = _definition(solver, command_line, **options)
    judge(
        definition, Asked(out=out, only=only, jobs=jobs, resume=resume, force=force, list_cases=list_cases)
    )


def _definition(
    solver,
    command_line,
    setup,
    writes,
    declare,
    time_limit,
    ranks,
    s_values,
    data,
    tasks,
    kernels,
    profile,
    witness,
):
    """The campaign of the profile, with this solver."""
    from sstep_verify.campaign.profile import Selection, profile_of
    from sstep_verify.errors import InputError
    from sstep_verify.solvers.adapters.program import program_from

    given = {
        "--setup": setup, "--writes": writes, "--declare": declare, "--time-limit": time_limit,
        "--witness": witness,
    }  # fmt: skip
    if (solver is None) == (command_line is None):
        raise InputError(
            "name one solver: MODULE:OBJECT, a program file, or a program's command with --exec"
        )
    program = None
    if command_line is not None:
        program = program_from(
            _words("--exec", command_line),
            _words("--setup", setup),
            writes or "log",
            time_limit or 60.0,
            declare,
            witness or "",
        )
    elif unused := [name for name, value in given.items() if value]:
        raise InputError(
            f"{unused[0]} is for --exec; a program file and a Python solver say this themselves"
        )
    chosen = Selection(ranks, s_values or (), data or "", tasks, kernels)
    words = ["sstep-verify", "check", *_without_case(sys.argv[2:])]
    return profile_of(profile, program or solver, chosen, shlex.join(words))


def _words(option: str, line: str | None) -> tuple[str, ...]:
    from sstep_verify.errors import InputError

    try:
        return tuple(shlex.split(line or ""))
    except ValueError as error:
        raise InputError(f"{option} {line!r}: {error}") from error


def _without_case(words: list[str]) -> list[str]:
    """Arguments without those that name cases, a folder or what is kept: a replay names its own."""
    kept, skip = [], False
    for word in words:
        name, equals, _ = word.partition("=")
        if skip or name in ("--only", "--out", "--resume", "--force", "--list"):
            skip = not skip and name in ("--only", "--out") and not equals
            continue
        kept.append(word)
    return kept

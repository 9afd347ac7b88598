"""``sstep-verify check``: judge somebody's solver, a program or a Python object, on small problems."""

from __future__ import annotations

import click

from sstep_verify.campaign.shipped import LEVELS, PROFILES
from sstep_verify.cli.options.completion import complete
from sstep_verify.cli.options.expected import expected_options
from sstep_verify.cli.options.numbers import Numbers
from sstep_verify.cli.options.solver import command_again, definition_of_solver, options_of_a_program
from sstep_verify.cli.options.vector import definition_of_vector, final_options, refuse_options_of_a_vector
from sstep_verify.launch.interposer import NEMESES


@click.command("check")
@click.argument("solver", required=False, metavar="[MODULE:OBJECT|PROGRAM.toml]")
@final_options
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
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    metavar="N",
    help="Draw further s from N  [default: drawn anew, and printed]",
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
    "--level",
    type=click.Choice(LEVELS),
    help="Judge up to this level of docs/spec.md: what is returned, stream, windows, communication.",
)
@click.option(
    "--shrink", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS",
    help="Look so long, per failing problem, for a smaller one that fails alike.",
)  # fmt: skip
@click.option(
    "--stability", is_flag=True,
    help="Also report the error of s-step runs over that of s = 1: figures and a table, no verdict.",
)  # fmt: skip
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
@click.option(
    "--nemesis",
    type=click.Choice(list(NEMESES)),
    help="What the witness does to the ranks: lets one come late, reorders reductions, or spoils one.",
)
@click.option(
    "--statement",
    type=click.Path(),
    metavar="NAME.json",
    help="Write what is to be published of the solver.",
)
@expected_options
def command(
    solver,
    command_line,
    out,
    only,
    jobs,
    resume,
    force,
    list_cases,
    statement,
    xfails,
    write_xfails,
    **options,
):
    """Judge a solver of your own: a program of any language, a Python object, or the vector that it left.

    \b
      sstep-verify check --exec 'mpiexec -n {np} ./my_solver {dir}' --np 1,2,4
      sstep-verify check my_program.toml --profile smoke
      sstep-verify check my_module:my_solver
      sstep-verify check --final alpha.txt --data train.svm --task svm-l1 --kernel rbf --C 10

    For every run the program finds the problem in the folder {dir}, and leaves there what it did: see
    docs/exchange.md. {np}, {s}, {b}, {H}, {m} and {n} are numbers of the run. No shell is started.
    A program that cannot be changed is reached by a file, see docs/adapters.md.

    The report, its last line and the exit codes are those of ``sstep-verify run``.
    """  # noqa: D301
    from sstep_verify.cli.running.campaign import Asked, judge

    definition = _definition(solver, command_line, options)
    judge(
        definition,
        Asked(
            out=out,
            only=only,
            jobs=jobs,
            resume=resume,
            force=force,
            list_cases=list_cases,
            xfails=xfails,
            write_xfails=write_xfails,
            seed=options["seed"],
            draws=options["final"] is None and not options["s_values"],
        ),
        state=_stating(statement, definition, only, xfails),
    )


def _stating(path, definition, only, xfails):
    """What writes the statement of a finished check; None if none is asked for."""
    if path is None:
        return None
    from sstep_verify.campaign.statement.files import check_places, state
    from sstep_verify.errors import InputError

    if xfails:
        raise InputError("a statement says what failed, expected or not: leave out --xfails")
    check_places(path, definition)
    return lambda judged, results, runs: state(judged, only, results, runs, path)


def _definition(solver, command_line, given):
    """The campaign of the profile with this solver, or that of a vector."""
    if given["final"] is None:
        refuse_options_of_a_vector(given)
        return definition_of_solver(solver, command_line, given)
    ranks = given["ranks"] if given["ranks"] != (1,) else ()
    runs = {"a solver": solver, "--exec": command_line, "--s": given["s_values"], "--np": ranks,
            "--seed": given["seed"], "--level": given["level"], "--shrink": given["shrink"],
            "--stability": given["stability"]}  # fmt: skip
    return definition_of_vector(given, {**runs, **options_of_a_program(given)}, command_again())

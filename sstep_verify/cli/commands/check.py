"""``sstep-verify check``: judge somebody's solver, a program or a Python object, on small problems."""

from __future__ import annotations

from pathlib import Path

import click

from sstep_verify.campaign import LEVELS, PROFILES
from sstep_verify.cli.options import KERNELS, TASKS, campaign_options, complete, data_sets, numbers
from sstep_verify.cli.solver import batch_of, command_again, selection_of, solver_of


@click.command("check")
@click.argument("solver", required=False, metavar="[MODULE:OBJECT|PROGRAM.toml]")
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
    "--profile", type=click.Choice(list(PROFILES)), default="ci", show_default=True,
    shell_complete=complete(lambda: PROFILES), help="Which problems.",
)  # fmt: skip
@click.option(
    "--on", "data", metavar="DATA", shell_complete=complete(data_sets),
    help="A LIBSVM file or data set in the place of the profile's.",
)  # fmt: skip
@click.option(
    "--task", "tasks", multiple=True, type=click.Choice(TASKS), help="Only these tasks; repeatable."
)
@click.option(
    "--kernel", "kernels", multiple=True, type=click.Choice(KERNELS), help="Only these kernels; repeatable."
)
@click.option(
    "--level", type=click.Choice(LEVELS),
    help="Judge up to this level of docs/spec.md: what is returned, stream, windows, communication.",
)  # fmt: skip
@click.option(
    "--shrink", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS",
    help="Look so long, per failing problem, for a smaller one that fails alike.",
)  # fmt: skip
@click.option(
    "--stability", is_flag=True,
    help="Also report the error of s-step runs over that of s = 1: figures and a table, no verdict.",
)  # fmt: skip
@click.option(
    "--statement", type=click.Path(), metavar="NAME.json",
    help="Write what is to be published of the solver.",
)  # fmt: skip
@click.option(
    "--runs", type=click.Path(), metavar="DIR",
    help="Start nothing: write the runs into DIR, to be made elsewhere; or judge those that it holds.",
)  # fmt: skip
@campaign_options("NAME-PROFILE", "Judge further s, drawn from N  [default: drawn anew, and printed]")
def command(solver, command_line, settings, statement, runs, **given):
    """Judge a solver of your own: a program of any language, or a Python object.

    \b
      sstep-verify check --exec 'mpiexec -n {np} ./my_solver {dir}' --np 1,2,4
      sstep-verify check my_program.toml --profile smoke
      sstep-verify check my_module:my_solver

    For every run the program finds the problem in the folder {dir}, and leaves there what it did: see
    docs/exchange.md. {np}, {s}, {b}, {H}, {m} and {n} are numbers of the run. No shell is started.
    A program that cannot be changed is reached by a file, see docs/adapters.md.

    For a machine without Python:

    \b
      sstep-verify check --runs DIR --exec 'mpiexec -n {np} ./my_solver {dir}'    writes the runs
      sh DIR/solve.sh               or: sbatch DIR/solve.slurm                    makes them, anywhere
      sstep-verify check --runs DIR                                               judges them

    solve.sh needs a POSIX shell alone. Some checks ask for runs that begin where others were: these are
    written when the first ones are judged, and that is said; solve.sh makes them when it is started again.
    A problem with a run that is not made, or not whole, is not judged.

    The report, its last line and the exit codes are those of ``sstep-verify run``.
    """  # noqa: D301
    from sstep_verify.campaign.profile import profile_of
    from sstep_verify.campaign.verdicts.measured import with_stability
    from sstep_verify.cli.campaign import Asked, judge

    selection = selection_of(given)
    if runs is not None:
        named = solver is not None or command_line is not None
        described = solver_of(solver, command_line, settings) if named else None
        _judge_runs(Path(runs), described, selection, given)
        return
    described = solver_of(solver, command_line, settings)
    definition = profile_of(given["profile"], described, selection, command_again())
    if given["stability"]:
        definition = with_stability(definition)
    asked = Asked.of(given, draws=not given["s_values"])
    judge(definition, asked, state=_stating(statement, definition, given))


def _judge_runs(folder, described, selection, given) -> None:
    """Write the runs of a folder, or judge those that were made."""
    from sstep_verify.campaign.batch import RUNS, StoredRuns
    from sstep_verify.cli.campaign import Asked, judge

    batch = batch_of(folder, described, selection, given)
    if batch is None:
        return
    source = StoredRuns(str((folder / RUNS).resolve()), batch.program)
    definition = batch.definition(source, folder)
    # The report of a check has the plain name, and what it keeps for --resume is not for us to take.
    out = given["out"] or Path("sstep-verify-out") / f"{definition.name}-judged"
    judge(definition, Asked.of(given | {"out": out, "only": batch.only}, keeps=False))


def _stating(path, definition, given):
    """What writes the statement of a finished check; None if none is asked for."""
    if path is None:
        return None
    from sstep_verify.campaign.statement.files import check_places, state
    from sstep_verify.errors import InputError

    if given["xfails"]:
        raise InputError("a statement says what failed, expected or not: leave out --xfails")
    check_places(path, definition)
    return lambda judged, results, recorded: state(judged, given["only"], results, recorded, path)

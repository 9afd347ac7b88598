"""``sstep-verify export``: the runs of a profile as folders and scripts, for a machine without Python."""

from __future__ import annotations

from pathlib import Path

import click

from sstep_verify.cli.commands import check
from sstep_verify.cli.options.solver import definition_of_solver

SHARED = (
    "solver", "command_line", "setup", "writes", "declare", "time_limit", "ranks", "s_values", "data",
    "tasks", "kernels", "profile", "witness", "level",
)  # fmt: skip
"""Options and arguments of ``check`` that mean the same here."""


@click.command("export")
@click.argument("folder", metavar="DIR", type=click.Path())
@click.option("--only", default="", metavar="TEXT", help="Export only the cases that TEXT selects.")
def command(folder, only, solver, command_line, **options):
    """Write the runs by which check would judge a program into DIR, to be made on another machine.

    \b
      sstep-verify export runs --exec 'mpiexec -n {np} ./my_solver {dir}' --np 1,4
      sh runs/solve.sh              or: sbatch runs/solve.slurm
      sstep-verify judge runs

    Every run is an exchange folder (docs/exchange.md); solve.sh starts the program in each of them and
    needs a POSIX shell alone. Some checks ask for runs that begin where others were: judge writes these,
    and solve.sh makes them when it is started again.
    """  # noqa: D301
    from threadpoolctl import threadpool_limits

    from sstep_verify.campaign.batch.collect import export
    from sstep_verify.campaign.batch.manifest import Batch
    from sstep_verify.errors import InputError
    from sstep_verify.solvers.adapters.program import ProgramFile

    definition = definition_of_solver(solver, command_line, options)
    described = definition.families[0].given
    if not isinstance(described, ProgramFile):
        raise InputError(f"{solver}: is a Python object, which is judged where it runs; use check")
    cut = definition.cut
    with threadpool_limits(1):
        batch = export(Batch(cut.profile, cut.selection, only, described), Path(folder))
    runs = f"{len(batch.runs)} run{'s' * (len(batch.runs) > 1)}"
    click.echo(f"{runs} written to {folder}; make them by: sh {folder}/solve.sh")
    click.echo(f"then: sstep-verify judge {folder}")


command.params += [param for param in check.command.params if param.name in SHARED]

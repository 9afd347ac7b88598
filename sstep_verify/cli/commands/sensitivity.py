"""``sstep-verify sensitivity``: measure what the checks catch, beside what people use instead."""

from __future__ import annotations

import click


@click.command("sensitivity")
@click.option("--small", is_flag=True, help="Campaign sensitivity-ci: a sample, in three minutes.")
@click.option(
    "--out",
    type=click.Path(),
    help="Folder of the report  [default: sstep-verify-out/CAMPAIGN, with --only CAMPAIGN-part]",
)
@click.option(
    "--only", default="", metavar="TEXT", help="Make only the pieces whose ids contain TEXT (see --list)."
)
@click.option("--jobs", type=click.IntRange(min=1, max=1024), help="Processes  [default: one per core]")
@click.option("--resume", is_flag=True, help="Go on with an interrupted run: keep what it had finished.")
@click.option("--force", is_flag=True, help="Discard what an interrupted run had finished.")
@click.option("--list", "list_cases", is_flag=True, help="List the ids of the pieces and stop.")
def command(small, **options):
    """Measure the power of the checks.

    Judges the labelled solvers, right and wrong, with the shipped campaigns, and lets rivals
    (numpy.allclose, the objective, LAPACK's ratio, ...) look at the same runs; finds limits of detection on
    drawn problems and holds them against doses; runs correct solvers on drawn problems, none of which may
    fail. About twenty minutes on two cores. Progress and messages call the pieces of it problems.

    It is what sstep-verify run sensitivity does. Seeds and sizes stand in the campaign file: for others
    give sstep-verify run a file of your own.

    Exit codes: 0 every mistake was found and nothing right was failed; 1 not so; 2 usage error; 3 a piece
    is missing; 4 internal error.
    """
    from sstep_verify.campaign.definition import read_definition
    from sstep_verify.cli.running.campaign import Asked, judge

    judge(read_definition("sensitivity-ci" if small else "sensitivity"), Asked(**options))

"""Options of the commands that judge on a campaign, and the failures that are expected of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

import click

from sstep_verify.cli.options.values import with_options


def processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0))


def jobs_option(function: Callable) -> Callable:
    """Decorate a command with ``--jobs``."""
    return click.option(
        "--jobs", type=click.IntRange(min=1, max=1024), metavar="N",
        help="Processes  [default: one for each processor that this one may use]",
    )(function)  # fmt: skip


def campaign_options(folder: str, seed: str) -> Callable[[Callable], Callable]:
    """Decorate a command with what is run of a campaign, how, and where the report goes.

    Parameters
    ----------
    folder : str
        Name of the report's folder in ``sstep-verify-out`` unless one is named.
    seed : str
        What --seed is for.
    """
    options = (
        click.option("--only", default="", metavar="TEXT", help="Run only the cases that TEXT selects."),
        click.option("--list", "list_cases", is_flag=True, help="List the ids of the cases and stop."),
        click.option(
            "--seed", type=click.IntRange(0, 2**32 - 1), metavar="N",
            help=seed,
        ),
        click.option(
            "--xfails", type=click.Path(), metavar="FILE",
            help="Failures that are expected; `report --xfails` writes such a list.",
        ),
        jobs_option,
        click.option(
            "--out", type=click.Path(), metavar="FOLDER",
            help=f"Folder of the report  [default: sstep-verify-out/{folder}, with --only {folder}-part]",
        ),
        click.option("--resume", is_flag=True, help="Keep what an interrupted run had finished; go on."),
        click.option("--force", is_flag=True, help="Discard what an interrupted run had finished."),
    )  # fmt: skip

    return with_options(*options)


def expecting(definition, asked, units):
    """The campaign with the failures that are expected of the cases that are run."""
    if not asked.xfails:
        return definition
    from sstep_verify.campaign.expected import read_expected
    from sstep_verify.campaign.read import units_of
    from sstep_verify.errors import InputError

    if definition.kind != "family" or asked.shard:
        raise InputError("--xfails is for whole runs of campaigns with verdicts")
    every = {key for unit in units_of(definition) for key in unit.keys}
    planned = {key for unit in units for key in unit.keys}
    known = read_expected(asked.xfails, every)
    return replace(definition, expected=tuple(one for one in known if one.id in planned))

"""Options on expected failures, for every command that judges, and what they do."""

from __future__ import annotations

import os
from dataclasses import replace

import click


def expected_options(command):
    """Give a command the options --xfails and --write-xfails."""
    command = click.option(
        "--write-xfails", type=click.Path(), metavar="FILE", help="Write a list of what fails now."
    )(command)
    return click.option(
        "--xfails",
        type=click.Path(),
        metavar="FILE",
        help="Failures that are expected; see docs/statement.md.",
    )(command)


def expecting(definition, asked, units):
    """The campaign with the failures that are expected of the cases that are run."""
    from sstep_verify.campaign.summary.expected import read_expected
    from sstep_verify.errors import InputError
    from sstep_verify.outputs import Output, check

    if asked.write_xfails:
        again = bool(asked.xfails) and os.path.realpath(asked.xfails) == os.path.realpath(
            asked.write_xfails
        )
        check(Output("--write-xfails", asked.write_xfails, again, otherwise="name another, or remove it"))
    if not asked.xfails:
        return definition
    if definition.kind != "family" or asked.shard:
        raise InputError("--xfails is for whole runs of campaigns with verdicts")
    from sstep_verify.campaign.kinds import units_of

    every = {key for unit in units_of(definition) for key in unit.keys}
    planned = {key for unit in units for key in unit.keys}
    known = read_expected(asked.xfails, every)
    return replace(definition, expected=tuple(one for one in known if one.id in planned))


def write_expected(path, results, definition) -> None:
    """Write the list of what fails, if it is asked for."""
    if path:
        from sstep_verify.campaign.summary.expected import expected_text
        from sstep_verify.outputs import write_text

        write_text(path, expected_text(results, definition.expected))

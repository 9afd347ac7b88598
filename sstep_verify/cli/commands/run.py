"""``sstep-verify run``: run a campaign, write its report, say what it showed."""

from __future__ import annotations

import inspect
import tomllib

import click

from sstep_verify.campaign.shipped import shipped
from sstep_verify.cli.options.completion import campaigns, complete
from sstep_verify.cli.options.expected import expected_options


def _help() -> str:
    titles = {
        name: tomllib.loads(file.read_text("utf-8"))["campaign"]["title"]
        for name, file in shipped().items()
    }
    width = max(map(len, titles))
    listed = "\n".join(f"      {name:<{width}}  {title}" for name, title in titles.items())
    return inspect.cleandoc(f"""Run a campaign and write its report.

    Shipped campaigns, embedded by default; any other is a TOML file:

    \b
{listed}

    The last line printed is the report's folder.

    An id names data, kernel with its parameters, task, and C or lambda, such as duke/rbf,sigma=1/svm-l1/C=1
    (see --list). TEXT selects the case that has it as its whole id; else all whose id contains it, where a
    number that TEXT begins or ends with must be whole: C=1 does not select C=100, C=1.5 or C=1e-05.

    The problems have no bias term, as in the paper. bias = 1.0 in a family of a campaign file appends a
    constant feature to its data, as -B does in LIBLINEAR (linear and polynomial kernels).

    Finished problems are kept in OUT.partial until the report is complete. After an interruption
    --resume takes them from there, if campaign file, data and versions are the same, and runs the rest.

    --shard I/N runs a part in a folder of its own, for job arrays; sstep-verify merge makes one report of
    all parts.
    """)


@click.command("run", help=_help())
@click.argument(
    "campaign", default="embedded", metavar="[NAME|FILE.toml]", shell_complete=complete(campaigns)
)
@click.option("--data", "directory", type=click.Path(), help="Folder with the data sets in LIBSVM format.")
@click.option(
    "--out",
    type=click.Path(),
    help="Folder of the report  [default: sstep-verify-out/NAME, with --only NAME-part]",
)
@click.option("--only", default="", metavar="TEXT", help="Run only the cases that TEXT selects.")
@click.option("--jobs", type=click.IntRange(min=1, max=1024), help="Processes  [default: one per core]")
@click.option("--shard", default="", metavar="I/N", help="Run the I-th of N parts, to be merged.")
@click.option("--resume", is_flag=True, help="Go on with an interrupted run: keep what it had finished.")
@click.option("--force", is_flag=True, help="Discard what an interrupted run had finished.")
@click.option("--list", "list_cases", is_flag=True, help="List the ids of the cases and stop.")
@click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), metavar="N", help="Judge further s, drawn from N."
)
@expected_options
def command(**options):
    """Run a campaign."""
    from sstep_verify.campaign.read import read_definition
    from sstep_verify.cli.running.campaign import Asked, judge

    judge(read_definition(options.pop("campaign")), Asked(**options))

"""``sstep-verify run``: run a campaign, write its report, say what it showed."""

from __future__ import annotations

import inspect
import tomllib

import click

from sstep_verify.campaign import shipped
from sstep_verify.cli.campaign import campaign_options, run_and_report
from sstep_verify.cli.options import complete, folder_option


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
    """)


@click.command("run", help=_help())
@click.argument(
    "campaign", default="embedded", metavar="[NAME|FILE.toml]", shell_complete=complete(shipped)
)
@folder_option
@campaign_options("NAME", "Judge further s, drawn from N; of smoke and ci also other values.")
def command(campaign, **options):
    """Run a campaign."""
    from sstep_verify.campaign.read import read_definition

    run_and_report(read_definition(campaign), options)

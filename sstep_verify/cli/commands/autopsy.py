"""``sstep-verify perf autopsy``: what a speed-up is made of."""

from __future__ import annotations

import sys

import click

from sstep_verify.cli.options.completion import complete, data_sets
from sstep_verify.cli.options.laboratory import (
    EXCHANGES,
    claimed,
    described_problem,
    laboratory_options,
    program_of,
    tell,
    wanted_of,
)


@click.command("autopsy")
@click.argument("data", metavar="DATA", shell_complete=complete(data_sets))
@laboratory_options(s="4,16,64,256", seconds=0.5)
@click.option(
    "--delay", type=click.FloatRange(0, 1e8), default=200.0, show_default=True, metavar="US",
    help="Microseconds that every collective is late, for each level of a tree over the ranks.",
)  # fmt: skip
@click.option(
    "--baseline", type=click.Choice(["best", "same"]), default="best", show_default=True,
    help="Strong baseline: our classical solver with the best of its exchanges, or with --exchange.",
)  # fmt: skip
def command(data, delay, baseline, **given):
    """Say which part of a speed-up is fewer messages, a better panel product, or a weak baseline.

    DATA is a LIBSVM file or the name of a data set. Timed are our classical solver with each of its
    exchanges, of which the fastest is the strong baseline, and our s-step solver or the program of
    --exec, classical and s-step; each on P ranks with late collectives, and on one rank, where nothing is
    communicated. The speed-up over the program's own classical method is taken apart into three factors,
    whose product it is. docs/latency.md has the formulas.

    Exit codes: 0 measured; 2 usage or input error, or something that is needed is missing.
    """
    from sstep_verify.laboratory.autopsy import Plan, autopsy
    from sstep_verify.laboratory.autopsy_report import document, lines, write
    from sstep_verify.laboratory.latency import usable
    from sstep_verify.laboratory.ours import OurSolver
    from sstep_verify.laboratory.samples import Delay
    from sstep_verify.laboratory.telling import about, as_json, in_words

    wanted, rest = wanted_of(data, given)
    with claimed(wanted, rest) as folder:
        program = program_of(wanted, rest)
        ours = OurSolver(wanted, rest["exchange"])
        plan = Plan(
            usable(rest["s_values"], program), Delay(delay, rest["per_byte"]), rest["ranks"],
            rest["repeats"], rest["seconds"],
        )  # fmt: skip
        known = ours.about(plan.ranks)
        where = about(known["mpi"], sys.argv)
        usual = [one for one in EXCHANGES if wanted.kernel.linear or one != "gram"]
        exchanges = usual if baseline == "best" else [rest["exchange"]]
        if program is None:
            exchanges.remove(rest["exchange"])
        found = autopsy(program, described_problem(wanted, known), plan, ours, tuple(exchanges), tell)
        told = list(lines(found, in_words(where, plan.ranks)))
        if folder is not None:
            write(found, folder, where, told)
    click.echo(as_json(document(found, where)) if rest["as_json"] else "\n".join(told))

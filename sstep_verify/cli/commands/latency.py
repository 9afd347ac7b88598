"""``sstep-verify perf latency``: classical against s-step on a network made slower, beside a prediction."""

from __future__ import annotations

import sys

import click

from sstep_verify.cli.options.completion import complete, data_sets
from sstep_verify.cli.options.laboratory import (
    claimed,
    described_problem,
    laboratory_options,
    program_of,
    tell,
    wanted_of,
)
from sstep_verify.cli.options.numbers import Times


@click.command("latency")
@click.argument("data", metavar="DATA", shell_complete=complete(data_sets))
@laboratory_options(s="2,4,8,16,32,64,128,256", seconds=0.25)
@click.option(
    "--delays", type=Times(), default="0,20,50,100,200,1000,10000", show_default=True, metavar="US,US,...",
    help="Microseconds that every collective is late, for each level of a tree over the ranks.",
)  # fmt: skip
def command(data, delays, **given):
    """Time the classical method against s-step runs on a network that is made slower.

    DATA is a LIBSVM file or the name of a data set. Our solver, or the program of --exec, runs on real
    ranks; a library between it and its MPI counts the collectives and makes each of them late. No kernel
    row is kept from window to window. For every delay are shown, for each s: the time of an iteration with
    its spread, what was predicted of it from runs without a delay and from a collective alone, the error
    of that, the speed-up over the classical method (s = 1); and the best s. docs/latency.md says more.

    Exit codes: 0 measured; 2 usage or input error, or something that is needed is missing.
    """
    from sstep_verify.laboratory.latency import Plan, study, usable
    from sstep_verify.laboratory.latency_report import document, lines, write
    from sstep_verify.laboratory.ours import OurSolver
    from sstep_verify.laboratory.samples import Delay
    from sstep_verify.laboratory.telling import about, as_json, in_words

    wanted, rest = wanted_of(data, given)
    chosen = tuple(Delay(value, rest["per_byte"] if value else 0.0) for value in sorted({0.0, *delays}))
    with claimed(wanted, rest) as folder:
        program = program_of(wanted, rest)
        ours = OurSolver(wanted, rest["exchange"])
        plan = Plan(
            usable(rest["s_values"], program), chosen, rest["ranks"], rest["repeats"], rest["seconds"]
        )
        known = ours.about(plan.ranks)
        where = about(known["mpi"], sys.argv)
        found = study(program or ours, described_problem(wanted, known), plan, ours, tell)
        told = list(lines(found, in_words(where, plan.ranks)))
        if folder is not None:
            write(found, folder, where, told)
    click.echo(as_json(document(found, where)) if rest["as_json"] else "\n".join(told))

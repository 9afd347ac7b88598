"""``sstep-verify perf autopsy``: what a speed-up is made of."""

from __future__ import annotations

from functools import partial

import click

from sstep_verify.cli.options.timing import EXCHANGES, perform, timing_options


@click.command("autopsy")
@timing_options(s="4,16,64,256", delays="200", several=False, seconds=0.5)
@click.option(
    "--baseline", type=click.Choice(["best", "same"]), default="best", show_default=True,
    help="Strong baseline: our classical solver with the best of its exchanges, or with --exchange.",
)  # fmt: skip
def command(baseline, **given):
    """Say which part of a speed-up is fewer messages, a better panel product, or a weak baseline.

    DATA is a LIBSVM file or the name of a data set. Timed are our classical solver with each of its
    exchanges, of which the fastest is the strong baseline, and our s-step solver or the program of
    --exec, classical and s-step; each on P ranks with late collectives, and on one rank, where nothing is
    communicated. The speed-up over the program's own classical method is taken apart into three factors,
    whose product it is. docs/latency.md has the formulas.

    Exit codes: 0 measured; 2 usage or input error, or something that is needed is missing.
    """
    from sstep_verify.timing.autopsy import study

    usual = [one for one in EXCHANGES if given["kernel"] == "linear" or one != "gram"]
    exchanges = usual if baseline == "best" else [given["exchange"]]
    if given["command_line"] is None:
        exchanges = [one for one in exchanges if one != given["exchange"]]
    perform("autopsy", partial(study, exchanges=tuple(exchanges)), given)

"""``sstep-verify perf latency``: classical against s-step on a network made slower."""

from __future__ import annotations

import click

from sstep_verify.cli.options.timing import perform, timing_options


@click.command("latency")
@timing_options(s="2,4,8,16,32,64,128,256", delays="0,20,50,100,200,1000,10000", several=True, seconds=0.25)
def command(**given):
    """Time the classical method against s-step runs on a network that is made slower.

    DATA is a LIBSVM file or the name of a data set. Our solver, or the program of --exec, runs on real
    ranks; a library between it and its MPI counts the collectives and makes each of them late. No kernel
    row is kept from window to window. For every delay are shown, for each s: the time of an iteration with
    its spread, what was predicted of it from runs without a delay and from a collective alone, the error
    of that, the speed-up over the classical method (s = 1); and the best s. docs/latency.md says more.

    Exit codes: 0 measured; 2 usage or input error, or something that is needed is missing.
    """
    from sstep_verify.timing.latency import study

    perform("latency", study, given)

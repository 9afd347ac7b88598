"""``sstep-verify perf predict`` and ``perf calibrate``: what an iteration takes, on a machine measured."""

from __future__ import annotations

import functools
from pathlib import Path

import click

from sstep_verify.cli.commands.latency import EXCHANGES
from sstep_verify.cli.options import (
    FORCE,
    TASKS,
    block_option,
    complete,
    data_sets,
    folder_option,
    kernel_option,
    loaded_for,
    numbers,
    print_json,
    shape,
    stepped,
)
from sstep_verify.errors import InputError, counted
from sstep_verify.files import Output, claim


@click.command("predict")
@click.argument("data", metavar="[DATA]", required=False, shell_complete=complete(data_sets))
@click.option(
    "--machine", default="perlmutter", show_default=True, metavar="FILE",
    help="Machine file, or the name of one that is shipped.",
)  # fmt: skip
@click.option(
    "--shape", type=shape, metavar="M[,N[,NONZEROS]]",
    help="Instead of DATA: samples, features, nonzeros (all columns alike)  [default: M N]",
)  # fmt: skip
@click.option(
    "--counts", metavar="FILE", help="With --shape M: nonzeros of each column, one a line (also .xz)."
)
@click.option("--task", type=click.Choice(TASKS), default="svm-l1", show_default=True)
@kernel_option
@block_option
@click.option(
    "--s", "steps", type=numbers(), default="1,2,4,8,16,32,64,128,256", show_default=True,
    help="Iterations a window.",
)  # fmt: skip
@click.option(
    "--np", "ranks", type=numbers(), default="1,2,4,8,16,32,64", show_default=True,
    help="Numbers of ranks (P); of a single one every s is printed, else s = 1 and the best.",
)  # fmt: skip
@click.option(
    "--exchange", type=click.Choice(EXCHANGES), default="allreduce", show_default=True,
    help="Communication scheme.",
)  # fmt: skip
@click.option(
    "--program", type=click.Choice(("production", "published")), default="production", show_default=True,
    help="This package's solver, or the paper's programs where the machine was fitted to them.",
)  # fmt: skip
@folder_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of lines.")
def predict(data, steps, ranks, program, **given):
    """Predict microseconds per iteration by phase, over s and P, and which s takes least.

    DATA is a LIBSVM file or the name of a data set; its columns' nonzeros decide what a rank does.
    A machine file is made by `perf calibrate`; `perlmutter` is shipped, fitted to published timings. How
    far its predictions were from measurements is printed with every table. docs/model.md says what is
    modelled.

    Exit codes: 0 predicted; 2 usage or input error.
    """
    from sstep_verify.costs import prediction

    kernel = stepped(given)
    machine = prediction.read(given["machine"])
    profile = _profile(data, given)
    method = prediction.Method(given["exchange"], kernel.name, given["task"] != "krr", given["block"])
    if given["block"] > profile.samples:
        raise InputError(
            f"--block {given['block']}: a block holds distinct coordinates, of which {profile.name} has "
            f"{profile.samples}; take that many at most"
        )
    rows = prediction.predict(machine, profile, method, ranks, steps, program)
    best = {p: min((row for row in rows if row["P"] == p), key=lambda row: row["total"]) for p in ranks}
    if given["as_json"]:
        told = {
            "machine": machine.name, "source": machine.source, "error": machine.error,
            "program": program, "data": profile.name, "microseconds": rows,
            "best s": {str(p): row["s"] for p, row in best.items()},
        }  # fmt: skip
        print_json(told)
        return
    nonzeros = counted(round(profile.nonzeros), "nonzero")
    click.echo(f"{profile.name}: {profile.samples} x {profile.features}, {nonzeros}")
    click.echo(f"{machine.name} ({machine.source}), {program} program; microseconds per iteration")
    click.echo(" ".join(f"{name:>10}" for name in rows[0]))
    for row in rows:
        mark = " best" if row in best.values() else ""
        if len(ranks) == 1 or mark or row["s"] == 1:
            shown = (f"{value:>10}" if type(value) is int else f"{value:>10.4g}" for value in row.values())
            click.echo(" ".join(shown) + mark)
    click.echo(f"predictions are off by {machine.error}")


def _profile(data, given):
    """The column profile that the options name."""
    from sstep_verify.costs.profiles import Profile, matrix_profile, read_counts, uniform_profile

    size, counts = given["shape"], given["counts"]
    if data is not None:
        for option, value in (("--shape", size), ("--counts", counts)):
            if value is not None:
                raise InputError(f"DATA and {option}: give one of them")
        loaded = loaded_for(data, given["task"], given["directory"])
        return matrix_profile(loaded.name, loaded.data)
    if size is None or (len(size) == 1) == (counts is None):
        raise InputError("give DATA, or --shape M,N[,NONZEROS], or --shape M and --counts FILE")
    samples, *rest = size
    if counts is not None:
        return Profile("counts", samples, read_counts(counts, samples))
    return uniform_profile("drawn", samples, rest[0], rest[1] if rest[1:] else samples * rest[0])


@click.command("calibrate")
@click.argument("machine", metavar="FILE", type=click.Path(dir_okay=False))
@click.option(
    "--np", "ranks", type=numbers(least=2, none=True), default="2", show_default=True, metavar="P,P,...",
    help="Numbers of ranks whose collectives are measured; none: one process.",
)  # fmt: skip
@click.option(
    "--seconds", type=click.FloatRange(0.01, 10), default=0.15, show_default=True,
    help="For each single measurement, about.",
)  # fmt: skip
@click.option("--force", is_flag=True, help=FORCE)
def calibrate(machine, ranks, seconds, force):
    """Measure this machine with the production solver, and write a machine file for `predict`.

    Measured are the panel's rate over rows of a window (dense and sparse), kernel functions, the product
    with alpha, recurrences, what a window costs in addition to them, and allreduce and reduce-scatter by
    size on P ranks of this machine, which is named after the file. Then runs that were not used are
    predicted and measured: how far off they were is in the file, and next to every prediction. It takes
    about half a minute; other work on the machine spoils it.

    Exit codes: 0 written; 2 usage or input error, or no MPI for the ranks; 4 a rank failed.
    """
    from threadpoolctl import threadpool_limits

    from sstep_verify.costs.prediction import write
    from sstep_verify.timing import calibrate as measure

    with claim([Output("FILE", machine, force)]), threadpool_limits(1):
        tell = functools.partial(click.echo, err=True)
        found = measure.calibrate(Path(machine).stem, ranks, seconds, tell=tell)
        write(found, machine)
    click.echo(f"{machine}: predictions are off by {found.error}")

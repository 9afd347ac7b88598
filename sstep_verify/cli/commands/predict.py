"""``sstep-verify perf predict``: time per iteration on a machine, by phase, and the s that takes least."""

from __future__ import annotations

import json

import click

from sstep_verify.cli.options.problem import FOLDER_OF_DATA, TASKS, kernel_of, kernel_option
from sstep_verify.cli.options.timing import EXCHANGES
from sstep_verify.cli.options.values import Numbers, Shape, complete, data_sets


@click.command("predict")
@click.argument("data", metavar="[DATA]", required=False, shell_complete=complete(data_sets))
@click.option(
    "--machine", default="perlmutter", show_default=True, metavar="FILE",
    help="Machine file, or the name of one that is shipped.",
)  # fmt: skip
@click.option(
    "--shape", type=Shape(), metavar="M[,N[,NONZEROS]]",
    help="Instead of DATA: samples, features, nonzeros (all columns alike)  [default: M N]",
)  # fmt: skip
@click.option(
    "--counts", metavar="FILE", help="With --shape M: nonzeros of each column, one a line (also .xz)."
)
@click.option("--task", type=click.Choice(TASKS), default="svm-l1", show_default=True)
@kernel_option
@click.option(
    "--block", type=click.IntRange(min=1), default=1, show_default=True, help="K-RR: coordinates a step."
)
@click.option(
    "--s", "steps", type=Numbers(), default="1,2,4,8,16,32,64,128,256", show_default=True,
    help="Iterations a window.",
)  # fmt: skip
@click.option(
    "--np", "ranks", type=Numbers(), default="1,2,4,8,16,32,64", show_default=True,
    help="Numbers of ranks (P); of one alone every s is printed, else s = 1 and the best.",
)  # fmt: skip
@click.option("--exchange", type=click.Choice(EXCHANGES), default="allreduce", show_default=True)
@click.option(
    "--program", type=click.Choice(("production", "published")), default="production", show_default=True,
    help="This package's solver, or the paper's programs where the machine was fitted to them.",
)  # fmt: skip
@click.option("--data", "directory", metavar="DIR", help=FOLDER_OF_DATA)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of lines.")
def command(data, steps, ranks, program, **given):
    """Predict microseconds per iteration by phase, over s and P, and which s takes least.

    DATA is a LIBSVM file or the name of a data set; its columns' nonzeros decide what a rank does.
    A machine file is made by `perf calibrate`; `perlmutter` is shipped, fitted to published timings. How
    far its predictions were from measurements is printed with every table. docs/model.md says what is
    modelled.

    Exit codes: 0 predicted; 2 usage or input error.
    """
    from sstep_verify.costs.machine import read
    from sstep_verify.costs.prediction import Method, predict
    from sstep_verify.errors import InputError

    svm = given["task"] != "krr"
    if svm and given["block"] > 1:
        raise InputError(
            f"--block {given['block']}: K-SVM makes steps of one coordinate; drop it, or --task krr"
        )
    kernel = kernel_of(given["kernel"]).name
    if given["exchange"] == "gram" and kernel != "linear":
        raise InputError("--exchange gram is for --kernel linear; take allreduce")
    machine = read(given["machine"])
    profile = _profile(data, given)
    method = Method(given["exchange"], kernel, svm, given["block"])
    rows = predict(machine, profile, method, ranks, steps, program)
    best = {p: min((row for row in rows if row["P"] == p), key=lambda row: row["total"]) for p in ranks}
    if given["as_json"]:
        told = {
            "machine": machine.name, "source": machine.source, "error": machine.error,
            "program": program, "data": profile.name, "microseconds": rows,
            "best s": {str(p): row["s"] for p, row in best.items()},
        }  # fmt: skip
        click.echo(json.dumps(told, indent=1))
        return
    click.echo(f"{profile.name}: {profile.samples} x {profile.features}, {profile.nonzeros:.0f} nonzeros")
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
    from sstep_verify.errors import InputError

    shape, counts = given["shape"], given["counts"]
    if data is not None:
        from sstep_verify.problems.data.datasets import load

        for option, value in (("--shape", shape), ("--counts", counts)):
            if value is not None:
                raise InputError(f"DATA and {option}: give one of them")
        task = "regression" if given["task"] == "krr" else "classification"
        loaded = load(data, directory=given["directory"], task=task)
        return matrix_profile(loaded.name, loaded.data)
    if shape is None or (len(shape) == 1) == (counts is None):
        raise InputError("give DATA, or --shape M,N[,NONZEROS], or --shape M and --counts FILE")
    samples, *rest = shape
    if counts is not None:
        return Profile("counts", samples, read_counts(counts, samples))
    return uniform_profile("drawn", samples, rest[0], rest[1] if rest[1:] else samples * rest[0])

"""``sstep-verify perf predict``: time per iteration on a machine, by phase, and the s that takes least."""

from __future__ import annotations

import json

import click

from sstep_verify.cli.options.completion import complete, data_sets
from sstep_verify.cli.options.numbers import Numbers
from sstep_verify.cli.options.problem import KERNELS, TASKS

EXCHANGES = ("allreduce", "reduce-scatter", "gram")


@click.command("predict")
@click.argument("data", metavar="[DATA]", required=False, shell_complete=complete(data_sets))
@click.option(
    "--machine", default="perlmutter", show_default=True, metavar="FILE",
    help="Machine file, or the name of one that is shipped.",
)  # fmt: skip
@click.option("--samples", type=click.IntRange(min=1), help="Instead of DATA: m.")
@click.option("--features", type=click.IntRange(min=1), help="n, all columns alike.")
@click.option("--nonzeros", type=click.FloatRange(min=1), help="Of all entries  [default: m n]")
@click.option(
    "--counts", metavar="FILE", help="Instead of n: nonzeros of each column, one a line (also .xz)."
)
@click.option("--task", type=click.Choice(TASKS), default="svm-l1", show_default=True)
@click.option("--kernel", type=click.Choice(KERNELS), default="linear", show_default=True)
@click.option(
    "--block", type=click.IntRange(min=1), default=1, show_default=True, help="K-RR: coordinates a step."
)
@click.option(
    "--s",
    "steps",
    type=Numbers(),
    default="1,2,4,8,16,32,64,128,256",
    show_default=True,
    help="Iterations a window.",
)
@click.option(
    "--ranks", type=Numbers(), default="1,2,4,8,16,32,64", show_default=True, help="Numbers of ranks (P)."
)
@click.option("--exchange", type=click.Choice(EXCHANGES), default="allreduce", show_default=True)
@click.option(
    "--program", type=click.Choice(("production", "published")), default="production", show_default=True,
    help="This package's solver, or the paper's programs where the machine was fitted to them.",
)  # fmt: skip
@click.option(
    "--iterations", type=click.IntRange(min=1), default=640, show_default=True,
    help="published: of a run, over which the start is spread.",
)  # fmt: skip
@click.option("--data", "directory", metavar="DIR", help="Folder with the data sets in LIBSVM format.")
@click.option("--all", "every", is_flag=True, help="Print every s, not only s = 1 and the best.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of lines.")
def command(data, **given):
    """Predict microseconds per iteration by phase, over s and P, and which s takes least.

    DATA is a LIBSVM file or the name of a data set; its columns' nonzeros decide what a rank does.
    A machine file is made by `calibrate`; `perlmutter` is shipped, fitted to published timings. How far
    its predictions were from measurements is printed with every table. docs/model.md says what is modelled.

    Exit codes: 0 predicted; 2 usage or input error.
    """
    from sstep_verify.costs.model.machine import read
    from sstep_verify.costs.model.prediction import Method, predict
    from sstep_verify.errors import InputError

    steps, ranks = given["steps"], given["ranks"]
    svm = given["task"] != "krr"
    if svm and given["block"] > 1:
        raise InputError(
            f"--block {given['block']}: K-SVM makes steps of one coordinate; drop it, or --task krr"
        )
    if given["exchange"] == "gram" and given["kernel"] != "linear":
        raise InputError("--exchange gram is for --kernel linear; take allreduce")
    machine = read(given["machine"])
    profile = _profile(data, given)
    method = Method(given["exchange"], given["kernel"], svm, given["block"])
    rows = predict(machine, profile, method, ranks, steps, given["program"], given["iterations"])
    best = {}
    for count in ranks:
        best[count] = min((row for row in rows if row["P"] == count), key=lambda row: row["total"])
    if given["as_json"]:
        told = {
            "machine": machine.name, "source": machine.source, "error": machine.error,
            "program": given["program"], "data": profile.name, "microseconds": rows,
            "best s": {str(p): row["s"] for p, row in best.items()},
        }  # fmt: skip
        click.echo(json.dumps(told, indent=1))
        return
    click.echo(f"{profile.name}: {profile.samples} x {profile.features}, {profile.nonzeros:.0f} nonzeros")
    click.echo(f"{machine.name} ({machine.source}), {given['program']} program; microseconds per iteration")
    names = list(rows[0])
    click.echo(" ".join(f"{name:>10}" for name in names))
    for row in rows:
        mark = " best" if row in best.values() else ""
        if given["every"] or mark or row["s"] == 1:
            shown = (
                f"{value:>10}" if isinstance(value, int) else f"{value:>10.4g}" for value in row.values()
            )
            click.echo(" ".join(shown) + mark)
    click.echo(f"predictions are off by {machine.error}")


def _profile(data, given):
    """The column profile that the options name."""
    from sstep_verify.costs.model.profiles import Profile, matrix_profile, read_counts, uniform_profile
    from sstep_verify.errors import InputError

    sizes = [name for name in ("samples", "features", "nonzeros", "counts") if given[name] is not None]
    if data is not None:
        from sstep_verify.problems.data.datasets import load

        if sizes:
            raise InputError(f"DATA and --{sizes[0]}: give one of them")
        task = "regression" if given["task"] == "krr" else "classification"
        loaded = load(data, directory=given["directory"], task=task)
        return matrix_profile(loaded.name, loaded.data)
    if given["samples"] is None or (given["features"] is None) == (given["counts"] is None):
        raise InputError("give DATA, or --samples and --features, or --samples and --counts")
    if given["counts"] is not None:
        return Profile("counts", given["samples"], read_counts(given["counts"], given["samples"]))
    entries = given["samples"] * given["features"]
    return uniform_profile("drawn", given["samples"], given["features"], given["nonzeros"] or entries)

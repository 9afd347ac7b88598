"""What a solver leaves elsewhere: a batch of runs, made where there is no Python, or one vector alone.

A batch is a folder of runs with a manifest, and scripts that make them.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from sstep_verify.adapters.program import Program, ProgramFile
from sstep_verify.adapters.program.batch import ERRORS, EXIT, OUTPUT, PLACE, StoredProgramSolver, StoredRun
from sstep_verify.adapters.stored import StoredVector, read_vector
from sstep_verify.campaign.cases import load_data
from sstep_verify.campaign.model import Definition
from sstep_verify.campaign.profile import Selection, profile_of
from sstep_verify.campaign.verdicts.execute import made_cases
from sstep_verify.campaign.verdicts.family import Family, expand
from sstep_verify.campaign.verdicts.kind import refuse_unusable
from sstep_verify.campaign.verdicts.runs import checks_of_family, make_runs
from sstep_verify.errors import InputError, RefusedError
from sstep_verify.files import Output, check, read_whole, write_text
from sstep_verify.files.records import build, decode
from sstep_verify.problems import Kernel, Problem
from sstep_verify.problems.losses import Loss
from sstep_verify.problems.transforms import require_usable, scale_from, with_constant_feature
from sstep_verify.report.plain import plain

SCRIPT, SLURM = "solve.sh", "solve.slurm"

_HEAD = """#!/bin/sh
# Makes the runs of this batch, one after the other, each in its folder. Start it where the program's
# command works, as it was given to sstep-verify check. A run that was made already is left alone, so the
# script may be started again after an interruption, or after the judge asked for more.
# sh solve.sh I N makes every N-th run, from the I-th on (from 1), for job arrays.
part=${1:-1} parts=${2:-1} place=0 failed=0
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd) || exit 1
if command -v timeout >/dev/null 2>&1; then limit='timeout -k 2 LIMIT'; else limit=; fi

run() {
    place=$((place + 1))
    [ $(((place - part) % parts)) -eq 0 ] || return 0
    made=$here/runs/$1
    shift
    [ -e "$made/EXIT" ] && return 0
    [ -d "$made" ] || { echo "$made is missing" >&2; failed=1; return 0; }
    begun=$(date +%s)
    $limit "$@" >"$made/OUTPUT" 2>"$made/ERRORS" </dev/null
    code=$?
    # 137 is a kill: by timeout, of a program that does not end when asked, or by whoever lacks memory.
    [ "$code" -eq 137 ] && [ $(($(date +%s) - begun)) -ge SECONDS ] && [ "$limit" ] && code=124
    [ "$code" -eq 0 ] || { echo "$made: exit code $code" >&2; failed=1; }
    echo "$code" >"$made/EXIT.part" && mv "$made/EXIT.part" "$made/EXIT"
}

"""

_SLURM = """#!/bin/sh
# Makes the runs of this batch. Submit from the folder where the program's command works:
#   sbatch DIR/solve.slurm, or as a job array: sbatch --array=1-4 DIR/solve.slurm
#SBATCH --job-name=NAME
#SBATCH --ntasks=RANKS
#SBATCH --cpus-per-task=1
#SBATCH --time=01:00:00

# SLURM runs a copy of this file, so that its own place says nothing: the batch is where it was submitted,
# or where BATCH says.
BATCH=${BATCH:-$SLURM_SUBMIT_DIR/FOLDER}

# One thread a rank: the ranks share the cores already.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

sh "$BATCH/solve.sh" "${SLURM_ARRAY_TASK_ID:-1}" "${SLURM_ARRAY_TASK_COUNT:-1}"
"""


def shell_script(program: Program, runs: Sequence[StoredRun]) -> str:
    """The script that makes every run that is not made yet."""
    limit, whole = f"{program.time_limit:g}", str(int(program.time_limit))
    head = _filled(_HEAD, LIMIT=limit, SECONDS=whole, EXIT=EXIT, OUTPUT=OUTPUT, ERRORS=ERRORS)
    setup = f"{shlex.join(program.setup)} || exit 1\n\n" if program.setup else ""
    return head + setup + "".join(map(_line, runs)) + "exit $failed\n"


def slurm_script(name: str, ranks: int, folder: str) -> str:
    """The script that SLURM takes; `folder` is the batch, from where it is submitted."""
    return _filled(_SLURM, NAME=f"sstep-{name}", RANKS=str(ranks), FOLDER=shlex.quote(folder))


def _filled(text: str, **given: str) -> str:
    """A script with the values of the words that it leaves open."""
    return functools.reduce(lambda script, word: script.replace(*word), given.items(), text)


def _line(run: StoredRun) -> str:
    variables = [f"{name}={value}" for name, value in run.variables.items()]
    words: Sequence[str] = ["env", *variables, *run.words] if variables else run.words
    return f"run {run.name} {' '.join(_quoted(word, run.name) for word in words)}\n"


def _quoted(word: str, name: str) -> str:
    """A word that the shell takes as it is, but for the place of the batch."""
    text = "'" + word.replace("'", "'\"'\"'") + "'"
    return text.replace(PLACE, f"'\"$here\"'/runs/{name}")


NAME, RUNS = "batch.json", "runs"

MOST_BYTES = 32 << 20
"""Largest manifest: of some hundred thousand runs."""


@dataclass(frozen=True)
class Batch:
    """What a folder of runs is for: of a profile what, of which program, and its runs in order."""

    profile: str
    selection: Selection
    only: str
    program: ProgramFile
    runs: tuple[StoredRun, ...] = ()
    format: Literal["sstep-batch"] = "sstep-batch"
    version: Literal[1] = 1

    def definition(self, folder: Path, collected: list[StoredRun] | None = None) -> Definition:
        """The campaign that judges the runs in a folder; InputError if nothing of the profile is left.

        Runs that are not there are refused or, where there is a list for them, collected.
        """
        runs = (folder / RUNS).resolve()
        source = functools.partial(StoredProgramSolver, self.program, folder=runs, collect=collected)
        again = shlex.join(["sstep-verify", "check", "--runs", str(folder)])
        return profile_of(self.profile, self.program, self.selection, again, source)


def read_batch(folder: Path) -> Batch:
    """Read the manifest of a folder; InputError if it cannot be used."""
    where = str(folder / NAME)
    values = decode(read_whole(folder / NAME, MOST_BYTES, "a manifest", follow=False), where)
    return build(values, Batch, where)


def export(batch: Batch, folder: Path) -> Batch:
    """Write every run that is asked for before any result is known, into an empty folder or none yet.

    InputError if the folder holds anything, nothing of the profile is left, or the program is witnessed.
    """
    target = check(Output("--runs", folder, replace=True, folder=True))
    if target.is_dir() and any(target.iterdir()):
        raise InputError(f"{folder} is not empty, and holds no runs; name another folder, which is made")
    if batch.program.program.witness:
        raise InputError(
            "witness counts in processes that are started here; leave it out with --runs (--set witness=''"
            " where a program file has it)"
        )
    return collect(batch, target)


def collect(batch: Batch, folder: Path) -> Batch:
    """Write out the runs that are asked for, by what is known so far, and are not there.

    They stand behind the others of the batch that is returned; manifest and scripts are written anew.
    """
    found: list[StoredRun] = []
    for unit in expand(batch.definition(folder, found), batch.only):
        for spec, case, solvers, shared in made_cases(unit, None):
            if isinstance(shared, str):
                continue
            # All runs are asked for as a campaign does; a case whose run is refused asks for no more.
            with contextlib.suppress(RefusedError):
                checks, reference = checks_of_family(spec.family), shared.reference(case.problem)
                make_runs(case, checks, solvers, reference, spec.family.tolerance)
    known = {run.name for run in batch.runs}
    batch = replace(batch, runs=(*batch.runs, *(run for run in found if run.name not in known)))
    if found:
        program, ranks = batch.program.program, max(batch.selection.ranks)
        write_text(folder / SCRIPT, shell_script(program, batch.runs))
        write_text(folder / SLURM, slurm_script(program.name, ranks, folder.name))
        write_text(folder / NAME, json.dumps(plain(batch), indent=1, allow_nan=False) + "\n")
    return batch


def unmade(batch: Batch, folder: Path) -> list[str]:
    """Names of the runs of a batch that have not ended."""
    return [run.name for run in batch.runs if not os.path.lexists(folder / RUNS / run.name / EXIT)]


def final_vector(
    path: str,
    data: str,
    kernel: Kernel,
    loss: Loss,
    *,
    scale: str = "",
    signed: bool = False,
    directory: str | None = None,
    tolerance: float = Family.tolerance,
    bias: float = 0.0,
    command: str = "",
) -> Definition:
    """The campaign of one vector: whether it is the optimum of a problem on a data set or LIBSVM file.

    The file, see `read_vector`, holds c a, where `scale` says c, or its name in `transforms.scales`, else a
    itself; entries are ``y_i a_i`` where it is `signed` (K-SVM). Up to a `tolerance` it is the optimum: a
    relative duality gap (K-SVM), or an error ``||a - a*|| / ||a*||`` (K-RR); what leaves the box of a K-SVM
    may do so by that times C. `bias` is the value of a constant feature that is appended to the data, 0 for
    none; `command` the one that was given, for replay commands. InputError if file, data or a value cannot
    be used, or do not fit each other.
    """
    require_usable(bias, kernel)
    loaded = load_data(data, directory, "regression" if loss.task == "krr" else "classification")
    values = with_constant_feature(loaded.data, bias)
    problem = Problem(loaded.name, values, loaded.targets, kernel, loss).with_finite_kernel()
    ends = (problem.hinge.C,) if problem.is_svm else ()
    alpha, rounding = read_vector(path, problem.samples, ends)
    if signed:
        if not problem.is_svm:
            raise InputError("--signed says that entries are y_i a_i, as those of a K-SVM may be; drop it")
        alpha = alpha * problem.targets
    if scale:
        factor = scale_from(problem, scale)
        # The division rounds what was written, and 1/lambda and the like are rounded themselves.
        alpha = alpha / factor
        rounding = rounding / abs(factor) + 2.0**-50 * np.abs(alpha) * np.isfinite(alpha)
    name = Path(path).name
    stem = re.sub(r"[^A-Za-z0-9._-]", "-", Path(path).stem).strip("-._")[:48] or "vector"
    family = Family(
        data=(data,),
        task=(loss.task,),
        kernel=(kernel,),
        s=(1,),
        parameter=(loss.parameter,),
        iterations=1,
        tolerance=tolerance,
        bias=bias,
        solver=stem,
        checks=("optimum", "box") if problem.is_svm else ("optimum",),
        given=StoredVector(name, alpha, rounding),
    )
    refuse_unusable(family, "--final")
    return Definition(
        name=f"{stem}-final",
        title=f"{name}: is it the optimum?",
        description=f"One vector, {name}, read as the a of {problem.label}; nothing was run.",
        families=(family,),
        source="--final",
        command=command,
    )

"""The scripts of a batch: POSIX shell, and SLURM's; the machine that runs them needs no Python."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from sstep_verify.adapters.program import Program
from sstep_verify.adapters.program.batch import ERRORS, EXIT, OUTPUT, PLACE, StoredRun

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
    head = _HEAD.replace("LIMIT", f"{program.time_limit:g}").replace(
        "SECONDS", str(int(program.time_limit))
    )
    for name, value in (("EXIT", EXIT), ("OUTPUT", OUTPUT), ("ERRORS", ERRORS)):
        head = head.replace(name, value)
    setup = f"{shlex.join(program.setup)} || exit 1\n\n" if program.setup else ""
    return head + setup + "".join(map(_line, runs)) + "exit $failed\n"


def slurm_script(name: str, ranks: int, folder: str) -> str:
    """The script that SLURM takes; `folder` is the batch, from where it is submitted."""
    given = {
        "NAME": f"sstep-{name}",
        "RANKS": str(ranks),
        "FOLDER": shlex.quote(folder),
    }
    text = _SLURM
    for name, value in given.items():
        text = text.replace(name, value)
    return text


def _line(run: StoredRun) -> str:
    variables = [f"{name}={value}" for name, value in run.variables.items()]
    words: Sequence[str] = ["env", *variables, *run.words] if variables else run.words
    return f"run {run.name} {' '.join(_quoted(word, run.name) for word in words)}\n"


def _quoted(word: str, name: str) -> str:
    """A word that the shell takes as it is, but for the place of the batch."""
    text = "'" + word.replace("'", "'\"'\"'") + "'"
    return text.replace(PLACE, f"'\"$here\"'/runs/{name}")

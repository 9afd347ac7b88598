"""Plants the mistakes of ``solver_mistakes.toml`` one by one, and has cases of shipped campaigns judge each.

``python tests/meta/solver_mistakes.py [FIRST [EVERY] | WORDS]`` takes every so many of them from the first on, or those
with such words in their names, and tells of each which case and check refuses it, by a verdict; a mistake is alive if
no case does. ``--right`` has all cases judge the solver as it is. About an hour in all.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import replace
from pathlib import Path

TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))

QUICK = (
    "contract", "step-replay", "determinism", "claim-honesty", "box", "message-count", "rank-coherence", "optimum",
)  # fmt: skip
"""Checks that judge first: all others follow where none of these fails."""

SECONDS = 900


def judge(cases: list[str]) -> str:
    """Case, check and reason of the first FAIL of some cases, in a worker process; else what else was said."""
    from sstep_verify.campaign.model import Plan
    from sstep_verify.campaign.pool import spread
    from sstep_verify.campaign.read import read_definition
    from sstep_verify.campaign.verdicts.family import expand
    from sstep_verify.campaign.verdicts.kind import KIND

    told = []
    for quick in (True, False):
        units = []
        for words in cases:
            campaign, case = words.split(" ", 1)
            for unit in expand(read_definition(campaign), case):
                for spec in unit.work:
                    checks = (
                        tuple(one for one in spec.family.checks if one in QUICK)
                        if quick
                        else spec.family.checks
                    )
                    family = replace(spec.family, drift=0, checks=checks)
                    alone = (replace(spec, family=family),)
                    # Foreign, so that what ends its process ends no judgement.
                    units.append(replace(unit, keys=(spec.id,), work=alone, external=True))
        for message in spread(KIND, units, Plan(read_definition(campaign))):
            if message.outcome is None:
                told.append(message.error.strip().splitlines()[-1])
            elif message.outcome.case.status == "FAIL":
                return (
                    f"FAIL {message.outcome.case.id}: {message.outcome.case.reason.splitlines()[0][:200]}"
                )
            elif message.outcome.case.status != "PASS":
                told.append(f"{message.outcome.case.status} {message.outcome.case.id}")
    return "; ".join(told)


def planted(one: dict[str, str], folder: Path) -> str:
    """What the cases of a mistake say with it in a copy of the package."""
    path = folder.joinpath(*one["module"].split(".")).with_suffix(".py")
    source = path.read_text("utf-8")
    assert source.count(one["before"]) == 1, one["name"]
    import sstep_verify

    home = Path(sstep_verify.__file__).parents[1]
    paths = [str(folder), str(home / "reference"), os.environ.get("PYTHONPATH", "")]
    variables = os.environ | {
        "PYTHONPATH": os.pathsep.join(paths),
        "NUMBA_CACHE_DIR": str(folder / "numba"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    path.write_text(source.replace(one["before"], one["after"]), "utf-8")
    words = [sys.executable, "-W", "ignore", __file__, "--judge", json.dumps(TABLE["cases"][one["cases"]])]
    try:
        done = subprocess.run(
            words, env=variables, cwd=folder, timeout=SECONDS, capture_output=True, text=True, check=False
        )
    except subprocess.TimeoutExpired:
        return f"no end after {SECONDS} s"
    finally:
        path.write_text(source, "utf-8")
    if done.returncode:
        return f"exit code {done.returncode}: {(done.stderr.strip().splitlines() or [''])[-1]}"
    return done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""


def chosen_of(words: list[str]) -> list[dict[str, str]]:
    """The mistakes that the arguments choose."""
    if words and not words[0].isdecimal():
        return [one for one in TABLE["mistake"] if " ".join(words) in one["name"]]
    first, every = map(int, [*words, *("0", "1")[len(words) :]])
    return TABLE["mistake"][first::every]


def main(words: list[str]) -> None:
    """Judge them, and count."""
    import shutil

    import sstep_verify

    chosen, alive = chosen_of(words), 0
    with tempfile.TemporaryDirectory(prefix="sstep-verify-mistakes-") as room:
        folder = Path(room)
        package = Path(sstep_verify.__file__).parent
        shutil.copytree(package, folder / package.name, ignore=shutil.ignore_patterns("__pycache__"))
        for one in chosen:
            begin = time.perf_counter()
            told = planted(one, folder)
            refused = told.startswith("FAIL")
            alive += not refused
            what = "refused" if refused else "ALIVE  "
            print(
                f"{what} {time.perf_counter() - begin:4.0f} s  {one['area']}, {one['name']}: {told}",
                flush=True,
            )
    print(f"{len(chosen) - alive} of {len(chosen)} refused by a verdict")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--judge"]:
        print(judge(json.loads(sys.argv[2])))
    elif sys.argv[1:2] == ["--right"]:
        for words in sorted({words for cases in TABLE["cases"].values() for words in cases}):
            print(f"{judge([words]) or 'nothing but PASS'}: {words}", flush=True)
    else:
        main(sys.argv[1:])

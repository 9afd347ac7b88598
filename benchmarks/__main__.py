"""Times next to what a run cannot do without, and next to other programs: ``python benchmarks NAME``.

What each measures, and its options, says ``python benchmarks NAME --help``.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from pathlib import Path

from grid import Report
from threadpoolctl import threadpool_limits

from sstep_verify.errors import SstepVerifyError

NAMES = (
    "goals",
    "microseconds",
    "judge",
    "judgement",
    "mpi",
    "tuning",
    "peers",
    "oracle",
    "model",
    "relay",
    "streams",
)

SHARED = {
    "--repeats": {"type": int, "help": "turns, at least 5 (default: %(default)s)"},
    "--seconds": {"type": float, "help": "length of a timing (default: %(default)s)"},
    "--only": {"action": "append", "help": "one of them; may be repeated"},
}
"""Options that several have, with values of their own."""


def parser(name: str, text: str | None) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(name, description=text, formatter_class=argparse.RawTextHelpFormatter)


def main() -> None:
    known = parser("benchmarks", __doc__)
    known.add_argument("name", choices=NAMES)
    name = known.parse_args(sys.argv[1:2]).name
    benchmark = import_module(name)
    arguments = parser(f"benchmarks {name}", benchmark.__doc__)
    folder, out = os.environ.get("SSTEP_VERIFY_DATA"), Path(f"sstep-verify-out/benchmarks/{name}.json")
    arguments.add_argument("--data", default=folder, help="folder of LIBSVM files ($SSTEP_VERIFY_DATA)")
    arguments.add_argument("--out", type=Path, default=out, help=f"JSON file; text next to it ({out})")
    for option, own in benchmark.OPTIONS.items():
        arguments.add_argument(option, **SHARED.get(option, {}), **own)
    chosen = arguments.parse_args(sys.argv[2:])
    if vars(chosen).get("repeats", 5) < 5 or not vars(chosen).get("seconds", 1.0) > 0:
        arguments.error("needed are at least 5 repeats and a positive length of a timing")
    report = Report(chosen, benchmark.COLUMNS, **benchmark.DOCUMENT)
    try:
        with threadpool_limits(1):
            benchmark.measure(report)
    except SstepVerifyError as error:
        sys.exit(f"error: {error}")
    report.write()
    print(f"{chosen.out}, {chosen.out.with_suffix('.txt')}")


if __name__ == "__main__":
    main()

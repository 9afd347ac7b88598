"""Which branches of the solver the shipped campaigns run that need no download.

``python tests/branches/solver_branches.py`` makes the plain runs of these campaigns, shortened, and again as a user
makes them, with the solver's inner loops as plain Python, and writes ``reports/solver-branches``: a line for each
module, and one for each branch that no run took, with the reason that stood there before. It ends with exit code 1
where a branch has none. A few minutes on an idle core; ranks are threads, but those of the command.
"""

from __future__ import annotations

import ast
import csv
import hashlib
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PACKAGE = ROOT / "sstep_verify"
REPORT = ROOT / "reports" / "solver-branches"
MODULES, LEFT = REPORT / "modules.csv", REPORT / "not-taken.csv"

ROOMS = ("solver",)
CAMPAIGNS = {
    "embedded": "diabetes_regression_scale/linear/krr/lambda=0.001/b=1",
    "parallel": "",
    "varied": "",
}
"""By name, and the one case of those whose others take long and no other ways."""

KINDS = {
    "refusal": "an input or an option is refused; tests/unit and tests/hostile",
    "fault": "a rank, a file or the machine fails; tests/meta and tests/parallel",
    "clock": "what is done depends on time; tests/unit and tests/parallel",
    "size": "reached only by data too large for a small campaign; tests/unit",
    "machine": "ranks of different processors; tests/parallel",
    "telling": "nothing but what is printed, or asked of a user, depends on it; tests/unit",
    "stated": "what `solve` states of the gap of its end; tests/properties/test_stated_gaps.py",
    "unused": "no option of `solve` leads here",
    "unjudged": "decides what is run, which no check judges for itself; tests/unit",
}
"""First words of the reasons why no campaign takes a way, and what they mean."""

MOST = 150
"""Most iterations of a run but for two windows and a shorter one: inner loops are a hundred times slower."""


def modules() -> list[Path]:
    """The modules that are measured."""
    return sorted(path for room in ROOMS for path in (PACKAGE / room).rglob("*.py"))


def name_of(path: Path) -> str:
    """Name of a module, within the package."""
    return path.relative_to(PACKAGE).as_posix()


def digest(path: Path) -> str:
    """SHA-256 of what a module decides by: the heads of its branches and loops, in order (16 digits)."""
    heads = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, (ast.If, ast.While)):
            heads.append((node.lineno, type(node).__name__, ast.unparse(node.test)))
        elif isinstance(node, ast.For):
            heads.append((node.lineno, "For", ast.unparse(node.iter)))
        elif isinstance(node, ast.match_case):
            heads.append((node.pattern.lineno, "case", ast.unparse(node.pattern)))
    return hashlib.sha256(
        "\n".join(f"{kind} {text}" for _, kind, text in sorted(heads)).encode()
    ).hexdigest()[:16]


def read(path: Path) -> list[dict[str, str]]:
    """The lines of a table."""
    with path.open(newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


def on_thread_ranks(ranks, function, *arguments, limit=0.0, variables=None):
    """What each rank returns, the ranks being threads, which wait for each other at no cost."""
    from studies import thread_ranks

    thread_ranks.SECONDS = 900.0
    found = thread_ranks.on_threads(ranks, function, *arguments)
    for one in found:
        if isinstance(one, Exception):
            raise one
    return found


def make_runs(name: str) -> None:
    """Make the plain runs of the shortest and the longest windows of every case, logged and as a user does."""
    from sstep_verify.adapters import ours, training
    from sstep_verify.campaign.cases import load_data
    from sstep_verify.campaign.read import read_definition
    from sstep_verify.campaign.verdicts.case import make_case
    from sstep_verify.campaign.verdicts.family import expand
    from sstep_verify.checks.determinism import AGAIN
    from sstep_verify.checks.shared.case import plain_request
    from sstep_verify.runs import make_run
    from sstep_verify.solver.settings import Options

    ours.run = training.run = on_thread_ranks
    ours.communicator_of = training.communicator_of = lambda communicator: communicator
    for unit in expand(read_definition(name), CAMPAIGNS.get(name, "")):
        data = load_data(unit.data[0], None, None)
        for spec in unit.work:
            begin, family = time.perf_counter(), spec.family
            usual = family.long_block == Options.long_block
            ends = sorted({min(family.s), max(family.s)} if usual else set(family.s))
            most = max(MOST // spec.block, 2 * ends[-1] * max(family.interval, 1) + 1)
            family = replace(family, iterations=min(family.iterations, most))
            solvers = family.solvers()
            declared = {name: solver.declaration for name, solver in solvers.items()}
            case = make_case(replace(spec, family=family), data, declared, "", "")
            for s in ends:
                request = replace(plain_request(case, s), log=case.declaration.log, expose_panels=True)
                bare = replace(request, record=(), log=False, expose_panels=False)
                ways = [solvers[way] for way in AGAIN if way in solvers]
                runs = [make_run(solvers[""], request), *(make_run(way, bare) for way in ways)]
                if family.ranks == 1 and family.rbf != "difference":  # Who observes ends a run.
                    runs.append(make_run(solvers[""], request, lambda iteration, alpha: iteration > 0))
                raised = [run.stopped for run in runs if run.stopped.startswith("raised")]
                assert not raised, (spec.id, raised)
            print(f"{time.perf_counter() - begin:6.1f} s, {spec.id}", flush=True)


def not_taken(data: Path) -> Iterator[tuple[str, int, list[tuple[str, str]]]]:
    """Of each module: its name, how many ways its branches have, those that no run took (head, leads to)."""
    import coverage

    measured = coverage.Coverage(data_file=str(data / "all"), branch=True, config_file=False)
    measured.combine([str(path) for path in data.glob("part*")], keep=True)
    for path in modules():
        found, lines = measured._analyze(str(path)), path.read_text("utf-8").splitlines()
        missing = found.missing_branch_arcs()
        text = lambda line, lines=lines: lines[line - 1].strip() if line > 0 else "the end"  # noqa: E731
        ways = [(text(line), text(end)) for line, ends in sorted(missing.items()) for end in ends]
        counts = found.branch_stats()
        yield name_of(path), sum(total for total, _ in counts.values()), ways


def write(data: Path) -> int:
    """Write both tables; how many branches that no run took have no reason."""
    known = (
        {(one["module"], one["branch"], one["leads to"]): one["reason"] for one in read(LEFT)}
        if LEFT.exists()
        else {}
    )
    REPORT.mkdir(exist_ok=True)
    table, left = [], []
    for name, ways, missing in not_taken(data):
        table.append((name, ways, ways - len(missing), digest(PACKAGE / name)))
        for (head, end), count in Counter(missing).items():
            left += [(name, head, end, known.get((name, head, end), ""))] * count
    total = ("all", sum(one[1] for one in table), sum(one[2] for one in table), "")
    for path, head, rows in (
        (MODULES, ("module", "ways", "taken", "digest"), [*table, total]),
        (LEFT, ("module", "branch", "leads to", "reason"), left),
    ):
        with path.open("w", newline="", encoding="utf-8") as handle:
            csv.writer(handle, lineterminator="\n").writerows([head, *rows])
    print(f"{total[2]} of {total[1]} ways of branches taken, {len(left)} not")
    return sum(not one[3] for one in left)


def main(parts: Path | None) -> int:
    """Make the runs, unless they were made, and write the tables."""
    with tempfile.TemporaryDirectory() as folder:
        data = parts or Path(folder)
        if parts is None:
            paths = [str(HERE), str(ROOT), str(ROOT / "reference"), os.environ.get("PYTHONPATH", "")]
            variables = os.environ | {
                "PYTHONPATH": os.pathsep.join(paths),
                "SOLVER_BRANCHES": str(data / "part"),
                "OPENBLAS_NUM_THREADS": "1",
            }
            for name in CAMPAIGNS:
                subprocess.run([sys.executable, __file__, name], env=variables, check=True)
        unexplained = write(data)
    if unexplained:
        print(f"{unexplained} of them without a reason in {LEFT}")
    return int(unexplained > 0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--data"]:
        sys.exit(main(Path(sys.argv[2])))
    elif sys.argv[1:]:
        make_runs(sys.argv[1])
    else:
        sys.exit(main(None))

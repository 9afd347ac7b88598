"""Prints how large the product is: files, lines, statements and names a room; options a command; files a run uses;
what a short `solve` costs.

    python tests/sizes.py

The product is all Python outside tests and docs. Files of ours that a run uses are those of which a function
is called.
"""

from __future__ import annotations

import ast
import os
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[1]

USED = """
import inspect, os, sys, threading
import sstep_verify
from sstep_verify.cli.main import main
root, seen = os.path.dirname(sstep_verify.__file__), set()
def look(frame, event, arg):
    code = frame.f_code
    if event == "call" and code.co_flags & inspect.CO_OPTIMIZED and code.co_filename.startswith(root):
        seen.add(code.co_filename)  # not the bodies of modules and classes
sys.setprofile(look)
threading.setprofile(look)
try:
    main()
except SystemExit:
    pass
finally:
    sys.setprofile(None)
    loaded = sum(name.startswith("sstep_verify") for name in sys.modules)
    print(f"files used {len(seen)}, modules of ours loaded {loaded}", file=sys.stderr)
"""


def product() -> list[Path]:
    """Python files of the product."""
    listed = subprocess.run(
        ["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    paths = map(Path, listed.stdout.split())
    return [path for path in paths if path.parts[0] not in ("tests", "docs") and (ROOT / path).is_file()]


def room(path: Path) -> str:
    """Room of a file: its folder of the package, or its folder at the top."""
    inside = path.parts[0] == "sstep_verify" and len(path.parts) > 2
    return "/".join(path.parts[:2]) if inside else path.parts[0]


def sizes(path: Path) -> Counter[str]:
    """Lines, statements and names of one file."""
    text = (ROOT / path).read_text("utf-8")
    nodes = list(ast.walk(ast.parse(text)))
    named = (ast.Name, ast.Attribute, ast.Constant, ast.arg, ast.keyword, ast.alias)
    return Counter(
        files=1,
        lines=len(text.splitlines()),
        statements=sum(isinstance(node, ast.stmt) for node in nodes),
        names=sum(isinstance(node, named) for node in nodes),
    )


def options() -> dict[str, int]:
    """Options of every command, and of every command of a group, `--help` left out."""
    from sstep_verify.cli.main import cli

    def commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
        yield name, command
        if isinstance(command, click.Group):
            context = click.Context(command)
            for inner in command.list_commands(context):
                found = command.get_command(context, inner)
                assert found is not None
                yield from commands(found, f"{name} {inner}".strip())

    return {
        name or "sstep-verify": sum(
            isinstance(parameter, click.Option) and parameter.name not in ("help", "version")
            for parameter in command.params
        )
        for name, command in commands(cli, "")
    }


def used(*command: str) -> str:
    """What one command uses of ours; of several ranks, what each does."""
    *launcher, name = command[: command.index("--") + 1]
    program = [*launcher, sys.executable, "-c", USED, *command[command.index(name) + 1 :]]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=True)
    return "; ".join(line for line in done.stderr.splitlines() if line.startswith("files used"))


def start(*command: str) -> str:
    """Processor time and largest memory of a command on one process, medians of some runs after the first."""
    spent = []
    for _ in range(6):
        job = subprocess.Popen(
            [sys.executable, "-m", "sstep_verify", *command], cwd=ROOT, stdout=subprocess.DEVNULL
        )
        _, _, usage = os.wait4(job.pid, 0)
        spent.append((usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024))
    seconds, memory = map(statistics.median, zip(*spent[1:], strict=True))
    return f"{seconds:.2f} s of processor time, {memory:.0f} MB"


def main() -> None:
    """Print all."""
    rooms: dict[str, Counter[str]] = {}
    paths = product()
    for path in paths:
        rooms.setdefault(room(path), Counter()).update(sizes(path))
    rooms["product"] = sum(rooms.values(), Counter())
    for name, counted in rooms.items():
        print(f"{name:<28}" + "".join(f"{counted[key]:>9,} {key}" for key in counted))
    folders = Counter(path.parent.as_posix() for path in paths)
    print("fullest folders:", ", ".join(f"{name} {count}" for name, count in folders.most_common(3)))
    longest = max(paths, key=lambda path: sizes(path)["lines"])
    print(f"longest module: {longest}, {sizes(longest)['lines']} lines")
    for name, count in (counted_options := options()).items():
        print(f"{name:<28}{count:>4} options")
    print(f"{'all commands':<28}{sum(counted_options.values()):>4} options")
    with tempfile.TemporaryDirectory() as folder:
        samples, out = Path(folder) / "samples.txt", Path(folder) / "out"
        samples.write_text("".join(f"{(-1) ** place} 1:{place} 2:1\n" for place in range(8)))
        solve = "solve", str(samples), "--task", "svm-l1", "--iterations", "64", "--out", f"{out}.npz"
        print("solve on two ranks:", used("mpiexec", "-n", "2", "--", *solve))
        print("start of solve:", start(*solve, "--force"))
        print("run smoke:", used("--", "run", "smoke", "--jobs", "1", "--out", str(out)))


if __name__ == "__main__":
    main()

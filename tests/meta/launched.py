"""Programs started from a test, and what is left of them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

from sstep_verify.ranks.environment import launch_variables

LEAVE = 10.0
"""Seconds within which everything that a program started must be gone after it."""


@dataclass
class Marked:
    """An environment by which a program and all its descendants can be found."""

    name: str = field(default_factory=lambda: f"SSTEP_VERIFY_TEST_{uuid.uuid4().hex}")

    def variables(self, **more: str) -> dict[str, str]:
        folders = os.pathsep.join(
            [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        )
        return {**launch_variables(), "PYTHONPATH": folders, self.name: "1", **more}

    def alive(self) -> list[str]:
        """Command lines of the processes that bear the mark; zombies bear none."""
        found = []
        for folder in Path("/proc").iterdir():
            try:
                if folder.name.isdigit() and f"{self.name}=".encode() in (folder / "environ").read_bytes():
                    found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                continue  # gone meanwhile
        return found

    def all_left(self, expected: int = 0) -> list[str]:
        """Those that are still alive after a while, or as soon as they are as few as expected."""
        end = time.monotonic() + LEAVE
        while len(alive := self.alive()) > expected and time.monotonic() < end:
            time.sleep(0.05)
        return alive


def run_marked(command: list[str], folder: Path, timeout: float, **variables: str):
    """Run a program to its end: its exit code, its output, and what is left of it.

    A program that does not end within `timeout` seconds fails the test by `subprocess.TimeoutExpired`.
    """
    mark = Marked()
    with subprocess.Popen(
        command, cwd=folder, env=mark.variables(**variables), text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as process:  # fmt: skip
        try:
            output, _ = process.communicate(timeout=timeout)
        finally:
            process.kill()
    return process.returncode, output, mark.all_left()


PYTEST = [
    sys.executable, "-m", "pytest", "-q", "--color=no",
    *(word for name in ("randomly", "cacheprovider", "hypothesispytest") for word in ("-p", f"no:{name}")),
]  # fmt: skip
"""pytest as another project runs it, without the plugin of Hypothesis, which takes longer to load than all else."""

WITH_HYPOTHESIS = ["-p", "hypothesispytest"]
"""What loads it nevertheless."""

SERVED = [*PYTEST, "--sstep-verify-ranks"]
"""The same with rank 0 alone running the tests."""

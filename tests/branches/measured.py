"""Measures the branches of the solver in this process: its inner loops run as plain Python, all else as ever."""

from __future__ import annotations

import os
from pathlib import Path

ROOMS = ("solver",)
"""Folders of the package that are measured."""


def begin() -> None:
    """Begin; what was seen is written after every call of a rank, and at the end."""
    import coverage

    import sstep_verify
    from sstep_verify import compiled
    from sstep_verify.ranks import task

    package = Path(sstep_verify.__file__).parent
    measure = coverage.Coverage(
        data_file=os.environ["SOLVER_BRANCHES"], data_suffix=True, branch=True, config_file=False,
        include=[f"{package / room}/*" for room in ROOMS],
    )  # fmt: skip
    made, execute = compiled._made, task.execute
    inside = tuple(f"sstep_verify.{room.replace('/', '.')}" for room in ROOMS)

    def plain(function, **options):
        return function if function.__module__.startswith(inside) else made(function, **options)

    def saved(communicator, call):
        answer = execute(communicator, call)
        measure.save()  # A rank is killed in the end, and writes nothing then.
        return answer

    compiled._made, task.execute = plain, saved
    measure._atexit = lambda *_: None
    measure.start()
    import atexit

    atexit.register(lambda: (measure.stop(), measure.save()))

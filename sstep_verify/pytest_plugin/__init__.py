"""pytest plugin: ranks of a job that serve the tests, and tests of a solver for each problem and check.

Under ``mpiexec -n P python -m pytest`` rank 0 runs the tests, the others serve it.

Only where a project asks for it, by ``--sstep-verify-ranks`` or ``sstep_verify_ranks = true`` in its pytest
settings: whoever does not gets entries in ``--help`` and nothing else, no import and no change of what
runs, since other projects' tests communicate on all ranks themselves. In an ordinary process the tests run
as usual, and `sstep_verify.ranks.run` starts a pool of ranks.
"""

from __future__ import annotations

import os

import pytest

ASKED = "sstep_verify_ranks"

CASES = "sstep_verify.pytest_plugin.cases"
"""Plugin that makes the tests of a solver; by its name, since this one imports nothing that judges."""

SOLVER_OPTIONS = (
    (
        "--sstep-solver",
        "MODULE:OBJECT",
        "Add a test of this solver, or program file, for every problem and check: sstep::PROBLEM::CHECK.",
    ),
    ("--sstep-exec", "COMMAND", "The same of a program, such as './solver {dir}'."),
    ("--sstep-profile", "NAME", "Their problems: smoke, ci (the default), nightly or deep."),
    ("--sstep-task", "NAME,...", "Only these tasks: svm-l1, svm-l2, krr."),
    ("--sstep-kernel", "NAME,...", "Only these kernels: linear, polynomial, rbf."),
    ("--sstep-xfails", "FILE", "Failures that are expected, as `sstep-verify check --xfails` takes them."),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer the option and the setting."""
    text = (
        "Under mpiexec let rank 0 alone run the tests, while the others serve sstep_verify.ranks.run. "
        "Not for tests that communicate on all ranks themselves."
    )
    group = parser.getgroup("sstep-verify", "sstep_verify: tests of a solver, and tests on ranks")
    group.addoption("--sstep-verify-ranks", dest=ASKED, action="store_true", default=False, help=text)
    for option, name, about in SOLVER_OPTIONS:
        group.addoption(option, metavar=name, help=about)
    parser.addini(ASKED, f"The same as --sstep-verify-ranks. {text}", type="bool", default=False)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """If asked to, send ranks > 0 into the following loop: no collection and no output there."""
    if not (config.getoption(ASKED) or config.getini(ASKED)):
        return None
    from sstep_verify.ranks.environment import promised_size

    size = promised_size()
    config.pluginmanager.register(RanksInPlace(size), "sstep_verify ranks in place")
    if size == 1:
        return None
    from sstep_verify.ranks.in_place import join

    # A copy: what is said just before an abort must not stay in a capture file.
    voice = open(os.dup(2), "w", buffering=1)  # noqa: SIM115
    return None if join(voice) else 0


def pytest_configure(config: pytest.Config) -> None:
    """Add the tests of a solver, if one is named."""
    named = [option for option, *_ in SOLVER_OPTIONS if config.getoption(option)]
    if not named:
        return
    if ("--sstep-solver" in named) == ("--sstep-exec" in named):
        raise pytest.UsageError(f"{named[0]}: name one solver, by --sstep-solver or by --sstep-exec")
    config.pluginmanager.import_plugin(CASES)


class RanksInPlace:
    """Hooks of a run whose rank 0 leads; `size` is the ranks of the job (P), 1 in an ordinary process."""

    def __init__(self, size: int):
        self._size = size

    def pytest_configure(self, config: pytest.Config) -> None:
        """Declare the marker."""
        config.addinivalue_line(
            "markers", "pool_only: loses ranks, or starts its own; skipped under mpiexec"
        )

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Skip what cannot run in place, or asks for more ranks (parameter `ranks`) than there are."""
        if self._size == 1:
            return
        for item in items:
            ranks = getattr(item, "callspec", None) and item.callspec.params.get("ranks", 1)  # type: ignore[attr-defined]
            if item.get_closest_marker("pool_only"):
                item.add_marker(pytest.mark.skip(reason="pool only: it loses ranks, or starts its own"))
            elif isinstance(ranks, int) and ranks > self._size:
                reason = f"{ranks} ranks are needed, the job has {self._size}"
                item.add_marker(pytest.mark.skip(reason=reason))

    def pytest_report_header(self) -> str | None:
        """Say on how many ranks this run is."""
        return f"MPI: {self._size} ranks in place, rank 0 runs the tests" if self._size > 1 else None

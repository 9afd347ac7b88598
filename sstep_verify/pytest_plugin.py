"""pytest plugin: under ``mpiexec -n P python -m pytest`` rank 0 runs the tests and the others follow.

Rank 0 alone owns collection, Hypothesis and the verdict; tests reach the other ranks by
`sstep_verify.launch.run`. In an ordinary process the plugin does nothing.
"""

from __future__ import annotations

import os
import sys

import pytest

from sstep_verify.launch.environment import promised_size

_IN_PLACE = promised_size() > 1

# Taken before pytest redirects it: what is said just before an abort must not stay in a capture file.
_VOICE = open(os.dup(2), "w", buffering=1) if _IN_PLACE else sys.stderr  # noqa: SIM115


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Send ranks > 0 into the following loop: no collection and no output there."""
    if not _IN_PLACE:
        return None
    from sstep_verify.launch.in_place import join

    return None if join(_VOICE) else 0


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", "pool_only: loses ranks, or starts its own; skipped under mpiexec")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what cannot run in place, and what asks for more ranks (parameter `ranks`) than there are."""
    if not _IN_PLACE:
        return
    size = promised_size()
    for item in items:
        ranks = getattr(item, "callspec", None) and item.callspec.params.get("ranks", 1)  # type: ignore[attr-defined]
        if item.get_closest_marker("pool_only"):
            item.add_marker(pytest.mark.skip(reason="pool only: it loses ranks, or starts its own"))
        elif isinstance(ranks, int) and ranks > size:
            item.add_marker(pytest.mark.skip(reason=f"{ranks} ranks are needed, the job has {size}"))


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say on how many ranks this run is."""
    return f"MPI: {promised_size()} ranks in place, rank 0 runs the tests" if _IN_PLACE else None

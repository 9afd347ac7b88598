"""Parts of a machine that some tests need: absent, a test is skipped with the reason, or fails."""

from __future__ import annotations

import os

import pytest

REQUIRED = frozenset(filter(None, os.environ.get("SSTEP_VERIFY_REQUIRE", "").split(",")))
"""Parts whose absence is a failure."""


def absent(name: str, way_out: str):
    """Skip the test with the reason, or fail it if SSTEP_VERIFY_REQUIRE names what is missing."""
    __tracebackhide__ = True
    if name in REQUIRED:
        pytest.fail(f"{name} is required by SSTEP_VERIFY_REQUIRE but absent: {way_out}", pytrace=False)
    pytest.skip(f"{name} is absent: {way_out}")

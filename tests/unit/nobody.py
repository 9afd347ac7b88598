"""Programs run by a user who may write nothing but what is his own, and has no entry in ``/etc/passwd``."""

from __future__ import annotations

import functools
import subprocess
from typing import Any

import pytest

USER = ("unshare", "-U", "--map-user=54321", "--map-group=54321")
"""Makes the user who runs it somebody else, with neither a name nor the rights of root."""


@functools.cache
def _can_be_another() -> bool:
    try:
        return subprocess.run([*USER, "true"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def as_nobody(command: list[str], **given: Any) -> subprocess.CompletedProcess[Any]:
    """Run a command so, with what it says; a test that needs it is skipped where the system allows none."""
    if not _can_be_another():
        pytest.skip("no user namespaces here (unshare -U)")
    return subprocess.run([*USER, *command], capture_output=True, check=False, **given)

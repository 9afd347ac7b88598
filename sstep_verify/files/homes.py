"""Folders of the user, who may have none: in containers with any user id, under ``env -i``, in services."""

from __future__ import annotations

import os
from pathlib import Path


def user_cache() -> Path | None:
    """``$XDG_CACHE_HOME``, or ``~/.cache``; None where neither is the path of a folder from the root.

    Without ``$HOME`` and an entry of the user in ``/etc/passwd``, ``~`` stands for nothing, and would be
    taken for the name of a folder.
    """
    home = "" if os.environ.get("HOME") == "" else os.path.expanduser("~/.cache")
    for named in (os.environ.get("XDG_CACHE_HOME", ""), home):
        if os.path.isabs(named):
            return Path(named)
    return None

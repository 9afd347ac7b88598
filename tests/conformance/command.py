"""The whole program ``sstep-verify``, in this process."""

from __future__ import annotations

import contextlib
import io
import sys
from dataclasses import replace

from sstep_verify.campaign.pool import spread
from sstep_verify.cli.main import main


def command(*words: str) -> tuple[int, str, str]:
    """Exit code, output and errors of ``sstep-verify WORDS``."""
    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["sstep-verify", *words]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as ended:
        return int(ended.code or 0), out.getvalue(), err.getvalue()
    finally:
        sys.argv = before
    return 0, out.getvalue(), err.getvalue()


def spread_here(kind, units, plan, heard):
    """Units of a campaign; with one process in this one, those of somebody's solver too."""
    return spread(kind, [replace(unit, external=False) for unit in units], plan, heard)

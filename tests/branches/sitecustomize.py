"""Begins to measure in every process that is started with this folder in PYTHONPATH."""

import os

if os.environ.get("SOLVER_BRANCHES"):
    import measured

    measured.begin()

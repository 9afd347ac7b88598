"""Runs of the production solver with a defect planted inside the ranks: in all of them, or in one."""

from __future__ import annotations

import importlib
from contextlib import ExitStack
from dataclasses import replace

from plant import plant

from sstep_verify.adapters.ours import run_on_rank, whole_run
from sstep_verify.errors import RunError
from sstep_verify.problems import IndexStream
from sstep_verify.protocol import RunRequest
from sstep_verify.ranks import LIMIT
from sstep_verify.solver.settings import Options
from sstep_verify.trajectory import Trajectory

Edits = dict[str, list[tuple[str, str]]]
"""Old and new texts, by module."""


def planted_run(
    comm, request: RunRequest, options: Options, everywhere: Edits, own: Edits, guilty: int
) -> Trajectory:
    """The run, with some edits planted on all ranks and some on rank `guilty`; on every rank."""
    with ExitStack() as planted:
        # What is edited later refers to what was edited before.
        for edits in (own if comm.rank == guilty else {}, everywhere):
            for module, texts in edits.items():
                planted.enter_context(plant(importlib.import_module(module), *texts))
        return run_on_rank(comm, request, options)


def run_with_other_stream(comm, request: RunRequest, options: Options, guilty: int) -> Trajectory:
    """The run, on rank `guilty` with coordinates drawn from another seed; on every rank."""
    if comm.rank == guilty:
        own = request.stream
        other = IndexStream(own.kind, own.samples, own.block, own.length, seed=own.seed + 1)
        request = replace(request, stream=other)
    return run_on_rank(comm, request, options)


class PlantedSolver:
    """`DistributedSolver` with a defect.

    Parameters
    ----------
    ranks : int
        Number of ranks (P).
    edits : dict
        What is planted on all ranks; nothing if empty.
    own : dict
        What is planted on rank `guilty` alone.
    """

    def __init__(self, ranks: int, edits: Edits, own: Edits | None = None, guilty: int = -1, **options):
        self._ranks, self._planted = ranks, (edits, own or {}, guilty)
        self._options = Options(**options)
        self.declaration = self._options.declaration(ranks)

    def run(self, request: RunRequest, observe=None) -> Trajectory:
        try:
            return whole_run(self._ranks, planted_run, request, self._options, *self._planted, limit=LIMIT)
        except RunError as error:
            raise error.__cause__ from None  # What the ranks raised.

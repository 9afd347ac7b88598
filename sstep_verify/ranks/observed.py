"""MPI communicators whose collectives a watchdog sees, if what communicates by them says so."""

from __future__ import annotations

from mpi4py import MPI

from sstep_verify.ranks.progress import CURRENT


class ObservedComm(MPI.Intracomm):
    """Another handle of a communicator, with the place where its user notes collectives.

    Attributes
    ----------
    progress : Progress
        Told of every collective that is entered or left; see
        `sstep_verify.production.communicator.MpiCommunicator`.
    """

    progress = CURRENT

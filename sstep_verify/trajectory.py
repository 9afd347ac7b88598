"""Trajectory: what a run leaves behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

GIVEN = "given"
"""`Trajectory.stopped` of a vector that was handed over as it is: nothing was run."""

BELOW_FLOAT64 = ("stagnation", "precision")
"""Why training ended, where float64 cannot show that its tolerance is reached."""

OWN_RULE = ("tolerance", *BELOW_FLOAT64)
"""`Trajectory.stopped` of runs that their solver ended by a rule of its own."""

RELATIVE = "relative value after {} iterations"
"""Claim of a gap over the dual value (K-SVM), or a residual over ||y|| (K-RR), at a recorded iteration."""

AT_MOST, AT_LEAST = " at most", " at least"
"""End the names of claims that are limits of a value, such as ``gap at most``."""

STOPS = ("iterations", "observer", *OWN_RULE)
"""Every reason for which a run ends that made what it was asked for, see `Trajectory.stopped`."""

FILLED = ("length", "start", "s", "recorded iterations", "first a")
"""`Trajectory.filled` of a solver that returns its final a and nothing else."""

RAISED = "raised"
"""`Trajectory.stopped` of a run whose solver raised an error, which is `Trajectory.raised`."""

ALLREDUCE, REDUCE_SCATTER, BROADCAST = "allreduce", "reduce_scatter", "broadcast"
POINT_TO_POINT, BARRIER, OTHER = "point_to_point", "barrier", "other"
TRAFFIC = (ALLREDUCE, REDUCE_SCATTER, BROADCAST, POINT_TO_POINT, BARRIER, OTHER)
"""Kinds of operations by which ranks communicate, in the order of the interposer's numbers."""

COLLECTIVES = (ALLREDUCE, REDUCE_SCATTER, BROADCAST, BARRIER, OTHER)
"""Those that all ranks of a communicator enter together."""

BROADCASTS = "broadcasts"
"""Count, by the solver alone, of what it sends from rank 0 where the ranks' processors differ."""


@dataclass(frozen=True, eq=False)
class Panel:
    """The kernel rows that a solver used in one window, or what it formed of them.

    Parameters
    ----------
    columns : ndarray of int64, shape (c,)
        The window's distinct coordinates.
    entries : ndarray, shape (c, m)
        Row p holds the solver's ``K(a_i, a_j)`` for i = ``columns[p]`` and all j, in its precision; shape
        (c, k) where only some j are exposed.
    among : ndarray of int64, shape (k,), optional
        These j, in the order of the entries; all samples if absent.
    """

    columns: np.ndarray
    entries: np.ndarray
    among: np.ndarray | None = None


@dataclass(frozen=True)
class Claim:
    """A number that a solver reports about its own result.

    Parameters
    ----------
    value : float
        What it says.
    rounding : float
        Error of writing it down, such as 5e-7 for six printed decimals; 0 for a binary number.
    """

    value: float
    rounding: float = 0.0


@dataclass(frozen=True)
class Raised:
    """The error that ended a run.

    Parameters
    ----------
    kind : str
        Name of its type; empty where a command or another program told of it.
    message : str
        First line of what it says.
    frames : tuple of str
        The innermost frames of the solver's own files, the innermost last, as ``file:line in function``.
    said : tuple of str
        The last lines that a program printed.
    """

    kind: str
    message: str
    frames: tuple[str, ...] = ()
    said: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Asked:
    """What a run was asked for, written down by who had it made and not by the solver.

    Parameters
    ----------
    s, start, iterations : int
        As in the request.
    points : tuple of int
        Iterations at which a was to be recorded, ascending; 0 and the last one included.
    initial : ndarray, shape (m,)
        The a0 it was to begin from.
    problem : str
        Digest of the problem.
    features : int
        Features of the problem (n).
    panels : bool
        Whether kernel rows were to be kept.
    variant : str
        Name of the solver's variant that was to make it; the solver under test itself if empty.
    ended : int or None
        Iteration at which the observer ended the run; None if it did not.
    changed : tuple of str
        Names of input arrays that the run changed, and of what all code of the process shares
        (`sstep_verify.runs.SharedState`).
    """

    s: int
    start: int
    iterations: int
    points: tuple[int, ...]
    initial: np.ndarray
    problem: str
    features: int
    panels: bool = False
    variant: str = ""
    ended: int | None = None
    changed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Traffic:
    """Operations of one kind, and what was handed to them, by the rank that had most of each.

    Parameters
    ----------
    calls : int
        How often an operation of the kind was entered; of messages from rank to rank, how many were sent.
    elements : int
        Basic elements handed in: numbers of any size, or opaque bytes; of a reduce-scatter those of the
        whole vector.
    bytes : int
        What these take.
    """

    calls: int = 0
    elements: int = 0
    bytes: int = 0


def most_traffic(ranks: Sequence[Mapping[str, Traffic]]) -> dict[str, Traffic]:
    """Of each kind the most calls, elements and bytes that any rank had."""
    return {
        kind: Traffic(
            max(one[kind].calls for one in ranks),
            max(one[kind].elements for one in ranks),
            max(one[kind].bytes for one in ranks),
        )
        for kind in TRAFFIC
    }


@dataclass(frozen=True)
class Witnessed:
    """What was seen of a run's communication from outside of its solver.

    Parameters
    ----------
    traffic : mapping of str to Traffic
        What the MPI library was asked for, by kind (`TRAFFIC`); empty where nobody looked.
    after_others : int or None
        Reductions before which, since the one before, some collective was entered that is neither a
        reduction nor a broadcast or barrier; None where nobody looked.
    arithmetic_kinds : int
        How many kinds of arithmetic the ranks have, as their processors and libraries decide it; 0 where
        that was not measured.
    """

    traffic: Mapping[str, Traffic] = field(default_factory=dict)
    after_others: int | None = None
    arithmetic_kinds: int = 0


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Hold what one run recorded.

    Parameters
    ----------
    s : int
        Iterations per window.
    start : int
        Position of the stream at which the run began.
    iterations : ndarray of int64, shape (k,)
        Recorded iterations, ascending, counted from the run's beginning; the first is 0.
    alphas : ndarray, shape (k, m)
        The dual vector alpha at those iterations.
    counters : dict
        Counts made by the run: windows, panel columns, collectives, words.
    timers : dict
        Seconds per phase.
    stopped : {"iterations", "observer", "tolerance", "stagnation", "precision", "given", "raised"}
        Why the run ended. ``iterations``: all were made. ``observer``: the observer ended it.
        ``tolerance``: it was reached. ``stagnation``: the precision attains no more. ``precision``: it
        cannot show so small a tolerance. A rule may end a run at the end of any window, with or without
        `claims`. ``given``: nothing was run. ``raised``: the solver raised an error.
    panels : mapping of int to Panel
        Kernel rows used, by the iteration at which their window begins; requested by
        ``RunRequest.expose_panels``.
    claims : mapping of str to Claim
        Numbers that the solver reports about its final alpha. Names are objective (what is minimised),
        primal, dual, gap, residual (2-norm of ``y - M a``) and iterations. Further names are limits of a
        value (`AT_MOST`), and what it measured at recorded iterations (`RELATIVE`).
    weights : ndarray, shape (k, n), optional
        The weights that the solver maintains in addition to alpha, at the recorded iterations. They are
        ``A'(y a)`` for a K-SVM and ``A'a`` for a K-RR, with a linear kernel and if declared.
    fingerprints : mapping of int to tuple of str
        For each recorded iteration, the `problems.problem.fingerprint` of alpha on each rank.
    log : ndarray, shape (H, b), optional
        The value that each step left in the coordinates it drew, in the order of the index stream;
        requested by ``RunRequest.log``. With alpha at the start it gives alpha before every step, also in a
        window.
    rounding : ndarray, shape (k, m), optional
        Largest error of writing down each recorded value, such as 5e-7 for six printed decimals.
    received : ndarray of uint64, shape (P, c), optional
        Digests, from the MPI interposer, of what each rank received in c collectives that give all ranks
        the same numbers. They are 0 where it could not look.
    seen : Witnessed, optional
        Communication that the MPI interposer counted; a solver leaves it empty.
    known : ndarray of bool, shape (m,), optional
        Coordinates whose values were written down; all if absent. The others are 0 in `alphas`, and unknown
        after the start.
    drawn : ndarray of int64, shape (H, b), optional
        Coordinates that the run says it drew, for a solver that does not take them.
    filled : tuple of str
        Items of the check contract, such as length, that an adapter took from the request. The solver
        states none of them, so they are no evidence.
    returned : str
        Type of the numbers that the solver returned, if they were converted for `alphas`; else empty.
    altered : tuple of str
        What the run changed of IEEE arithmetic's default environment, on any rank, in the words of
        `sstep_verify.floating_point`. It is read again by the code that makes the run.
    asked, raised : Asked, Raised, optional
        What the run was asked for, and the error that ended it (`sstep_verify.runs.make_run`); a solver
        leaves both empty.

    Examples
    --------
    >>> import numpy as np
    >>> from sstep_verify import Trajectory
    >>> alphas = np.array([[0.0, 0.0], [0.5, 0.0]])
    >>> run = Trajectory(s=4, start=0, iterations=np.array([0, 4]), alphas=alphas)
    >>> run.final.tolist(), run.length
    ([0.5, 0.0], 4)
    """

    s: int
    start: int
    iterations: np.ndarray
    alphas: np.ndarray
    counters: dict[str, int] = field(default_factory=dict)
    timers: dict[str, float] = field(default_factory=dict)
    stopped: str = "iterations"
    panels: Mapping[int, Panel] = field(default_factory=dict)
    claims: Mapping[str, Claim] = field(default_factory=dict)
    weights: np.ndarray | None = None
    fingerprints: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    log: np.ndarray | None = None
    rounding: np.ndarray | None = None
    received: np.ndarray | None = None
    seen: Witnessed | None = None
    known: np.ndarray | None = None
    drawn: np.ndarray | None = None
    filled: tuple[str, ...] = ()
    returned: str = ""
    asked: Asked | None = None
    altered: tuple[str, ...] = ()
    raised: Raised | None = None

    @property
    def final(self) -> np.ndarray:
        """The dual vector at the end, shape (m,)."""
        return self.alphas[-1]

    @property
    def length(self) -> int:
        """Iterations made; 0 if nothing was recorded, or the last record is no number."""
        last = self.iterations[-1] if len(self.iterations) else 0
        return int(last) if np.isfinite(last) else 0

    def at(self, iteration: int) -> np.ndarray:
        """Return alpha at a recorded iteration, shape (m,).

        Raises
        ------
        KeyError
            If alpha was not recorded there.
        """
        return self.alphas[self._place(iteration)]

    def weights_at(self, iteration: int) -> np.ndarray | None:
        """Return the maintained weights at a recorded iteration; None if they were not recorded."""
        return None if self.weights is None else self.weights[self._place(iteration)]

    def rounding_at(self, iteration: int) -> np.ndarray | None:
        """Largest error of writing down the dual vector at a recorded iteration; None if there is none."""
        return None if self.rounding is None else self.rounding[self._place(iteration)]

    def _place(self, iteration: int) -> int:
        """Place of a recorded iteration among all of them."""
        place = int(np.searchsorted(self.iterations, iteration))
        if place == self.iterations.size or self.iterations[place] != iteration:
            raise KeyError(f"alpha was not recorded at iteration {iteration}")
        return place

    def windows(self) -> list[tuple[int, int]]:
        """Pairs (begin, end) of consecutive recorded iterations that span exactly one window."""
        pairs = zip(self.iterations[:-1].tolist(), self.iterations[1:].tolist(), strict=True)
        return [
            (begin, end)
            for begin, end in pairs
            if begin % self.s == 0
            and (end - begin == self.s or (end - begin < self.s and end == self.length))
        ]

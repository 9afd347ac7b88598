"""The statement as a record: what is said of a solver, and which parts of it stand on recorded runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sstep_verify.campaign.profile import Selection
from sstep_verify.declaration import Declaration
from sstep_verify.errors import InputError
from sstep_verify.solvers.adapters.foreign import is_foreign
from sstep_verify.solvers.adapters.program import ProgramFile

SCHEMA: Literal[2] = 2

Outcome = Literal["passed", "failed", "vacuous", "inconclusive", "not applicable"]


@dataclass(frozen=True)
class Judged:
    """The solver, as its author describes it.

    Parameters
    ----------
    name : str
        ``module:object``, or the name of a program.
    program : ProgramFile or None
        How the program was started, what it leaves, how it draws; None of a Python object.
    declaration : Declaration
        What it says it is, on one rank: the bounds are for exactly this.

    Raises
    ------
    InputError
        If it is declared on several ranks, or is neither a program nor a name ``module:object``.
    """

    name: str
    program: ProgramFile | None
    declaration: Declaration

    def __post_init__(self) -> None:
        if self.program is None and not is_foreign(self.name):
            raise InputError(f"name {self.name!r:.60} is no module:object, and no program is described")
        if self.declaration.ranks != 1:
            raise InputError(
                f"declaration.ranks is {self.declaration.ranks}, but it stands for one rank here"
            )


@dataclass(frozen=True)
class Chosen:
    """The problems that were asked for, in the words of ``sstep-verify check``.

    Parameters
    ----------
    profile : str
        Name of the profile.
    selection : Selection
        What it was cut to.
    only : str
        Part of the ids of the cases; all if empty.
    """

    profile: str
    selection: Selection
    only: str = ""


@dataclass(frozen=True)
class Extreme:
    """The largest of some numbers, and where it was met.

    Parameters
    ----------
    value : float or None
        Rounded up to two digits; None if it is infinite.
    check, case : str
        Check id and case.
    s : int
        Iterations per window.
    """

    value: float | None
    check: str
    case: str
    s: int


@dataclass(frozen=True)
class SentenceSaid:
    """What the verdicts say of one sentence of the specification.

    Parameters
    ----------
    number : str
        Its number.
    outcome : str
        failed: a FAIL names it among those that it may break. inconclusive: a check that decides it could
        not. passed: a check that decides it passed, and saw the quantities that it prescribes. vacuous: it
        was judged, and nothing showed it. not applicable: no check that decides it judged such a problem.
    checks : tuple of str
        The checks whose verdicts say so.
    """

    number: str
    outcome: Outcome
    checks: tuple[str, ...]


@dataclass(frozen=True)
class ProblemSaid:
    """One problem on some number of ranks.

    Parameters
    ----------
    id : str
        Its id in the profile.
    status : str
        PASS, FAIL, VACUOUS or INCONCLUSIVE.
    right_at : tuple of int
        The s at which it is right.
    s : tuple of int
        Iterations per window that were run.
    samples, features : int
        Shape of the data (m, n).
    runs : str
        Folder of the recorded runs.
    sha256 : str
        Digest of that folder's list of digests.
    """

    id: str
    status: str
    right_at: tuple[int, ...]
    s: tuple[int, ...]
    samples: int
    features: int
    runs: str
    sha256: str


@dataclass(frozen=True)
class VerdictSaid:
    """One verdict.

    Parameters
    ----------
    check, case : str
        Check id and case.
    s : int
        Iterations per window.
    status : str
        PASS, FAIL, VACUOUS or INCONCLUSIVE.
    ratio : float or None
        Measured / bound, rounded up to two digits; None if it is infinite or undefined.
    detection_limit : float or None
        Smallest relative error in the kernel correction that would have been seen, rounded up likewise;
        None if none would.
    planned, executed : int
        Comparisons.
    sentences : tuple of str
        Sentences that it is about; of a FAIL those that it may break.
    """

    check: str
    case: str
    s: int
    status: str
    ratio: float | None
    detection_limit: float | None
    planned: int
    executed: int
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Statement:
    """What a solver was found to be.

    Parameters
    ----------
    schema : int
        Version of the form.
    specification : str
        Version of the specification.
    outcome : {"passed", "failed", "inconclusive"}
        Of the whole, as the exit codes 0, 1 and 3 of ``check``.
    solver : Judged
        What was judged.
    asked : Chosen
        On which problems.
    worst_ratio : Extreme or None
        Largest measured / bound.
    worst_detection_limit : Extreme or None
        Largest of the relative errors in the kernel correction that each run would have shown.
    sentences : tuple of SentenceSaid
        All sentences, in order.
    problems : tuple of ProblemSaid
        All problems.
    verdicts : tuple of VerdictSaid
        All verdicts.
    shortfalls : tuple of str
        What was compared too seldom, or was vacuous and is not tolerated.
    data : dict of str to str
        SHA-256 of each data set.
    environment : dict
        Versions, machine, command and date, as `sstep_verify.provenance.collect` has them.
    digests : dict of str to str
        SHA-256 of every other field.
    """

    schema: Literal[2]
    specification: str
    outcome: Literal["passed", "failed", "inconclusive"]
    solver: Judged
    asked: Chosen
    worst_ratio: Extreme | None
    worst_detection_limit: Extreme | None
    sentences: tuple[SentenceSaid, ...]
    problems: tuple[ProblemSaid, ...]
    verdicts: tuple[VerdictSaid, ...]
    shortfalls: tuple[str, ...]
    data: dict[str, str]
    environment: dict[str, object]
    digests: dict[str, str]

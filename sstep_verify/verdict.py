"""Verdict: the outcome of one check on one case, with all it takes to judge it again."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from sstep_verify.errors import storable
from sstep_verify.files.records import decode, encode


class Status(StrEnum):
    """Name the outcome of a check; a campaign tolerates no FAIL or INCONCLUSIVE, and VACUOUS where named.

    Examples
    --------
    >>> from sstep_verify import Status
    >>> Status("PASS") is Status.PASS, Status.FAIL == "FAIL"
    (True, True)
    """

    PASS = "PASS"
    FAIL = "FAIL"
    VACUOUS = "VACUOUS"
    INCONCLUSIVE = "INCONCLUSIVE"


ESTIMATED = "checks/short/runs"
"""Origin of the bound on two runs that both leave the exact trajectory, which is an estimate."""

DETECTION_FACTOR = 2.0
"""Effect over bound above which an error is certain to show, by the triangle inequality.

A run with the error is within the bound of its own exact end, and that is more than twice the bound away
from the right one.
"""

PLACE = "place"
"""Key of a FAIL's evidence: iterations between which it names a step that is wrong; none of a whole run."""

WORST_STEP = "worst_step"
"""Key of a FAIL's evidence: the step, counted from 1, that its measured value and bound are of."""

FIRST_STEP = "first_wrong_step"
"""Key of a FAIL's evidence: measured value and bound of the first wrong step, where that is another one."""

BY_INCREMENT = "steps_measured_by_increment"
"""Key of a FAIL's evidence: which of the first wrong and the worst step are measured by the norm of their
increment, which is longer than that of any correct step; no residual of such a step is compared."""

MESSAGES_ONLY = "messages"
"""Units of message-count where the declared communication implies no number of words to compare."""

COUNTED_WINDOWS = "windows_compared"
"""Key of the evidence of message-count: the windows whose communication is compared."""

LOG = "log"
"""Item of the place where the log leads to another alpha than the recorded one."""

MAINTAINED_WEIGHTS = "the maintained weights"
"""Item of the place where the weights that a window is made from are not finite, or are missing."""

SEVERITY = (Status.FAIL, Status.INCONCLUSIVE, Status.VACUOUS, Status.PASS)

UNSETTLED = SEVERITY[:2]
"""Outcomes that stop a campaign from being green."""


class Why(StrEnum):
    """Why nothing is decided, or why a quantity was not tested."""

    NO_STEPS = "no_steps"
    """The run makes no iteration, so there is nothing to judge."""
    NOT_APPLICABLE = "not_applicable"
    """The check judges no run of what is declared."""
    TOO_LARGE = "too_large"
    """A window holds more kernel entries than the limit of the case."""
    NO_BOUND = "no_bound"
    """No finite bound is derived: a system is too ill-conditioned, or a sum has too many terms."""
    OVERFLOW = "overflow"
    """A number may lie beyond the largest of the declared precision."""
    OUT_OF_RANGE = "out_of_range"
    """A number of the problem lies beyond the range of the precision in which the solver holds it."""
    NO_EFFECT = "no_effect"
    """It is not certain that leaving the quantity out changes anything that was compared."""
    WITHIN_BOUND = "effect_within_bound"
    """What leaving the quantity out is certain to change is at most twice the bound."""
    NONE_DECIDED = "none_decided"
    """None of the comparisons was decided."""
    TOO_WIDE = "enclosure_too_wide"
    """The enclosure of what was measured holds the bound at every precision tried."""
    NOT_REPLAYED = "not_replayed"
    """A window is beyond the bound of the float64 screen and was not replayed exactly."""
    ENDS_APART = "ends_apart"
    """A window lies between the results of two runs, which may not begin alike."""
    NOT_RECORDED = "not_recorded"
    """The run left nothing of what the check compares."""
    NOT_KEPT = "not_kept"
    """The runs that were kept hold nothing of what the check compares."""
    PREREQUISITE = "prerequisite_failed"
    """Another check failed that this one rests on."""
    DRAWS_DIFFER = "draws_differ"
    """The runs drew other coordinates than one another."""
    ALTERED = "arithmetic_altered"
    """The run, or the judgement, was made in another arithmetic than that of IEEE 754."""
    UNKNOWN_CLAIM = "unknown_claim"
    """The run reports a value of a name that the check does not know."""
    FILLED_IN = "filled_in"
    """What is compared was taken from the request, not from the solver."""
    WRONG_BY_ITSELF = "wrong_by_itself"
    """Runs are compared with each other, and the check of the steps of one failed."""
    ON_TRUST = "on_trust"
    """What the run recorded was taken as given, and the check that judges it did not pass."""
    OWN_DRAWS = "own_draws"
    """The steps are compared with the draws that the run itself logged."""
    NEEDS_BALLS = "needs_ball_oracle"
    """The chosen oracle cannot certify it."""


class NoteKind(StrEnum):
    """What a reader should know about a verdict, whatever its status."""

    ALTERED = "arithmetic_altered"
    """Detail: what the run left altered in its process."""
    ROUNDED = "digits_rounded"
    """Values were rounded when they were written, and that is most of the bound. Detail: the largest
    rounding, for how many values, of how many."""
    UNPROVED = "unproved"
    """Declared, and nothing shows it. Detail: names."""
    PRINTED = "printed_entries"
    """Only a part of alpha was printed. Detail: how many entries, of how many."""
    MOVED = "moved_into_box"
    """The final vector was moved into the box before its gap was enclosed."""
    OWN_WORD = "own_word"
    """The solver counted its messages itself; nothing else saw them."""
    RELATIVE = "relative"
    """Of a vector that was handed over. Detail: what was measured over the optimal value or the norm of the
    optimum, at most, and the tolerance."""
    FILLED = "filled_in"
    """Items of the request that the solver does not state. Detail: their names."""
    SEE = "see"
    """What a relation between runs rests on failed. Detail: the check, and s of the run."""
    NAMED_BY_STEPS = "named_by_steps"
    """The check of the steps names the defect, and the requirement is that one. Detail: the check."""
    DECIDES = "decides"
    """No check of the steps decided on the runs that are compared with each other."""
    THESE_RUNS = "these_runs"
    """The bound is what steps on the values of the runs themselves may round."""
    LOG_CONTRADICTS = "log_contradicts"
    """The run's log leads to another alpha than it recorded. Detail: the check that found it."""
    UNOBSERVED = "windows_unobserved"
    """Steps are correct, and nothing distinguished windows of s from single steps."""
    OTHER_RUN = "other_run"
    """The run made again for the float64 screen had another alpha. Detail: the first such iteration."""
    CONTINUED = "continued"
    """A run that continues the plain one is judged as well. Detail: the iteration after which, how many of
    its steps or windows, and which of both."""
    SCREENED = "screened"
    """Windows were compared with the judge's own in float64 alone. Detail: how many."""
    EVALUATED = "evaluated"
    """The exact values are evaluated at two precisions, not enclosed."""
    CONDITION = "condition"
    """The verdict is that of several runs on problems of different condition. Detail: the condition of the
    problem that the numbers are of."""


class HintKind(StrEnum):
    """What to look at after a FAIL: a fact about the run that no defect of the catalogue expresses."""

    DECLARE_WEIGHTS = "declare_weights"
    """A linear kernel and no declared weights: a maintained w drifts from alpha by rounding."""
    FACTORISATION = "factorisation"
    """Steps are off by no more than another factorisation may be. Detail: the one to declare."""
    LOG_OF_INCREMENTS = "log_of_increments"
    """The log holds increments where new values belong."""
    LOG_NOT_WRITTEN = "log_not_written"
    """Entries of the log are NaN. Detail: how many, of how many, the first step."""
    LOG_IN_FLOAT64 = "log_in_float64"
    """The log and alpha agree in float64 only. Detail: the type of alpha."""
    LOG_IN_FLOAT32 = "log_in_float32"
    """Every logged value is a number of float32, which is not declared, and that explains the FAIL. Detail:
    steps, if every step is correct by the bounds of float32; alpha, if the recorded alpha so rounded is the
    one that the log leads to."""
    PARTS_IN_FLOAT32 = "parts_in_float32"
    """No known defect was found, most steps fail, and each is within the bound of float32, which is not
    declared. Detail: the steps that fail, the steps that were judged."""
    NOT_IN_FLOAT32 = "not_in_float32"
    """Float32 is declared, and logged values are no numbers of float32. Detail: how many, of how many."""
    NOTHING_MOVED = "nothing_moved"
    """The run ends where it starts, as does every alpha that it recorded, so known defects do not differ.
    Detail: the task."""
    WINDOWS_CORRECT = "windows_correct"
    """No known defect reproduces the steps that fail, and the windows that hold them are correct."""
    STOPPED = "stopped"
    """Nothing moves in the rest of a run, where all that is faulty is, so defects of a part of it do not
    differ. Detail: the first iteration of that rest."""
    UNDRAWN_MOVED = "undrawn_moved"
    """A coordinate changed that no step drew."""
    STARTED_ELSEWHERE = "started_elsewhere"
    """The run may have started from another alpha than the one asked for."""
    STARTED_AT_ZERO = "started_at_zero"
    """The run is correct if it started from 0, and not from the alpha asked for."""
    DEPENDS_ON_RECORDING = "depends_on_recording"
    """The run made again with every window's end recorded is correct, and this one is not."""
    AT_LIMITS = "at_limits"
    """Every wrong value lies on a limit of the box, so one term of the step decides its side."""
    SIGNED_BY_LABELS = "signed_by_labels"
    """Values leave the box, and all lie in it when multiplied by their labels."""
    PART_OF_RUN = "part_of_run"
    """The defects would change correct steps too: they are made in a part of the run."""
    LAST_WINDOW = "last_window"
    """Steps of the last window are faulty, which is a shorter one, and no others. Detail: its steps, s."""
    READING = "reading"
    """The vector is the optimum if read otherwise. Detail: a `ReadingKind`, how near it then is (relative
    gap or error), the signs that it is written with or empty, and what the kind says of it."""
    CONVENTION = "convention"
    """The runs are correct under another convention. Detail: its name."""
    DRAWS = "draws"
    """The program may draw other coordinates itself. Detail: its declared draws; absent if none are."""
    VALUE_OF_EARLIER = "value_of_earlier_alpha"
    """The wrong values that are reported are those of another recorded alpha. Detail: its iteration."""
    SCALED_RUNS = "scaled_runs"
    """Runs of scaled problems differ too. Detail: the relations."""
    SMALL_PROBLEMS = "small_problems_only"
    """Defects are looked for on small problems only. Detail: the largest m."""


class ReadingKind(StrEnum):
    """Ways to read a vector: as the optimum written otherwise, or as that of another problem."""

    SIGNED = "signed_by_labels"
    """The signs of the labels stand on the entries. Detail: y_i a_i or -y_i a_i."""
    SCALED = "scaled"
    """Detail: the factor, and what it is by the numbers of the problem, if anything."""
    GROUPED = "grouped_by_class"
    """Samples are grouped by class. Detail: the first label, and 1 if that appears first, else 0."""
    SHIFTED = "shifted_by_one_place"
    """Detail: late or early."""
    REORDERED = "in_another_order"
    """The samples are in another order than in the data."""
    NO_MEAN = "lambda_for_lambda_m"
    """K + lambda I instead of K + lambda m I. Detail: d, or a if it is in our scale."""
    M_AS_ONE = "m_as_one"
    """1 instead of m on the diagonal."""
    NO_UPPER = "no_upper_limit"
    """Detail: C."""
    OTHER_LOSS = "other_loss"
    """Detail: the task."""
    OTHER_PENALTY = "other_penalty"
    """Detail: C or lambda, what stands for it, its value, the value asked for."""
    LABELS_INSIDE = "labels_inside_kernel"
    """Detail: name of the defect."""
    LABELS_LEFT_OUT = "labels_left_out"
    """K instead of Q."""
    OTHER_KERNEL = "other_kernel"
    """Detail: the parameter, what stands for it or empty, its value, the value asked for; or n alone, where
    inner products are divided by the number of features; or linear alone, where that kernel is taken."""
    REGULARISED_BIAS = "regularised_bias"
    """A constant feature 1."""
    FREE_BIAS = "free_bias"
    """A bias that is not regularised."""
    C_BY_CLASS = "C_by_class"
    """A C for each class. Detail: at least, where only the largest entries tell it, or empty; those of
    label 1 and -1; free, if with a bias that is not regularised."""
    C_BY_SAMPLE = "C_by_sample"
    """Weighted samples: a C for each. Detail: free, if with a bias that is not regularised."""
    FEATURE_LOST = "feature_lost"
    """Detail: first or last, half or feature."""


@dataclass(frozen=True)
class Place:
    """Where in a run a verdict points, and both values there.

    That is where the comparison that decided lies; a failed step-replay points to the first wrong step.

    Parameters
    ----------
    begin, end : int
        Iterations before and after which alpha was compared: those of a step, a window, or a whole run.
        Both 0 for what has no place in a run.
    coordinate : int, optional
        Coordinate of alpha, or row of the kernel.
    column : int, optional
        Column of the kernel entry.
    found, expected : float, optional
        Value of the solver there, and what it was compared with, where each is one number: the exact value,
        rounded to float64, where a check compares with exact ones.
    item : str
        Name of what was compared where a check compares several things: a claim, a count, an item of the
        contract, a rank.
    run : str
        Key of the run; empty for the plain run.
    """

    begin: int = 0
    end: int = 0
    coordinate: int | None = None
    column: int | None = None
    found: float | None = None
    expected: float | None = None
    item: str = ""
    run: str = ""


@dataclass(frozen=True)
class Defect:
    """A defect of the catalogue, or a pair known in public, that reproduces what is wrong within its bound.

    Parameters
    ----------
    names : tuple of str
        Its name; both names of a pair.
    factor : float, optional
        The factor on the quantity, where one factor explains every wrong step.
    requirements : tuple of str
        Numbers of the requirements that it violates, such as ``S-3.5``.
    shared : bool
        Whether something else, that is not listed, ends there as well.
    part : tuple of int, optional
        How many wrong steps it reproduces, of how many tried, where it does not reproduce all.
    symbol : str
        The factor in symbols of the problem, such as ``1/lambda^2``; empty where none is known.
    """

    names: tuple[str, ...]
    factor: float | None = None
    requirements: tuple[str, ...] = ()
    shared: bool = False
    part: tuple[int, int] | None = None
    symbol: str = ""


@dataclass(frozen=True)
class Coverage:
    """How much of a run was looked at.

    Parameters
    ----------
    unit : str
        What is counted: step, window, run, value, row, claim, count, rank.
    judged, of : int
        How many were judged, of how many that were made.
    flagged, replayed : int
        Windows beyond the bound of the float64 screen, which decides nothing; those of them replayed.
    """

    unit: str
    judged: int
    of: int
    flagged: int = 0
    replayed: int = 0


@dataclass(frozen=True)
class Violation:
    """One item of its request that a run broke.

    Parameters
    ----------
    run : str
        Key of the run.
    item : str
        Name of the item, see `sstep_verify.checks.contract.ITEMS`.
    found, asked : str
        What the run has, and what was asked for.
    detail : str
        Where, such as a coordinate or the name of an array.
    """

    run: str
    item: str
    found: str
    asked: str = ""
    detail: str = ""


@dataclass(frozen=True)
class RunError:
    """An error that a solver raised, or a program that ended wrongly.

    Parameters
    ----------
    run : str
        Key of the run.
    kind, message : str
        Type of the error and its message.
    frames : tuple of str
        The last frames, the innermost last, as ``file:line in function``.
    said : tuple of str
        The last lines that a program printed.
    quoted : bool
        Whether the message is ours, on what the solver left, and not an error that it raised.
    """

    run: str
    kind: str
    message: str
    quoted: bool = False
    frames: tuple[str, ...] = ()
    said: tuple[str, ...] = ()


@dataclass(frozen=True)
class Note:
    """A fact about a verdict, with its details."""

    kind: NoteKind
    detail: tuple[str | float, ...] = ()


@dataclass(frozen=True)
class Hint:
    """What to look at after a FAIL, with its details."""

    kind: HintKind
    detail: tuple[str | float, ...] = ()


@dataclass(frozen=True)
class Sensitivity:
    """Say how well a check tested one quantity of a step.

    Parameters
    ----------
    name : str
        Quantity of a step (`sstep_verify.quantities`), or the name of the defect that the check injects.
    status : Status
        PASS if at least one comparison would have detected that the quantity is left out, else VACUOUS.
    detection_limit : float
        Relative error of the quantity, of either sign, that was certain to show. For steps every larger
        error shows too, because its effect is at least twice the bound (`DETECTION_FACTOR`). For windows
        only this error was tried, with both signs. Infinite if no error was certain to show, or if only
        leaving the quantity out was tried. Infinite also for a defect that the check injects, which has one
        size.
    planned : int
        Comparisons that were to examine the quantity.
    decided : int
        Those of them that ended in PASS or FAIL.
    seen : int
        Those that would have detected that it is left out: its exact effect exceeds twice the bound. For a
        defect that the check injects, those that are known to show it.
    why : Why, optional
        Why the quantity was not tested; absent if it was.
    largest : float
        Largest effect over the bound that leaving it out was certain to have in a decided comparison.

    Examples
    --------
    >>> from sstep_verify import Hinge, IndexStream, LinearKernel, Problem, ReferenceSolver, judge
    >>> data = [[1.0, 0.5], [0.5, 1.0], [1.5, 0.0], [0.0, 2.0]]
    >>> problem = Problem("small", data, [1, -1, 1, -1], LinearKernel(), Hinge(C=1.0))
    >>> stream = IndexStream("uniform", samples=4, block=1, length=20, seed=0)
    >>> verdict = judge(ReferenceSolver(), problem, stream, s=4)[-1]
    >>> correction = next(term for term in verdict.terms if term.name == "kernel-correction")
    >>> print(correction.status, correction.detection_limit < 1e-12)
    PASS True
    """

    name: str
    status: Status
    detection_limit: float
    planned: int
    decided: int
    seen: int
    why: Why | None = None
    largest: float = 0.0


@dataclass(frozen=True)
class Verdict:
    """Record the outcome of one check on one case.

    Parameters
    ----------
    check : str
        Check id, such as ``window-replay``.
    case : str
        Id of the case in the campaign.
    problem : str
        Label of the problem.
    s, block : int
        Iterations per window and block size of the run that was judged.
    status : Status
        The outcome.
    ratio : float
        measured / bound of the comparison that decides the status; above 1 only for a FAIL.
    measured, bound : float
        Both values of that comparison, in `units`.
    units : str
        Unit of measured and bound.
    planned, executed : int
        Comparisons that are possible in the run, and those that were made.
    terms : tuple of Sensitivity
        One record for each quantity of a step.
    replay : str
        Command that makes this verdict again.
    evidence : dict
        Further values for the report.
    bound_origin : str
        Module that derives the bound, such as ``bounds/window/svm``; empty for an exact comparison.
        ``checks/short/runs`` is an estimate, for two runs that both leave the exact trajectory.
    why : Why, optional
        Why nothing is decided; absent for PASS and FAIL.
    place : Place, optional
        Where it points: the first faulty step of a failed log, else what decided it.
    defects : tuple of Defect
        Known defects that reproduce a FAIL within its bound; empty if none does.
    diagnosed : bool
        Whether known defects were tried.
    requirement : str
        Number of the one requirement that a FAIL violates; empty if the defects violate different ones.
    coverage : Coverage, optional
        How much was examined.
    violations : tuple of Violation
        Items of the contract that runs broke.
    raised : tuple of RunError
        Errors that the solver raised.
    notes : tuple of Note
        Facts about the verdict, whatever its status.
    hints : tuple of Hint
        What to inspect after a FAIL.

    Examples
    --------
    >>> from sstep_verify import Hinge, IndexStream, LinearKernel, Problem, ReferenceSolver, judge
    >>> data = [[1.0, 0.5], [0.5, 1.0], [1.5, 0.0], [0.0, 2.0]]
    >>> problem = Problem("small", data, [1, -1, 1, -1], LinearKernel(), Hinge(C=1.0))
    >>> stream = IndexStream("uniform", samples=4, block=1, length=20, seed=0)
    >>> verdict = judge(ReferenceSolver(), problem, stream, s=4)[-1]
    >>> verdict.coverage
    Coverage(unit='step', judged=20, of=20, flagged=0, replayed=0)
    """

    check: str
    case: str
    problem: str
    s: int
    block: int
    status: Status
    ratio: float
    measured: float
    bound: float
    units: str
    planned: int
    executed: int
    terms: tuple[Sensitivity, ...] = ()
    replay: str = ""
    evidence: dict[str, object] = field(default_factory=dict)
    bound_origin: str = ""
    why: Why | None = None
    place: Place | None = None
    defects: tuple[Defect, ...] = ()
    diagnosed: bool = False
    requirement: str = ""
    coverage: Coverage | None = None
    violations: tuple[Violation, ...] = ()
    raised: tuple[RunError, ...] = ()
    notes: tuple[Note, ...] = ()
    hints: tuple[Hint, ...] = ()

    @property
    def reason(self) -> str:
        """The record in words; no part of it, so that it can never say something else."""
        # Detection limits are no part of the reason. report/verdicts.py (`visibility`, `write_junit`),
        # report/tables.py, report/templates/index.html and cli/verdicts.py print them.
        from sstep_verify.report.words import reason_of  # The words need these records.

        return reason_of(self)

    @property
    def requirements(self) -> tuple[str, ...]:
        """Numbers that a FAIL may violate: its requirement, else those of its defects; empty if none is."""
        several = dict.fromkeys(number for one in self.defects for number in one.requirements)
        return (self.requirement,) if self.requirement else tuple(several)

    def as_dict(self) -> dict:
        """Return plain values for JSON, with the reason; infinite or undefined numbers become None."""
        values = decode(encode(self, lambda value: value.tolist()), "verdict")
        return {**values, "reason": storable(self.reason)}


def worst(statuses) -> Status:
    """The most severe of several outcomes; VACUOUS if there is none."""
    present = set(statuses)
    return next((status for status in SEVERITY if status in present), Status.VACUOUS)

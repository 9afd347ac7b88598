"""Part of a results document on the labelled corpus: what was said of every solver, with its label."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

Found = Literal["PASS", "FAIL", "open", "error"]
"""Of a solver: every case settled without FAIL; a verdict FAIL; a case inconclusive or vacuous; its
campaign ended with an error, or did not end."""

Opinion = Literal["refuses", "accepts", "not applicable"]
"""Of a rival on a run; of several runs the first that it says of one."""


@dataclass(frozen=True)
class Judged:
    """One solver of the corpus: its label, and what its campaign says of it.

    `kind` is python, program, or production, and the label that of `corpus.labelled.Labelled`. Checks in
    `failed` have a verdict FAIL, those in `judged` PASS or FAIL. `first` is check and s that the reason of
    its first failed case names, with its `sentences`, the most specific first: of a killed mistake
    `class_right` says whether the first of these is one of the label's, `place_right` whether it acts where
    the reason says. `reason` stands where it was not passed. `cases` are those judged until the first FAIL,
    all if there is none; `seconds` are of all, those `to_kill` until that was known, 0 without one. A rival
    refuses it if it does on at least one run. `again` is the command that judges it again.
    """

    id: str
    kind: str
    right: bool
    found: Found
    breaks: tuple[str, ...] = ()
    acts: str = ""
    where: tuple[str, ...] = ()
    equivalent: str = ""
    failed: tuple[str, ...] = ()
    judged: tuple[str, ...] = ()
    first: str = ""
    sentences: tuple[str, ...] = ()
    class_right: bool = False
    place_right: bool = False
    reason: str = ""
    cases: int = 0
    seconds: float = 0.0
    seconds_to_kill: float = 0.0
    rivals: dict[str, Opinion] = field(default_factory=dict)
    again: str = ""

    @property
    def mistaken(self) -> bool:
        """Whether it has a mistake that shows: wrong, and not numerically equivalent."""
        return not self.right and not self.equivalent

    @property
    def label(self) -> str:
        """Its label in a word."""
        return "right" if self.right else "equivalent" if self.equivalent else "wrong"

    @property
    def killed(self) -> bool:
        """Whether a verdict says FAIL."""
        return self.found == "FAIL"


@dataclass(frozen=True)
class Confusion:
    """Counts of a judge: mistakes flagged and missed, right solvers flagged and passed."""

    true_positive: int
    false_negative: int
    false_positive: int
    true_negative: int

    @property
    def words(self) -> tuple[str, str]:
        """Faulty solvers detected and correct ones rejected, each of how many."""
        wrong, right = self.true_positive + self.false_negative, self.false_positive + self.true_negative
        return f"{self.true_positive} of {wrong}", f"{self.false_positive} of {right}"

    @property
    def f1(self) -> float:
        """2 TP / (2 TP + FP + FN); 0 where there is nothing to find."""
        wrong = self.false_positive + self.false_negative
        return 2 * self.true_positive / max(2 * self.true_positive + wrong, 1)


@dataclass(frozen=True)
class CorpusDocument:
    """All solvers of the corpus that were judged."""

    solvers: tuple[Judged, ...]

    @property
    def confusion(self) -> Confusion:
        """Ours: an error or an open case is no FAIL, and no PASS."""
        mistakes, right = self.mistakes, self.correct
        flagged = sum(one.killed for one in mistakes)
        passed = sum(one.found == "PASS" for one in right)
        return Confusion(flagged, len(mistakes) - flagged, len(right) - passed, passed)

    @property
    def strict(self) -> Confusion:
        """The same where a flagged mistake counts only with its class and its place right."""
        plain = self.confusion
        exact = sum(one.killed and one.class_right and one.place_right for one in self.mistakes)
        return Confusion(exact, len(self.mistakes) - exact, plain.false_positive, plain.true_negative)

    @property
    def mistakes(self) -> tuple[Judged, ...]:
        """Those with a mistake that shows."""
        return tuple(one for one in self.solvers if one.mistaken)

    @property
    def correct(self) -> tuple[Judged, ...]:
        """Right ones, and those numerically equivalent to one."""
        return tuple(one for one in self.solvers if not one.mistaken)

    @property
    def broken(self) -> tuple[str, ...]:
        """Faulty solvers that were not detected and correct ones that did not pass, a line each."""
        missed = (one for one in self.mistakes if not one.killed)
        refused = (one for one in self.correct if one.found != "PASS")
        return (
            *(f"faulty solver not detected ({one.found}): {one.id}" for one in missed),
            *(f"correct solver not passed ({one.found}): {one.id}" for one in refused),
        )

    @property
    def sentences(self) -> list[str]:
        """How many faulty solvers were detected, and correct ones rejected."""
        detected, rejected = self.confusion.words
        return [f"{detected} faulty solvers detected, {rejected} correct solvers rejected"]

    @property
    def kills(self) -> dict[str, tuple[int, int, int]]:
        """By check: mistakes killed, those that no other check kills, mistakes that it judged."""
        killed = Counter(check for one in self.mistakes for check in one.failed)
        alone = Counter(one.failed[0] for one in self.mistakes if len(one.failed) == 1)
        judged = Counter(check for one in self.mistakes for check in one.judged)
        return {check: (killed[check], alone[check], judged[check]) for check in sorted(judged)}

    @property
    def rivals(self) -> dict[str, Confusion]:
        """Every rival on the same runs; solvers of which it could say nothing are not counted."""
        names = dict.fromkeys(name for one in self.solvers for name in one.rivals)
        counts = {
            name: Counter((one.mistaken, one.rivals.get(name)) for one in self.solvers) for name in names
        }
        return {
            name: Confusion(
                *(count[mistaken, said] for mistaken in (True, False) for said in ("refuses", "accepts"))
            )
            for name, count in counts.items()
        }

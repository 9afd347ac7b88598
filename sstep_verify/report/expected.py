"""Failures that a list names as expected: what a reader sees of them is neither FAIL nor PASS."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sstep_verify.report.case import Case
from sstep_verify.report.results import Results
from sstep_verify.verdict import SEVERITY, UNSETTLED, Status

EXPECTED = "EXPECTED FAILURE"
"""What is shown instead of the status of a failure that is expected."""


@dataclass(frozen=True)
class Expected:
    """The expected failures of a campaign: the reason of each, by case and kind (``CHECK: STATUS``)."""

    reasons: dict[tuple[str, str], str]

    @classmethod
    def of(cls, results: Results) -> Expected:
        """Those that the campaign of some results was given."""
        listed: Any = results.campaign.parameters.get("expected_failures") or []
        return cls({(one["id"], one["kind"]): one["reason"] for one in listed})

    def reason(self, verdict: dict) -> str | None:
        """Why a verdict is expected; None if it is not."""
        return self.reasons.get((verdict["case"], f"{verdict['check']}: {verdict['status']}"))

    def status(self, verdict: dict) -> str:
        """The status that is shown of a verdict."""
        return str(verdict["status"]) if self.reason(verdict) is None else EXPECTED

    def unforeseen(self, verdicts: Iterable[dict]) -> list[str]:
        """Check and s of those that failed or stayed open unexpectedly, where others were expected to."""
        open_ = [one for one in verdicts if one["status"] in UNSETTLED]
        rest = [one for one in open_ if self.reason(one) is None]
        return [f"{one['check']}, s = {one['s']}" for one in rest] if len(rest) < len(open_) else []

    def together(self, verdicts: Iterable[dict]) -> str:
        """The status that is shown of several: that of the worst of those that are not expected to fail."""
        found = {self.status(one) for one in verdicts}
        for status in (*UNSETTLED, EXPECTED, *SEVERITY):
            if status in found:
                return str(status)
        return str(Status.VACUOUS)

    def status_of_case(self, case: Case, verdicts: Iterable[dict]) -> str:
        """The status that is shown of a case with its verdicts."""
        together = self.together(verdicts)
        return together if case.status in UNSETTLED and together == EXPECTED else case.status

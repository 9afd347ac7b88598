"""An outcome, and a folder in which an interrupted campaign keeps such, for tests of what is read back."""

from __future__ import annotations

import math

from sstep_verify.campaign.artefact.files import NEEDED, write_digests
from sstep_verify.campaign.partial import Partial
from sstep_verify.campaign.verdicts.execute import CaseOutcome
from sstep_verify.report import case as report
from sstep_verify.report.results import TooFew
from sstep_verify.verdict import Sensitivity, Status, Verdict, Why

DATA = {"first": "aa", "second": "bb"}
COMMON = {"version of sstep-verify": {"version": "1"}}


def outcome(key: str, replay: str = "sstep-verify run") -> CaseOutcome:
    case = report.Case(
        key, "label", "data", "kernel", "loss", "krr", 3, 2, 1, Status.INCONCLUSIVE, (1, 4), "why",
        {"lambda": 0.1}, {"list": [1, {"deep": None}], "digits": 1 / 3},
        (report.Run(4, 9, "cap reached", 0.25, 1e-300, "error", "production"),),
        (report.Series("drift", 4, (1, 2), (0.1, math.inf)),), (report.Line("target", 1e-8),),
    )  # fmt: skip
    terms = (Sensitivity("overlap", Status.VACUOUS, math.inf, 2, 2, 0, Why.NO_EFFECT),)
    verdict = Verdict(
        "box", key, "label", 4, 1, Status.INCONCLUSIVE, math.nan, 0.1 + 0.2, math.inf, "1", 2, 2, terms,
        replay, {"windows": [{"start": 3, "value": 5e-324}]},
    )  # fmt: skip
    return CaseOutcome(case, (verdict,), (TooFew("box", key, 4, 1, 2, 2),))


class Folder:
    """A folder of finished problems, and what was said about it."""

    def __init__(self, path):
        self.path, self.said = path, []

    def partial(self, resume=True) -> Partial:
        self.said.clear()
        return Partial(self.path, resume, self.said.append)

    def interrupted(self, *outcomes) -> None:
        partial = self.partial(resume=False)
        partial.open(CaseOutcome, COMMON, DATA, "my 'long command'")
        for one in outcomes:
            partial.keep(one.case.id, one)
        partial.close()

    def resumed(self, common=COMMON, data=DATA) -> dict:
        partial = self.partial()
        found = partial.open(CaseOutcome, common, data)
        partial.close()
        return found

    def file(self):
        (path,) = self.path.glob("*.json")
        return path


def fill(artefact) -> None:
    """Write the files of an artefact into its folder, with their digests."""
    for name in NEEDED:
        (artefact / name).write_text("{}", encoding="utf-8")
    write_digests(artefact, NEEDED)

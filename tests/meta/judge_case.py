"""Judge one case of a shipped campaign, and print what became of it as one line of JSON.

A program of its own, so that a planted edit lives in a fresh process: whatever package PYTHONPATH names is
judged. The check step-replay goes first and alone, as it judges the runs that every campaign makes; all
others are called only where it has not said FAIL at any s.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace

from sstep_verify.campaign.definition import read_definition
from sstep_verify.campaign.verdicts.execute import execute_group
from sstep_verify.campaign.verdicts.expand import expand
from sstep_verify.verdict import Status

PRIMARY = "step-replay"


def judge(campaign: str, case: str) -> dict[str, object]:
    """Statuses of a case: ``failed`` (check, s) and ``reason`` of the first FAIL, ``unsettled``, or ``error``."""
    unsettled: list[str] = []
    errors: list[str] = []
    try:
        group, spec = next(
            (group, spec)
            for group in expand(read_definition(campaign), case)
            for spec in group.specs
            if spec.id == case
        )
        family = replace(spec.family, drift=0)
        primary = [
            replace(spec, family=replace(family, s=(s,), checks=(PRIMARY,)))
            for s in sorted(family.s, reverse=True)  # large s make the fewest exchanges
        ]
        others = tuple(check for check in family.checks if check != PRIMARY)
        rest = replace(spec, family=replace(family, checks=others))
        specs = (*primary, rest)
        for message in execute_group(replace(group, specs=specs), campaign, None, ""):
            if message.outcome is None:
                errors.append(message.error)
                continue
            for verdict in message.outcome.verdicts:
                found = f"{verdict.check} at s = {verdict.s}"
                if verdict.status is Status.FAIL:
                    return {"failed": found, "reason": verdict.reason}
                if verdict.status is not Status.PASS:
                    unsettled.append(f"{found}: {verdict.status.value}")
    except Exception as error:
        errors.append(f"{type(error).__name__}: {error}")
    return {"error": errors[0].strip().splitlines()[-1]} if errors else {"unsettled": unsettled}


if __name__ == "__main__":
    print(json.dumps(judge(sys.argv[1], sys.argv[2])))

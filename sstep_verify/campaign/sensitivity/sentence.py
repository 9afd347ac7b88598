"""What all studies of a campaign say in one sentence, and its exit code."""

from __future__ import annotations

from sstep_verify.campaign.loop.messages import State
from sstep_verify.reporting.sensitivity.document import Sensitivity


def sentence(found: Sensitivity, planned: int, made: int, state: State) -> str:
    """Mistakes killed, limits, false alarms; what is missing."""
    parts = list(found.sentences)
    if made < planned:
        parts.append(f"{planned - made} of {planned} pieces not finished")
    if failures := len(state.internal):
        parts.append(f"{failures} internal errors")
    return ("interrupted: " if state.interrupted else "") + "; ".join(parts or ["nothing was measured"])


def exit_code(found: Sensitivity, planned: int, state: State) -> int:
    """0 if every mistake was killed and no right solver failed; 1 if not; 3 if pieces are missing."""
    if state.internal:
        return 4
    if not found.holds:
        return 1
    return 0 if len(state.outcomes) == planned else 3

"""What all studies of a campaign say in one sentence."""

from __future__ import annotations

from sstep_verify.campaign.loop.messages import State
from studies.reporting.sensitivity.document import Sensitivity


def sentence(found: Sensitivity, planned: int, made: int, state: State) -> str:
    """Mistakes killed, limits, false alarms; what must not be, and what is missing."""
    parts = list(found.sentences) or ["too few runs for a limit" if made else "nothing was measured"]
    if broken := found.broken:
        parts.append(f"does not hold: {broken[0]}" + f", and {len(broken) - 1} more" * (len(broken) > 1))
    if made < planned:
        parts.append(f"{planned - made} of {planned} pieces not finished")
    if failures := len(state.internal):
        parts.append(f"{failures} internal errors")
    return ("interrupted: " if state.interrupted else "") + "; ".join(parts)

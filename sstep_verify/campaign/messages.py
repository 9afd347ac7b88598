"""Messages of whoever runs a unit: an outcome, an error with its kind, or how far it has come."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sstep_verify.errors import InputError, MissingExtraError, OracleDisagreementError
from sstep_verify.provenance import peak_memory

INTERNAL, DISAGREEMENT, REFUSED, NOTED = "internal error", "disagreement", "not judged", "noted"
"""Kinds of errors: a defect of this package; two oracles that differ; a problem that cannot be run; a loss
that takes nothing from what was judged."""

INTERRUPTED = 130
"""Exit code after Ctrl-C (128 + SIGINT), whatever had been found by then."""


@dataclass(frozen=True)
class Finished:
    """Something finished, or an error of a kind; `keep` is whether --resume may rely on the outcome."""

    outcome: Any = None
    error: str = ""
    kind: str = INTERNAL
    keep: bool = True
    memory: int = field(default_factory=lambda: peak_memory() or 0)
    process: int = field(default_factory=os.getpid)


@dataclass(frozen=True)
class Step:
    """How far an outcome has come: its key, the part done (0 to 1), what is done now.

    `limit` is the seconds that this may take; 0 for any. Past them its process is ended. `run` is the key
    of the run that is made, if one is.
    """

    key: str
    part: float
    what: str
    limit: float = 0.0
    run: str = ""


@dataclass
class State:
    """What a campaign has so far: outcomes, errors by kind, memory in bytes by process."""

    outcomes: list[Any] = field(default_factory=list)
    errors: dict[str, list[str]] = field(
        default_factory=lambda: {INTERNAL: [], DISAGREEMENT: [], REFUSED: [], NOTED: []}
    )
    memory: dict[int, int] = field(default_factory=dict)
    interrupted: bool = False

    def add(self, message: Finished) -> None:
        """File a message where it belongs."""
        self.memory[message.process] = max(self.memory.get(message.process, 0), message.memory)
        if message.outcome is not None:
            self.outcomes.append(message.outcome)
        else:
            self.errors[message.kind].append(message.error)

    @property
    def internal(self) -> list[str]:
        """Errors that are no property of a problem: internal ones, and disagreements of oracles."""
        return [*self.errors[INTERNAL], *self.errors[DISAGREEMENT]]

    @property
    def notes(self) -> list[str]:
        """All errors as remarks of a report."""
        refused = [f"{REFUSED}: {line}" for line in self.errors[REFUSED]]
        return [*self.errors[NOTED], *refused, *(f"{INTERNAL}: {line}" for line in self.internal)]

    def exit_code(self, failed: bool, incomplete: bool) -> int:
        """130 if interrupted, else 4 after an internal error, 1 if it failed, 3 if incomplete, 0."""
        if self.interrupted:
            return INTERRUPTED
        if self.internal:
            return 4
        return 1 if failed else 3 * incomplete


def attempted(work: Callable[[], Any], where: str) -> Finished:
    """Do a piece of work; an error becomes a message that says `where`, and ends nothing else.

    The work returns the outcome, or a message of its own, which is passed on.
    """
    try:
        outcome = work()
    except OracleDisagreementError as error:
        return Finished(error=f"{where}: {error}", kind=DISAGREEMENT)
    except (InputError, MissingExtraError) as error:
        return Finished(error=f"{where}: {error}", kind=REFUSED)
    except (OverflowError, FloatingPointError) as error:
        words = f"a number is beyond the range of float64 ({error}); scale the data"
        return Finished(error=f"{where}: {words}", kind=REFUSED)
    except MemoryError as error:
        words = f"out of memory ({str(error) or 'no size told'}); lower memory, replay_limit or --jobs"
        return Finished(error=f"{where}: {words}", kind=REFUSED)
    except Exception:
        return Finished(error=f"{where}:\n{traceback.format_exc()}")
    return outcome if isinstance(outcome, Finished) else Finished(outcome)


_listeners: list[Callable[[Step], None]] = []


def tell(key: str, part: float, what: str, limit: float = 0.0, run: str = "") -> None:
    """Tell whoever runs this unit how far an outcome has come; see `Step`."""
    if _listeners:
        _listeners[-1](Step(key, part, what, limit, run))


@contextmanager
def heard_by(listener: Callable[[Step], None]) -> Iterator[None]:
    """Let a function hear what is told in this process."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.pop()

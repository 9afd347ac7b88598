"""Places: what may stand in braces in a program file, and what is filled in for a run."""

from __future__ import annotations

import os
import string
from pathlib import Path

from sstep_verify.errors import InputError
from sstep_verify.solver import RunRequest

PLACES = (
    "dir", "np", "s", "b", "H", "m", "n", "data", "task", "kernel", "sigma", "degree", "offset",
    "parameter", "C", "lambda", "penalty", "seed",
)  # fmt: skip
"""What may stand in braces, see docs/adapters.md."""


def named_places(text: str) -> list[str]:
    """The places of a text, in order."""
    return [place for _, place, _, _ in string.Formatter().parse(text) if place is not None]


def require_places(text: str, where: str) -> None:
    """Raise InputError unless a text can be handed to a program once its places are filled in.

    Parameters
    ----------
    text : str
        The text.
    where : str
        What it is, for the message.
    """
    where = f"{where} {text!r:.80}"
    if "\0" in text:
        raise InputError(f"{where} holds a NUL, which no argument may")
    try:
        parts = list(string.Formatter().parse(text))
    except ValueError as error:
        raise InputError(f"{where}: {error}; a brace itself is written twice") from error
    for _, place, form, how in parts:
        if place is not None and (place not in PLACES or form or how):
            raise InputError(
                f"{where}: {{{place}}} is unknown; known: {', '.join(f'{{{one}}}' for one in PLACES)}; "
                "a brace itself is written twice"
            )


def places_of(request: RunRequest, folder: Path, ranks: int, counted: int) -> dict[str, object]:
    """What stands for each of `PLACES` in a run.

    Parameters
    ----------
    request : RunRequest
        The run.
    folder : Path
        Its exchange folder.
    ranks : int
        Number of ranks.
    counted : int
        Its iterations as the program counts them.
    """
    problem, stream = request.problem, request.stream
    kernel, loss = problem.kernel, problem.loss
    given = {name: getattr(kernel, name, 0) for name in ("sigma", "degree", "offset")}
    return {
        "dir": os.fspath(folder), "np": ranks, "s": request.s, "b": stream.block, "H": counted,
        "m": problem.samples, "n": problem.features, "data": os.fspath(folder / "data.svm"),
        "task": loss.task, "kernel": kernel.name, **given, "parameter": given["sigma"] or given["degree"],
        "C": loss.parameter, "lambda": loss.parameter, "penalty": loss.parameter, "seed": stream.seed,
    }  # fmt: skip

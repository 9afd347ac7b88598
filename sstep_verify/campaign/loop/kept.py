"""One kept outcome in its file: what it must share with the run that reads it back, and what it names."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from sstep_verify.campaign.artefact.verdicts import REPLAY
from sstep_verify.campaign.model import Definition
from sstep_verify.errors import InputError
from sstep_verify.inputs.records import convert
from sstep_verify.provenance import collect
from sstep_verify.report.write import ARTEFACTS

Outcome = TypeVar("Outcome")

_NAMING, _NAME = f'"(?:replay|runs)": "{re.escape(REPLAY)}', r"[A-Za-z0-9_=+][A-Za-z0-9._=+-]*"
"""Fields that name an artefact, up to its name; names that `campaign.artefact` gives."""

CAMPAIGN = "content or path of the campaign file, or options that choose problems or runs (such as --np)"
"""Words of a message for what decides which problems there are, and how each is run."""


SEED = "seed of further s (--seed)"


def identity(
    definition: Definition, directory: str | None, code: Mapping[str, str] | None = None
) -> dict[str, object]:
    """What must be the same for an outcome to be read back, besides the data of its own problem.

    Plain values by the words a message uses for them: the campaign with its solver options, whose source
    replay commands name as they do the folder of the data sets, and the `code` of `model.Prepared`.
    """
    made = collect()
    return {
        SEED: definition.seed,
        CAMPAIGN: digest(repr(definition)),
        "folder of data (--data)": str(directory) if directory else None,
        "version of sstep-verify": made["package"],
        "commit of the checkout": made["git"],
        "version of Python": made["python"],
        "version of a package": made["packages"],
        **(code or {}),
    }


def read_outcome(
    folder: Path, key: str, kind: type[Outcome], wanted: Mapping[str, object]
) -> tuple[Outcome, str]:
    """Read the outcome of a key that was kept in a folder, and give its text too.

    What is `wanted` must be the same as when it was kept; more may have been. InputError if it is of
    another identity, was changed, or lacks an artefact; OSError, ValueError, LookupError, TypeError or
    AttributeError if it cannot be read.
    """
    document = json.loads(outcome_path(folder, key).read_text("utf-8"))
    found = document["identity"]
    if other := difference(found, wanted):
        raise InputError(other)
    text = json.dumps(document["outcome"])
    if digest(text) != document["sha256"]:
        raise InputError("it was changed after it was written: its SHA-256 differs")
    if re.search(f'{_NAMING}(?!{_NAME}")', text):
        raise InputError("it names an artefact by what is no name of one")
    for name in artefact_names(text):
        if not (folder / ARTEFACTS / name).is_dir():
            raise InputError(f"its artefact {name} is not there")
    return convert(document["outcome"], kind, "outcome"), text


def of_another_run(path: Path, wanted: Mapping[str, object]) -> str:
    """Why a kept outcome cannot be of the campaign of an identity; empty if it can, or cannot be read."""
    try:
        document = json.loads(path.read_text("utf-8"))
        other, command = difference(document["identity"], wanted), document.get("command")
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return ""
    return f"{other}; they were made by: {command}" if other and command else other


def difference(found: Mapping[str, object], wanted: Mapping[str, object]) -> str:
    """What differs first between two identities, in words; empty if nothing does."""
    for name, value in json.loads(json.dumps(wanted)).items():
        if found.get(name) != value:
            shown = "" if name == CAMPAIGN else f": {found.get(name)!r:.80}, now {value!r:.80}"
            return f"other {name}{shown}"
    return ""


def outcome_path(folder: Path, key: str) -> Path:
    """File of the outcome of a key."""
    return folder / f"{digest(key)[:32]}.json"


def artefact_names(text: str) -> set[str]:
    """Names of the artefacts that replay commands and recorded runs name, in JSON as `json` writes it."""
    return set(re.findall(f'{_NAMING}({_NAME})"', text))


def digest(text: str) -> str:
    """SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()

"""Parts of a report that studies add: their records, pages and tables stand beside the package, in a clone.

Module ``studies.reporting.NAME.part`` holds ``RECORD``, the dataclass of that field of `Results` and of
``results.json``, with what it names and what is broken; ``OUTCOMES``, by exit code; ``drawn``, what page
and tables show of a document; and ``write``, which writes figures and tables. Its templates stand beside.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from sstep_verify.errors import InputError, has_studies


def part_of(name: str) -> ModuleType:
    """The module of a part.

    Raises
    ------
    InputError
        Where there are no studies.
    """
    if not has_studies():
        raise InputError(f"{name} is what a study adds, which no installed package has; do this in a clone")
    return import_module(f"studies.reporting.{name}.part")

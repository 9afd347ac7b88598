"""Tables of comma-separated values: one dialect for all that are written."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path

from sstep_verify.outputs.writing import write_text


def csv_text(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    r"""A table as CSV: a line of names, then a line for each row, each ended by ``\n``.

    Numbers are written with all digits that tell them apart (``repr``); None is written as nothing.

    Parameters
    ----------
    columns : iterable of str
        Names of the columns.
    rows : iterable of iterable
        The values of each row, in that order.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


def write_table(path: Path, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> Path:
    """Write a table as `csv_text` has it, in UTF-8; returns the path.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    write_text(path, csv_text(columns, rows))
    return path

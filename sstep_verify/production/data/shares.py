"""Parsing a file in shares, one a rank, so that all ranks end alike: with their lines or with one error."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

from sstep_verify.errors import DataError
from sstep_verify.problems.data.svmlight import Block, read_block, text_length
from sstep_verify.production.messages.agreement import Failure, failure_of, raise_first
from sstep_verify.production.messages.communicator import Communicator, listed


class Report(NamedTuple):
    """A rank's findings in its share of a file.

    Parameters
    ----------
    digest : str
        SHA-256 of the file as stored (hexadecimal); empty where there is one rank.
    lines, samples, features : int
        Lines, those of them with a sample, and the largest index met.
    stored, nonzeros : int
        Values on the lines, and those that differ from 0.
    failure : Failure or None
        Why there is nothing of all this.
    """

    digest: str = ""
    lines: int = 0
    samples: int = 0
    features: int = 0
    stored: int = 0
    nonzeros: int = 0
    failure: Failure | None = None


def parse_shares(
    path: Path, communicator: Communicator, features: int | None
) -> tuple[Block, list[Report]]:
    """Parse this rank's share of a file's lines; called by all ranks together.

    Parameters
    ----------
    path : Path
        The file, the same on every rank.
    communicator : Communicator
        The ranks.
    features : int or None
        Number of features (n) the file is known to have.

    Returns
    -------
    block : Block
        The lines of this rank, zeros dropped.
    reports : list of Report
        What each rank found, by rank.

    Raises
    ------
    DataError, MissingExtraError, ReadingError
        What the first rank that failed met, on all ranks; a line is counted from the file's first.
    """
    begin, end = _share(path, communicator)
    block, cause = None, None
    try:
        block = read_block(path, begin=begin, end=end, features=features)
        matrix, stored = block.matrix, block.matrix.nnz
        matrix.eliminate_zeros()
        digest = _digest(path) if communicator.size > 1 else ""
        own = Report(digest, block.lines, *matrix.shape, stored, matrix.nnz)
    except Exception as error:
        own, cause = Report(failure=failure_of(error)), error
    reports = communicator.allgather(own)
    raise_first([report.failure for report in reports], cause, [report.lines for report in reports])
    digests = [report.digest[:12] for report in reports]
    if len(set(digests)) > 1:
        raise DataError(
            f"{path}: is not the same file on all ranks, its SHA-256 begins with {listed(digests)}; "
            "put it where all ranks see it"
        )
    assert block is not None
    return block, reports


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _share(path: Path, communicator: Communicator) -> tuple[int, int | None]:
    """First byte of this rank's share of the text, and the first after it."""
    rank, size = communicator.rank, communicator.size
    length = communicator.first(text_length(path) if rank == 0 and size > 1 else None)
    if length is None:
        # One rank, or a text whose end cannot be found: rank 0 will say on which line that is.
        return 0, None if rank == 0 else 0
    return length * rank // size, length * (rank + 1) // size

"""Witness: collectives of a program on ranks, counted from outside by the interposer."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from sstep_verify.errors import MissingExtraError, RefusedError
from sstep_verify.inputs import read_whole
from sstep_verify.launch.interposer import KINDS, WITNESS, build_interposer
from sstep_verify.solvers.adapters.program.results import ProgramError


class Witness:
    """The interposer, built for as long as this object lives.

    Parameters
    ----------
    wrapper : str
        Compiler wrapper of the program's MPI.

    Raises
    ------
    RefusedError
        If it cannot be built.
    """

    def __init__(self, wrapper: str):
        self._room = tempfile.TemporaryDirectory(prefix="sstep-verify-witness-")
        try:
            self._library = build_interposer(Path(self._room.name), wrapper)
        except MissingExtraError as error:
            raise RefusedError(f"witness = {wrapper!r}: {error}") from error

    def variables(self, folder: Path) -> dict[str, str]:
        """Environment variables that let it count, and leave its counts in a folder."""
        return {"LD_PRELOAD": str(self._library), WITNESS: str(folder)}

    @staticmethod
    def counts(folder: Path, ranks: int) -> dict[str, int]:
        """Collectives, and words handed to them, of the rank that had most; 8 bytes a word.

        Raises
        ------
        RefusedError
            If it saw nothing: no MPI, or one that is linked statically.
        ProgramError
            If there were not as many ranks as were started.
        """
        files = sorted(folder.glob("witness-*.txt"))
        if not files:
            raise RefusedError(
                "the witness saw no MPI_Finalize: the program uses no MPI, is linked statically (then it "
                "cannot be witnessed), or has another MPI than the compiler wrapper; leave witness out, or "
                "name the mpicc of its MPI"
            )
        found = [_read(file) for file in files]
        worlds = {size for size, _ in found}
        if worlds != {ranks} or len(files) != ranks:
            raise ProgramError(
                f"{ranks} ranks were started, but {len(files)} ended in worlds of {sorted(worlds)}: a "
                "launcher of another MPI starts every rank in a world of its own"
            )
        return {
            "collectives": max(sum(calls for calls, _ in kinds) for _, kinds in found),
            "words": max(sum(size for _, size in kinds) // 8 for _, kinds in found),
        }


def _read(path: Path) -> tuple[int, list[tuple[int, int]]]:
    """Ranks, and calls and bytes by kind, of one rank's file."""
    text = read_whole(path, 4096, "counts of the witness", follow=False).decode("ascii", "replace")
    lines = text.splitlines()
    if len(lines) != 1 + len(KINDS) or not all(
        re.fullmatch(r"(ranks )?\d+( \d+)?", line) for line in lines
    ):
        raise ProgramError(f"{path.name} is no file of the witness: the program wrote over it")
    kinds = [tuple(map(int, line.split())) for line in lines[1:]]
    return int(lines[0].split()[1]), [(calls, size) for calls, size in kinds]

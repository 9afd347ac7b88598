"""``sstep-verify check``: the solver that options describe, its campaign, and its runs made elsewhere."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

from sstep_verify.cli.options import on_command_line

OF_JUDGING = {"runs", "out", "jobs", "xfails"}
"""Options of ``check`` that go with runs that are there already."""

OF_WRITING = OF_JUDGING | {
    "solver", "command_line", "settings", "ranks", "s_values", "data", "tasks", "kernels", "level",
    "profile", "only",
}  # fmt: skip
"""Those that go with runs that are to be made elsewhere."""


def command_again():
    """The command that was given, but for what names a case or a report."""
    return shlex.join(["sstep-verify", *sys.argv[1:2], *_without_case(sys.argv[2:])])


def solver_of(solver, command_line, settings):
    """The solver that is named, if it is one: ``MODULE:OBJECT`` as it is, a program as its description."""
    from sstep_verify.adapters.program import is_program, program_from, read_program
    from sstep_verify.errors import InputError

    if (solver is None) == (command_line is None):
        raise InputError(
            "name one solver: MODULE:OBJECT, a program file, or a program's command with --exec. A vector "
            "that one left is judged by: sstep-verify oracle DATA --final FILE"
        )
    if command_line is not None:
        return program_from(words_of("--exec", command_line), settings)
    if is_program(solver):
        return read_program(solver, settings)
    if settings:
        raise InputError(
            f"--set {settings[0]} is for a program. A Python solver says what it is by its declaration "
            "(docs/api.md); how long a run may take, by time_limit in a campaign file (docs/campaigns.md)"
        )
    return solver


def selection_of(given):
    """What a solver is for, by the values of the options of ``check``."""
    from sstep_verify.campaign.profile import Selection

    level, s_values = given["level"], given["s_values"] or ()
    if s_values and given["stability"]:
        s_values = tuple(sorted({1, *s_values}))
    return Selection(
        given["ranks"], s_values, given["data"] or "", given["tasks"], given["kernels"],
        level=int(level[1]) if level else None, shrink=given["shrink"] or 0.0,
    )  # fmt: skip


def words_of(option: str, line: str) -> tuple[str, ...]:
    """Arguments that a line stands for, as a shell would cut it."""
    from sstep_verify.errors import InputError

    try:
        return tuple(shlex.split(line))
    except ValueError as error:
        raise InputError(f"{option} {line!r}: {error}") from error


def batch_of(folder: Path, described, selection, given):
    """The runs in the folder of --runs, to be judged; None where they were written just now, which is said.

    `described` is the solver, None where none is named, for the runs that are there. InputError if these
    are of something else, or none can be written.
    """
    from threadpoolctl import threadpool_limits

    from sstep_verify.adapters.program import ProgramFile
    from sstep_verify.campaign.batch import NAME, Batch, collect, export, read_batch, unmade
    from sstep_verify.errors import InputError

    there = (folder / NAME).exists()
    _refuse_others(folder, OF_WRITING if described or not there else OF_JUDGING)
    if described is not None and not isinstance(described, ProgramFile):
        raise InputError(
            f"{described}: is a Python object, which is judged where it runs; leave out --runs"
        )
    wanted = Batch(given["profile"], selection, given["only"], described) if described else None
    again = f"sstep-verify check --runs {shlex.quote(str(folder))}"
    makes = f"sh {shlex.quote(str(folder / 'solve.sh'))}"
    with threadpool_limits(1):
        if not there:
            if wanted is None:
                raise InputError(
                    f"{folder}: holds no runs ({NAME}); name the program whose runs are to be written"
                )
            runs = len(export(wanted, folder).runs)
            click.echo(f"{_runs(runs)} written to {folder}, none judged; make them by: {makes}")
            click.echo(f"then judge them by: {again}")
            return None
        before = read_batch(folder)
        if wanted and (before.profile, before.selection, before.only, before.program) != (
            wanted.profile, wanted.selection, wanted.only, wanted.program,
        ):  # fmt: skip
            raise InputError(
                f"{folder}: holds runs of another program, or of other problems; judge those by: {again}, "
                "or name another folder"
            )
        batch = collect(before, folder)
    if left := len(unmade(batch, folder)):
        new = len(batch.runs) - len(before.runs)
        click.echo(
            f"{_runs(left)} not made yet, {new} of them asked for only now: {makes} makes what is missing; "
            f"then judge again: {again}",
            err=True,
        )
    return batch


def _runs(number: int) -> str:
    return f"{number} run{'s' * (number != 1)}"


def _refuse_others(folder: Path, usable: set[str]) -> None:
    """Refuse options of the command that go with nothing that --runs does."""
    from sstep_verify.errors import InputError

    for name, flag in on_command_line().items():
        if name not in usable:
            why = "with --runs, whose solver runs elsewhere"
            if name in OF_WRITING:
                why = f"with the runs that {folder} holds, unless their solver is named as it was"
            raise InputError(f"{flag} does not go {why}; leave it out")


def _without_case(words: list[str]) -> list[str]:
    """Arguments without those that name cases or what is kept: whoever runs a case again names its own.

    The folder of the report is that of a part, as without ``--out``: the report itself stays.
    """
    kept, named, folder = [], "", ""
    for word in words:
        name, equals, value = word.partition("=")
        if named or name in ("--only", "--out", "--resume", "--force", "--list"):
            folder = word if named == "--out" else value if name == "--out" and not named else folder
            named = name if not named and name in ("--only", "--out") and not equals else ""
            continue
        kept.append(word)
    return [*kept, "--out", f"{folder.rstrip('/')}-part"] if folder else kept

"""``sstep-verify check`` and ``export``: the solver that options describe, and its campaign."""

from __future__ import annotations

import shlex
import sys

OF_A_PROGRAM = {
    "setup": "--setup", "writes": "--writes", "declare": "--declare", "time_limit": "--time-limit",
    "witness": "--witness", "nemesis": "--nemesis",
}  # fmt: skip
"""Options that only a program has, by the names of their values."""


def options_of_a_program(given):
    """Values of the options that only a program has, by option."""
    return {option: given.get(name) for name, option in OF_A_PROGRAM.items()}


def command_again():
    """The command that was given, but for what names a case or a report."""
    return shlex.join(["sstep-verify", *sys.argv[1:2], *_without_case(sys.argv[2:])])


def definition_of_solver(solver, command_line, given):
    """The campaign of a profile with a solver.

    Parameters
    ----------
    solver : str or None
        ``MODULE:OBJECT`` or the path of a program file.
    command_line : str or None
        A program's command instead.
    given : dict
        Values of the other options of ``check``; nemesis, level, shrink and stability may be absent.

    Raises
    ------
    InputError
        If there is no solver or two of them, or the options do not go together.
    """
    from sstep_verify.campaign.profile import Selection, profile_of
    from sstep_verify.campaign.verdicts.stability import with_stability
    from sstep_verify.errors import InputError

    if (solver is None) == (command_line is None):
        raise InputError(
            "name one solver: MODULE:OBJECT, a program file, or a program's command with --exec; or a "
            "vector that one left, with --final"
        )
    if command_line is not None:
        solver = _program(command_line, given)
    elif unused := [name for name, value in options_of_a_program(given).items() if value]:
        raise InputError(f"{unused[0]} is for --exec; {_said_by(solver, unused[0])}")
    level, s_values, stability = given.get("level"), given["s_values"] or (), given.get("stability")
    if s_values and stability:
        s_values = tuple(sorted({1, *s_values}))
    chosen = Selection(
        given["ranks"], s_values, given["data"] or "", given["tasks"], given["kernels"],
        level=int(level[1]) if level else None, shrink=given.get("shrink") or 0.0,
    )  # fmt: skip
    definition = profile_of(given["profile"], solver, chosen, command_again())
    return with_stability(definition) if stability else definition


def _said_by(solver: str, option: str) -> str:
    """How a program file or a Python solver says what an option says of a command."""
    from sstep_verify.solvers.adapters.program import is_program

    if is_program(solver):
        key = option.removeprefix("--").replace("-", "_")
        where = "the table [declaration]" if key == "declare" else f"the key {key} under [program]"
        return f"a program file says this itself, by {where} (docs/adapters.md)"
    if option == "--declare":
        return "a Python solver says this itself, by its declaration (docs/api.md)"
    if option == "--time-limit":
        return (
            "a run of a Python solver may take 600 s; the key time_limit of a family in a campaign file "
            "sets another limit (docs/campaigns.md)"
        )
    return "a Python solver has no such thing"


def _program(command_line: str, given):
    """The program that the options describe."""
    from sstep_verify.solvers.adapters.program import program_from

    return program_from(
        words_of("--exec", command_line),
        words_of("--setup", given["setup"]),
        given["writes"] or "log",
        given["time_limit"] or 60.0,
        given["declare"],
        given["witness"] or "",
        given.get("nemesis") or "",
    )


def words_of(option: str, line: str | None) -> tuple[str, ...]:
    """Arguments that a line stands for, as a shell would cut it."""
    from sstep_verify.errors import InputError

    try:
        return tuple(shlex.split(line or ""))
    except ValueError as error:
        raise InputError(f"{option} {line!r}: {error}") from error


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

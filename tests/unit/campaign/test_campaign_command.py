"""Options of `sstep-verify solve` in shipped campaigns: each has another value than its default somewhere."""

from __future__ import annotations

from pathlib import Path

from sstep_verify.campaign.read import read_definition
from sstep_verify.campaign.verdicts.case import make_case
from sstep_verify.campaign.verdicts.family import expand
from sstep_verify.checks.shared.case import plain_request
from sstep_verify.cli.commands.solve import command
from sstep_verify.problems.data.datasets import load

LEFT_OUT = {
    "hang_limit",
    "checkpoint_seconds",
    "directory",
    "resume",
    "force",
    "iterations",
    "test",
    "predictions",
}
"""Options that decide no number of a result, and those that are given next to these words."""


def words_given():
    """What each command of a campaign is given, but for files and iterations."""
    for campaign in ("varied", "parallel"):
        for spec in (spec for unit in expand(read_definition(campaign)) for spec in unit.work):
            if spec.family.solver == "solve":
                tested = spec.family.solvers()[""]
                case = make_case(spec, load(spec.data), {"": tested.declaration}, campaign, "")
                for s in case.s_values:
                    words = tested._words(plain_request(case, s), Path("nowhere"))
                    yield words[words.index("solve") + 1 :]


def test_no_option_is_at_its_default_in_every_command():
    """A command that ignores an option acts as if it were not given."""
    names = {option.name for option in command.params} - LEFT_OUT
    other = set()
    for words in words_given():
        context = command.make_context("solve", words, resilient_parsing=True)
        defaults = {option.name: option.get_default(context) for option in command.params}
        other |= {name for name in names if context.params[name] != defaults[name]}
    assert other == names

"""The mistakes of ``solver_mistakes.toml`` are in the solver's text, and their cases in shipped campaigns."""

from __future__ import annotations

import functools
from importlib import import_module

import pytest
from plant import edited_source
from solver_mistakes import TABLE

from sstep_verify.campaign.read import read_definition
from sstep_verify.campaign.verdicts.family import expand

CASES = sorted({words for cases in TABLE["cases"].values() for words in cases})
definition = functools.cache(read_definition)


def test_a_mistake_is_in_the_solver_s_text():
    for mistake in TABLE["mistake"]:
        source = edited_source(import_module(mistake["module"]), [(mistake["before"], mistake["after"])])
        compile(source, mistake["name"], "exec")
        assert mistake["cases"] in TABLE["cases"], mistake["name"]


@pytest.mark.parametrize("words", CASES)
def test_a_case_is_in_its_campaign(words):
    campaign, case = words.split(" ", 1)
    assert expand(definition(campaign), case)

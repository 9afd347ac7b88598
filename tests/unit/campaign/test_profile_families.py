"""A profile goes with programs of every kind: families that one makes alike are judged once."""

from __future__ import annotations

import itertools
from functools import cache

import pytest
from daily import crossed

from sstep_verify import CallableSolver, Declaration
from sstep_verify.adapters.program import read_program
from sstep_verify.campaign import PROFILES
from sstep_verify.campaign import profile as of_program
from sstep_verify.campaign.profile import Selection, profile_of
from sstep_verify.campaign.read import read_definition
from sstep_verify.campaign.verdicts.family import expand

KINDS = {
    "plain": 'writes = "final"\n[final]\nafter = "alpha:"\n',
    "log": 'writes = "log"\n',
    "final": 'writes = "final"\n',
}
TABLES = {
    "none": "",
    "generator": '[stream]\nkind = "glibc-rand"\nseed = 7\n',
    "zero": '[conventions]\nstart = "zero"\n',
    "scaled": '[conventions]\nscale = "1/m"\n',
    "fixed": "[fixed]\noffset = 0.0\ndegree = 3\nC = 1.0\nlambda = 0.5\n",
    "size": "[fixed]\nm = 32\nb = 1\n",
}

READ = cache(read_definition)
"""A profile as its file says it, read once for all programs."""


@pytest.mark.parametrize(("profile", "ranks"), crossed(PROFILES, [(1,), (1, 2)], of=4))
def test_every_profile_can_be_asked_of_every_kind_of_program(tmp_path, monkeypatch, profile, ranks):
    monkeypatch.setattr(of_program, "read_definition", READ)
    judged = 0
    for kind, first, second in itertools.product(KINDS, TABLES, ["none", "fixed", "size"]):
        if first in ("fixed", "size") and second != "none":
            continue  # that table stands once
        path = tmp_path / "p.toml"
        head = f'[program]\nname = "p"\ncommand = ["p", "{{dir}}", "{{np}}"]\n{KINDS[kind]}'
        path.write_text(head + TABLES[first] + TABLES[second])
        definition = profile_of(profile, read_program(str(path)), Selection(ranks=ranks), "again")
        ids = [spec.id for unit in expand(definition) for spec in unit.work]
        assert ids
        assert len(ids) == len(set(ids))
        judged += 1
    assert judged == 3 * (4 * 3 + 2)


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        (Selection(), ""),
        (Selection(tasks=("krr",), kernels=("rbf",)), "A part of the profile, chosen by tasks and kernels"),
        (Selection(s=(7,)), "The profile, with the s given instead of its own"),
        (
            Selection(tasks=("svm-l1",), data="breast_cancer"),
            "A part of the profile, chosen by tasks, with the data given instead of its own",
        ),
    ],
)
def test_the_description_of_a_part_says_that_it_is_one(chosen, told):
    solver = CallableSolver(lambda problem, blocks, s, a0: a0, Declaration("s"))
    words = f"Solver under test: s. {told}{'; as shipped it is: ' * bool(told)}A first answer"
    assert profile_of("smoke", solver, chosen, "again").description.startswith(words)


@pytest.mark.parametrize("fixed", ["", "[fixed]\noffset = 0.0\n"])
def test_the_description_says_where_a_program_has_fixed_values(fixed, tmp_path):
    path = tmp_path / "p.toml"
    path.write_text(f'[program]\nname = "p"\ncommand = ["p", "{{dir}}"]\n{fixed}')
    made = profile_of("smoke", read_program(str(path)), Selection(), "again")
    told = "The profile, with what the program has fixed instead of its own; as shipped it is: "
    assert made.description.startswith(f"Solver under test: p. {told * bool(fixed)}A first answer")

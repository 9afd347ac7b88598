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
from sstep_verify.campaign.cases import load_data
from sstep_verify.campaign.profile import Selection, profile_of
from sstep_verify.campaign.read import read_definition
from sstep_verify.campaign.verdicts.family import expand
from sstep_verify.errors import InputError
from sstep_verify.problems.data.embedded import size_in

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


MINE = CallableSolver(lambda problem, blocks, s, a0: a0, Declaration("s"))


@pytest.mark.parametrize("labels", [(-1, 1), (0, 2)])
def test_labels_are_targets_of_ridge_regression_where_that_is_asked_for(tmp_path, labels):
    path = tmp_path / "labels.svm"
    path.write_text("".join(f"{labels[k % 2]} 1:{k}\n" for k in range(12)))
    made = profile_of("ci", MINE, Selection(tasks=("krr",), data=str(path)), "again")
    assert made.families
    assert {family.task for family in made.families} == {("krr",)}
    for family in made.families:
        targets = load_data(family.data[0], None, family.targets).targets
        assert sorted(set(targets)) == sorted(labels)
    other = profile_of("ci", MINE, Selection(data=str(path)), "again")
    assert not [family for family in other.families if "krr" in family.task]
    path.write_text("".join(f"{k}.5 1:{k}\n" for k in range(12)))
    with pytest.raises(InputError, match="these look like regression targets: use krr"):
        profile_of("ci", MINE, Selection(tasks=("svm-l1",), data=str(path)), "again")


def test_a_block_that_is_asked_for_is_that_of_all_problems_that_can_have_it():
    made = profile_of("ci", MINE, Selection(block=16), "again")
    assert {family.block for family in made.families} == {(16,)}
    assert {family.task for family in made.families} == {("krr",)}
    assert all(size_in(family.data[0]).samples >= 16 for family in made.families)
    assert "with the block given instead of its own" in made.description
    for chosen in (Selection(block=1000), Selection(block=2, tasks=("svm-l1",))):
        with pytest.raises(InputError, match="blocks are for krr, and hold no more coordinates than"):
            profile_of("ci", MINE, chosen, "again")


def test_a_block_that_a_program_has_fixed_is_no_other(tmp_path):
    path = tmp_path / "p.toml"
    path.write_text('[program]\nname = "p"\ncommand = ["p", "{dir}"]\n[fixed]\nb = 2\n')
    with pytest.raises(InputError, match="block = 3 is asked for, but the program has fixed b = 2"):
        profile_of("ci", read_program(str(path)), Selection(block=3), "again")
    assert profile_of("ci", read_program(str(path)), Selection(block=2, tasks=("krr",)), "again").families


@pytest.mark.parametrize("data", ["small", "small_regression"])
@pytest.mark.parametrize("profile", PROFILES)
def test_data_of_ones_own_go_with_every_task_and_kernel_of_a_profile(profile, data):
    task = load_data(data, None).task
    families = profile_of(profile, MINE, Selection(data=data), "again").families
    shipped = {
        (task, kernel.name)
        for family in READ(PROFILES[profile]).families
        for task in family.task
        for kernel in family.kernel
    }
    found = {(one, kernel.name) for family in families for one in family.task for kernel in family.kernel}
    assert found == {pair for pair in shipped if (pair[0] == "krr") == (task == "regression")}
    assert {family.data for family in families} == {(data,)}

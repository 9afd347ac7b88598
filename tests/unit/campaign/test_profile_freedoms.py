"""No freedom of the input has one value, or one residue, in a whole profile; every transition is made."""

from __future__ import annotations

import math
from collections import defaultdict
from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest
import scipy.sparse as sp

from sstep_verify import ReferenceSolver, verify
from sstep_verify.campaign.cases import load_data
from sstep_verify.campaign.profile import USUAL, Selection, profile_of, seeded
from sstep_verify.campaign.read import read_definition
from sstep_verify.campaign.redrawn import ANCHORED, FACTOR, MOVED, makes_every_transition, transitions_of
from sstep_verify.campaign.verdicts.case import seeded_start, stored_as
from sstep_verify.campaign.verdicts.family import expand
from sstep_verify.checks.steps.step_statistics import transitions_in
from sstep_verify.problems import IndexStream, Problem, loss_from
from sstep_verify.problems.kernels import KERNELS
from sstep_verify.problems.losses import TASKS
from sstep_verify.protocol import RunRequest

MODULI = (2, 3, 4, 8)
SEEDS = (USUAL, 1, 2)


@cache
def families(name, seed):
    """The families of a profile, each of which is one problem."""
    found = seeded(read_definition(name), seed).families
    for one in found:
        assert [len(part) for part in (one.data, one.task, one.kernel, one.parameter, one.block)] == [1] * 5
    return found


def freedoms(found):
    """Every value of every freedom of the input, by its name; those of a kernel or a loss where it is one."""
    values = defaultdict(set)
    for family in found:
        (task,), (kernel,), (parameter,) = family.task, family.kernel, family.parameter
        data = load_data(family.data[0], None)
        loss = loss_from(task, parameter)
        dense = np.asarray(data.data)
        values["m"].add(dense.shape[0])
        values["n"].add(dense.shape[1])
        values["H"].add(family.iterations)
        values["start"].add(family.start)
        values["s"] |= {*family.s}
        values["short last window"] |= {family.iterations % s for s in family.s if s > 1}
        values[loss.symbol].add(parameter)
        for name, value in vars(kernel).items():
            values[name].add(value)
        values["format"].add(sp.issparse(stored_as(dense, family.storage)))
        values["density"].add(bool(dense.all()))
        empty = np.flatnonzero(~dense.any(axis=1))
        values["empty sample"].add(len(empty) > 0)
        values["place of the empty sample"] |= {int(row) == len(dense) - 1 for row in empty}
        values["first value of a sample is 0"] |= {*(dense[dense.any(axis=1), 0] == 0).tolist()}
        values["empty feature"].add(not dense.any(axis=0).all())
        values["repetition of samples"].add(len(np.unique(dense, axis=0)) < len(dense))
        values["window beyond m"] |= {s * family.block[0] > dense.shape[0] for s in family.s}
        if task == "krr":
            values["b"] |= {*family.block}
            values["target of 0"] |= {*(data.targets == 0.0).tolist()}
        else:
            values["labels"].add(len({*data.targets.tolist()}))
        values["stream"].add(
            IndexStream("uniform", dense.shape[0], 1, 30, family.seed).blocks(0, 30).tobytes()
        )
    return values


KNOWN = {
    "m", "n", "H", "s", "b", "short last window", "C", "lambda", "degree", "offset", "sigma", "format", "density",
    "empty sample", "place of the empty sample", "first value of a sample is 0", "empty feature",
    "repetition of samples", "window beyond m", "labels", "target of 0", "start", "stream",
}  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ANCHORED)
def test_no_freedom_has_one_value_or_one_residue_in_a_profile(name, seed):
    found = freedoms(families(name, seed))
    assert set(found) == KNOWN
    single = {freedom for freedom, values in found.items() if len(values) < 2}
    assert single == ({"start"} if name == "smoke" else set()), "all runs of smoke begin with 0"
    for freedom, modulus in product("mnHsb", MODULI):
        assert len({value % modulus for value in found[freedom]}) > 1, (freedom, modulus)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("task", TASKS)
def test_of_each_task_ci_has_every_residue_and_every_way_in_which_a_run_ends(task, seed):
    found = freedoms([one for one in families("ci", seed) if one.task == (task,)])
    for freedom, modulus in product("mnHs" + "b" * (task == "krr"), MODULI):
        assert {value % modulus for value in found[freedom]} == {*range(modulus)}, (freedom, modulus)
    single = {freedom for freedom, values in found.items() if len(values) < 2}
    assert single == set(), "of no task either"
    if seed == USUAL:
        assert {0, 1} <= found["short last window"]
        parameters = found["lambda" if task == "krr" else "C"]
        assert {math.frexp(one)[0] == 0.5 for one in parameters} == {True, False}, (
            "a power of two, and others"
        )


@pytest.mark.parametrize("seed", SEEDS)
def test_the_steps_make_every_transition(seed):
    smoke, ci = ([one for one in families(name, seed) if one.task != ("krr",)] for name in ("smoke", "ci"))
    for task in ("svm-l1", "svm-l2"):
        assert makes_every_transition(one for one in smoke if one.task == (task,))
        for kernel in KERNELS:
            of_both = [one for one in ci if (one.task, one.kernel[0].name) == ((task,), kernel)]
            assert of_both
            assert makes_every_transition(of_both), (task, kernel)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("task", TASKS)
def test_of_each_task_ci_has_numbers_beyond_a_byte_and_rows_after_an_empty_one(task, seed):
    """Samples and iterations are counted in more than 8 bits, steps of a window in more than 6 or 7."""
    found = freedoms([one for one in families("ci", seed) if one.task == (task,)])
    assert {max(found["m"]) > 256, max(found["H"]) > 256} == {True}
    assert max(found["s"]) > (64 if task == "krr" else 128)
    assert found["place of the empty sample"] == {True, False}
    sparse = [one for one in families("ci", seed) if one.task == (task,) and one.storage == "csr"]
    assert freedoms(sparse)["first value of a sample is 0"] == {True, False}
    assert False in freedoms(sparse)["place of the empty sample"]


def _problem_of(family):
    data = load_data(family.data[0], None)
    return Problem(
        "p", data.data, data.targets, family.kernel[0], loss_from(family.task[0], family.parameter[0])
    )


def _drawn_by(family):
    """The blocks of a family's runs, H x b."""
    end = family.start + family.iterations
    samples = load_data(family.data[0], None).data.shape[0]
    return IndexStream("uniform", samples, family.block[0], end, family.seed).blocks(family.start, end)


@cache
def _sizes_of_steps(number):
    """By how much each step of the reference moves a coordinate at most, for a family of ci by its place."""
    family = families("ci", USUAL)[number]
    problem, end = _problem_of(family), family.start + family.iterations
    stream = IndexStream("uniform", problem.samples, family.block[0], end, family.seed)
    alpha = seeded_start(problem, family.seed) if family.start else np.zeros(problem.samples)
    request = RunRequest(problem, stream, 1, family.iterations, family.start, alpha, log=True)
    sizes = []
    for block, values in zip(
        _drawn_by(family), np.asarray(ReferenceSolver().run(request).log), strict=True
    ):
        sizes.append(np.abs(values - alpha[block]).max())
        alpha[block] = values
    return np.array(sizes)


@pytest.mark.parametrize(("task", "kernel"), [*product(TASKS, KERNELS)])
def test_small_steps_are_made(task, kernel):
    """A coordinate moves by less than 1e-4, and by more than it rounds."""
    sizes = [
        _sizes_of_steps(number)
        for number, one in enumerate(families("ci", USUAL))
        if (one.task, one.kernel[0].name) == ((task,), kernel)
    ]
    assert any(((of_run > 1e-10) & (of_run < 1e-4)).any() for of_run in sizes)


@pytest.mark.parametrize("task", TASKS)
def test_last_windows_of_one_and_of_two_steps_move_alpha(task):
    """A solver that leaves out so short a window would be noticed, on fewer than 256 samples too."""
    found = set()
    for number, family in enumerate(families("ci", USUAL)):
        if family.task == (task,) and load_data(family.data[0], None).data.shape[0] < 256:
            tails = {family.iterations % s for s in family.s if 1 < s < family.iterations} & {1, 2}
            found |= {tail for tail in tails if _sizes_of_steps(number)[-tail:].max() > 1e-10}
    assert found == {1, 2}


def _draws_a_twin_after_the_other(family):
    """Whether some window moves a sample after the sample that is equal to it."""
    data = np.asarray(load_data(family.data[0], None).data)
    _, number = np.unique(data, axis=0, return_inverse=True)
    draws = _drawn_by(family)
    for begin in range(0, family.iterations, family.s[1]):
        window = [*map(tuple, draws[begin : begin + family.s[1]].tolist())]
        for first, second in product(range(len(window)), repeat=2):
            pairs = product(window[first], window[second]) if first < second else ()
            if any(i != j and number[i] == number[j] for i, j in pairs):
                return True
    return False


def test_windows_hold_samples_that_are_equal():
    for task, kernel in product(TASKS, KERNELS):
        of_both = [
            one for one in families("ci", USUAL) if (one.task, one.kernel[0].name) == ((task,), kernel)
        ]
        assert any(map(_draws_a_twin_after_the_other, of_both)), (task, kernel)


def test_the_transitions_counted_here_are_those_of_the_verdicts():
    found = verify(ReferenceSolver(), "ci", tasks=["svm-l1"], kernels=["rbf"], s=[1])
    of_profile = set()
    for family in families("ci", USUAL):
        if family.task == ("svm-l1",) and family.kernel[0].name == "rbf":
            of_profile |= transitions_of(_problem_of(family), family)
    events = [one["evidence"]["events"] for one in found.results.verdicts if one["check"] == "step-replay"]
    of_verdicts = {name.replace("_", " ") for one in events for name in one if "_to_" in name}
    assert of_verdicts == of_profile == {*transitions_in(0.0, 1.0)}


@pytest.mark.parametrize("name", ANCHORED)
def test_every_task_with_every_kernel_can_be_asked_of_a_profile(name):
    for task, kernel in product(TASKS, KERNELS):
        asked = Selection(tasks=(task,), kernels=(kernel,))
        given = profile_of(name, ReferenceSolver(), asked, "again")
        specs = [spec for unit in expand(given) for spec in unit.work]
        assert {(spec.task, spec.kernel.name) for spec in specs} == {(task, kernel)}
        assert name == "ci" or len(specs) == 1


@pytest.mark.parametrize("name", ANCHORED)
def test_a_seed_draws_the_values_again_near_those_of_the_file(name):
    file = read_definition(name).families
    drawn = [families(name, seed) for seed in (1, 2)]
    for one, other in pairwise([file, *drawn]):
        assert all(
            a.data != b.data or a.iterations != b.iterations for a, b in zip(one, other, strict=True)
        )
        assert all(a.parameter != b.parameter for a, b in zip(one, other, strict=True))
    for found in drawn:
        for before, after in zip(file, found, strict=True):
            (m, n), (more_m, more_n) = (load_data(one.data[0], None).data.shape for one in (before, after))
            least, most = MOVED["samples"]
            assert least <= more_m - m < most or after.block[0] == more_m
            assert 0 <= more_n - n < MOVED["features"][1]
            assert 1 / FACTOR / 1.01 < after.parameter[0] / before.parameter[0] < FACTOR * 1.01
            assert (after.s, after.block, after.task) == (before.s, before.block, before.task)
    again = profile_of(
        name, ReferenceSolver(), Selection(tasks=("krr",), kernels=("rbf",), seed=2), "again"
    )
    of_whole = [one for one in drawn[1] if one.task == ("krr",) and one.kernel[0].name == "rbf"]
    cut = [(one.data, one.kernel, one.parameter, one.iterations, one.seed) for one in again.families]
    assert cut == [(one.data, one.kernel, one.parameter, one.iterations, one.seed) for one in of_whole]
    other = read_definition("deep")
    assert [vars(one) | {"further": ()} for one in seeded(other, 1).families] == [
        vars(one) for one in other.families
    ]


@pytest.mark.parametrize("name", ANCHORED)
@pytest.mark.parametrize("chosen", [None, Selection(), Selection(tasks=("krr",))])
def test_a_campaign_with_drawn_values_describes_what_is_run(name, chosen):
    shipped = read_definition(name)
    made = shipped if chosen is None else profile_of(name, ReferenceSolver("float64"), chosen, "command")
    assert (seeded(made, USUAL).title, seeded(made, USUAL).description) == (made.title, made.description)
    drawn = seeded(made, 7)
    samples = [load_data(one, None).data.shape[0] for family in drawn.families for one in family.data]
    steps = [family.iterations for family in drawn.families]
    assert drawn.description.startswith(
        f"Values drawn from seed 7 instead of those shipped: {min(samples)} to {max(samples)} samples, "
        f"{min(steps)} to {max(steps)} steps. "
    )
    # What is said of the shipped values is said to be of those.
    *_, after = drawn.description.lower().partition("as shipped it is: ")
    assert after == shipped.description.lower()
    assert drawn.title.endswith(", values drawn from seed 7")
    assert str(max(family.iterations for family in shipped.families)) not in drawn.title

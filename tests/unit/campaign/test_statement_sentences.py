"""The outcome of each sentence: none passes that nothing showed."""

from __future__ import annotations

import pytest

from sstep_verify.campaign.statement.make import ABOUT, ALSO_SEEN, SHOWN, sentences_of
from sstep_verify.checks.registry import CHECKS
from sstep_verify.checks.steps.probed import CURVATURE, GRADIENT, INCREMENT, STORED
from sstep_verify.report.case import Case
from sstep_verify.specification import specification
from sstep_verify.verdict import Status, Term, Verdict


def case(task="svm-l1", kernel="rbf sigma=1", block=1, ranks=1) -> Case:
    return Case(
        id="a", problem="p", dataset="d", kernel=kernel, loss="l", task=task, samples=2, features=1, block=block,
        status="PASS", s=(7,), facts={"ranks": ranks},
    )  # fmt: skip


def verdict(status=Status.PASS, check="step-replay", seen=(), sentences=(), unseen=(), **evidence) -> dict:
    terms = tuple(Term(name, Status.PASS, 1e-9, 4, 4, 4) for name in seen)
    terms += tuple(Term(name, Status.VACUOUS, 1e9, 4, 4, 0) for name in unseen)
    return Verdict(
        check, "a", "p", 7, 1, status, 0.1, 0.1, 1.0, "absolute", 4, 4, terms, sentences=sentences,
        evidence=evidence,
    ).as_dict()  # fmt: skip


def outcomes(*verdicts: dict, level: int = 2, update: str = "in-place", **about) -> dict[str, str]:
    return {one.number: one.outcome for one in sentences_of(verdicts, [case(**about)], level, update)}


def test_the_numbers_named_here_are_those_of_the_specification():
    assert {*ABOUT, *ALSO_SEEN, *SHOWN} <= {one.number for one in specification().sentences}


def test_every_check_passed_with_nothing_seen_passes_no_sentence_on_a_quantity():
    found = outcomes(*(verdict(check=check) for check in CHECKS), level=3)
    for sentence in specification().sentences:
        if sentence.quantities:
            assert found[sentence.number] in ("vacuous", "not applicable"), sentence.number


@pytest.mark.parametrize(
    ("number", "about", "other"),
    [
        ("S-1.6", {"kernel": "linear"}, {}),
        ("S-1.7", {}, {"kernel": "polynomial degree=2 offset=1"}),
        ("S-2.5", {"task": "krr", "block": 3}, {"task": "krr"}),
        ("S-4.3", {"ranks": 2}, {}),
        ("S-1.4", {"task": "krr"}, {}),
    ],
)
def test_a_sentence_passes_on_a_problem_that_it_is_about_and_on_no_other(number, about, other):
    passed = verdict(seen=("samples",))
    assert outcomes(passed, **about)[number] == "passed"
    assert outcomes(passed, **other)[number] == "not applicable"


def test_a_quantity_must_have_been_seen_all_of_them():
    assert outcomes(verdict(seen=("write-back",)))["S-3.12"] == "vacuous"
    both = verdict(seen=("write-back",)), verdict(check="window-replay", seen=("window-boundary",))
    assert outcomes(*both)["S-3.12"] == "passed"
    assert outcomes(verdict(Status.VACUOUS, seen=("write-back", "window-boundary")))["S-3.12"] == "vacuous"


@pytest.mark.parametrize(
    ("update", "found"), [("in-place", "passed"), ("added", "passed"), ("frozen", "vacuous")]
)
def test_a_quantity_that_only_a_frozen_update_has_is_asked_of_no_other(update, found):
    assert outcomes(verdict(seen=("same-coordinate",)), update=update)["S-3.6"] == found
    assert outcomes(verdict(), update=update)["S-3.6"] == "vacuous"
    assert outcomes(verdict(seen=("same-coordinate", "overlap")), update=update)["S-3.6"] == "passed"


@pytest.mark.parametrize(
    ("kernel", "seen", "found"),
    [
        ("linear", ("data-up",), "passed"),
        ("linear", ("labels", "restart"), "vacuous"),
        ("rbf sigma=1", ("data-up", "data-down", "labels", "restart"), "vacuous"),
    ],
)
def test_no_threshold_is_shown_by_scaling_alone_that_changes_a(kernel, seen, found):
    passed = verdict(), verdict(check="metamorphic-exact", seen=seen)
    told = outcomes(*passed, kernel=kernel)
    assert (told["S-3.11"], told["S-4.5"]) == (found, found)


@pytest.mark.parametrize(("kernel", "way", "found"), [
    ("rbf sigma=1", "targets-up", "passed"), ("rbf sigma=1", "data-up", "vacuous"),
    ("linear", "data-up", "vacuous"),
])  # fmt: skip
def test_data_scaled_leave_a_of_a_ridge_as_it_is_and_targets_do_not(kernel, way, found):
    passed = verdict(check="metamorphic-exact", seen=(way,))
    assert outcomes(passed, task="krr", kernel=kernel)["S-4.5"] == found


def test_a_fail_fails_what_it_names_and_an_inconclusive_check_passes_nothing():
    failed = verdict(Status.FAIL, sentences=("S-3.5", "S-3.1"))
    found = outcomes(failed, verdict(seen=("kernel-correction",)))
    assert (found["S-3.5"], found["S-3.1"]) == ("failed", "failed")
    assert found["S-1.1"] == "passed", "another run passed, and no FAIL names it"
    assert outcomes(failed)["S-1.1"] == "vacuous"
    found = outcomes(verdict(), verdict(Status.INCONCLUSIVE))
    assert set(found.values()) <= {"inconclusive", "vacuous", "not applicable"}


def test_a_check_that_names_a_sentence_and_does_not_decide_it_shows_nothing_of_it():
    passed = outcomes(verdict(), verdict(check="window-replay"))
    assert (passed["S-2.1"], passed["S-2.8"]) == ("not applicable", "not applicable")
    assert outcomes(verdict(check="contract"), task="krr", block=3)["S-2.5"] == "not applicable"
    assert outcomes(verdict(Status.FAIL, sentences=("S-2.2", "S-2.8")))["S-2.8"] == "failed"


@pytest.mark.parametrize(
    ("number", "check", "seen"),
    [
        ("S-1.2", "metamorphic-exact", ("labels",)),  # labels inside the kernel leave it as it is
        ("S-1.3", "box", ("clip dropped",)),  # nothing of omega
        ("S-2.1", "contract", ()),  # an adapter puts a0 in the first place
        ("S-2.1", "trajectory", ()),  # from a = 0 alone
        ("S-2.4", "contract", ()),  # the s that it was asked for, not the windows that it made
        ("S-2.8", "metamorphic-exact", ("labels", "data-up")),  # no run was continued
        ("S-2.9", "contract", ()),  # no run was made twice
        ("S-5.5", "claim-honesty", ("value of an earlier a",)),  # of which value, no verdict tells
        ("S-6.3", "contract", ()),  # no rank was compared
    ],
)
def test_a_pass_of_a_part_shows_nothing_of_the_rest(number, check, seen):
    assert outcomes(verdict(check=check, seen=seen), level=3)[number] in ("vacuous", "not applicable")


def test_a_run_that_goes_on_from_its_a_shows_where_runs_start():
    restarted = verdict(check="metamorphic-exact", seen=("data-up", "restart"))
    found = outcomes(restarted)
    assert (found["S-2.1"], found["S-2.8"]) == ("passed", "passed")


@pytest.mark.parametrize(
    ("task", "seen", "found"),
    [
        ("svm-l1", ("lower-end",), "vacuous"),
        ("svm-l1", ("lower-end", "upper-end"), "passed"),
        ("svm-l2", ("lower-end",), "vacuous"),
        ("svm-l2", ("lower-end", "omega"), "passed"),
    ],
)
def test_a_box_is_shown_where_its_ends_were_seen_and_the_shift_where_there_is_one(task, seen, found):
    assert outcomes(verdict(seen=seen), task=task)["S-1.3"] == found


def test_words_that_nobody_counted_are_not_said_to_be_right():
    counted = verdict(check="message-count", counted={"collectives": 9})
    assert (outcomes(counted, level=3)["S-6.1"], outcomes(counted, level=3)["S-6.2"]) == (
        "passed",
        "vacuous",
    )
    counted = verdict(check="message-count", counted={"collectives": 9, "panel columns": 9, "words": 90})
    assert outcomes(counted, level=3)["S-6.2"] == "passed"


@pytest.mark.parametrize(
    ("written", "found"),
    [(("kernel rows",), "vacuous"), (("kernel rows", GRADIENT, CURVATURE, INCREMENT, STORED), "passed")],
)
def test_a_phase_that_was_not_written_down_is_not_said_to_be_right(written, found):
    phases = verdict(check="phases", values={name: {"judged": 9, "of": 9, "out": 0} for name in written})
    assert (outcomes(phases)["S-3.14"], outcomes(phases)["S-1.8"]) == (found, "passed")


def test_panels_that_are_declared_and_were_not_exposed_are_not_said_to_be_reported():
    found = outcomes(verdict(check="contract"), verdict(Status.INCONCLUSIVE, "kernel-entries"))
    assert found["S-5.2"] == "inconclusive"


def test_what_needs_a_higher_level_is_not_passed_by_a_weaker_check():
    contract = verdict(check="contract")
    assert outcomes(contract)["S-2.4"] == "not applicable", "its windows were not counted"
    assert outcomes(contract, verdict(check="message-count"))["S-2.4"] == "vacuous", "nor told from s = 1"
    seen = verdict(check="message-count", seen=("communication in every iteration",))
    assert outcomes(contract, seen)["S-2.4"] == "passed"


def test_a_step_that_nobody_saw_is_not_said_to_be_right():
    assert outcomes(*(verdict(check=check) for check in CHECKS))["S-3.10"] == "vacuous"

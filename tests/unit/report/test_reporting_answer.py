"""The first screen of a page: the answer and its rows, its picture, the cards of failures, and its size."""

from __future__ import annotations

import csv
import math
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_reporting_documents import case, document, every_status, verdict
from test_reporting_page import Page, html_of

from sstep_verify.problems.data import embedded
from sstep_verify.quantities import KERNEL
from sstep_verify.report import budget, write
from sstep_verify.report.answer import Count, answer_of, by_s, has_one_label, unseen
from sstep_verify.report.cards import lines
from sstep_verify.report.case import CSR, DENSE, GAP, HELD, Run, Series
from sstep_verify.report.plain import count, promised
from sstep_verify.report.ratios import PARTS, not_drawn, not_drawn_in_words, points, ratios
from sstep_verify.report.results import MULTIPLES
from sstep_verify.report.verdicts import CHECKS, failures
from sstep_verify.report.words import LOG, RESIDUAL, brief_hints, defect_in_words, first_line, s_in_words
from sstep_verify.report.write import write_report
from sstep_verify.specification import OFF, specification
from sstep_verify.verdict import (
    BY_INCREMENT,
    FIRST_STEP,
    MESSAGES_ONLY,
    WORST_STEP,
    Coverage,
    Defect,
    Hint,
    HintKind,
    Note,
    NoteKind,
    Place,
    RunError,
    Sensitivity,
    Status,
    Why,
)

ELSEWHERE = Note(NoteKind.CONTINUED, (40.0, 2.0, "step"))
"""A run that began elsewhere than at alpha = 0 was judged."""

(OF_OVERLAP,) = (one.number for one in specification().sentences if "overlap" in one.quantities)


def judged(cases, verdicts, right, exit_code=0, planned=()):
    """A document with the s that are right by case, and what was planned."""
    made = document(cases, verdicts, exit_code)
    return replace(
        made,
        summary=replace(made.summary, right_at=right, steps=20, steps_judged=20),
        campaign=replace(made.campaign, parameters={"planned": list(planned)}),
    )


def missed():
    """A quantity that a run could not have shown."""
    return verdict("a", Status.VACUOUS).terms[0]


def rows_of(results, outcome=Status.PASS):
    return {row.name: row.parts for row in answer_of(results, outcome).rows}


def test_an_s_is_counted_over_the_problems_planned_for_it():
    cases = [case("a", s=(1, 16)), case("b", s=(1, 7)), case("c", s=(1, 16))]
    told = [verdict(one.id, s=s) for one in cases for s in one.s]
    made = judged(cases, told, {"a": [1, 16], "b": [1, 7], "c": [1]})
    assert by_s(made) == {1: Count(3, 3), 7: Count(1, 1), 16: Count(2, 1)}
    assert rows_of(made)["Correct at"] == (
        "s = 1 on 3 of 3 problems", "s = 7 on 1 of 1 problem", "s = 16 on 1 of 2 problems (1 could show nothing)"
    )  # fmt: skip


def test_the_answer_of_a_faulty_solver_says_where_it_fails_and_where_not():
    known = Defect(("correction-dropped",), None, ("S-3.5",))
    cases = [case("a", Status.FAIL), case("b", Status.FAIL)]
    told = [verdict(one.id, s=1) for one in cases]
    told += [verdict(one.id, Status.FAIL, defects=(known,), diagnosed=True) for one in cases]
    made = judged(cases, told, {"a": [], "b": []}, 1)
    said = answer_of(made, Status.FAIL)
    assert "faulty on 2 of 2 problems, first at s = 2" in said.headline
    found = rows_of(made, Status.FAIL)
    assert found["Faulty at"] == ("s = 2 on 2 of 2 problems",)
    assert found["No failure at"] == ("s = 1 on 2 problems",)
    assert "correction-dropped" in found["Cause"][0]
    assert "Correct at" not in found


def test_a_known_defect_keeps_the_name_of_its_card_and_the_problems_that_it_is_named_on():
    sure, rare = Defect(("the other loss",), None, ("S-1.3",)), Defect(("labels left out",), part=(19, 21))
    in_part = (Hint(HintKind.PART_OF_RUN),)
    cases = [case(name, Status.FAIL) for name in "abcd"]
    told = [
        verdict("a", Status.FAIL, defects=(sure,), diagnosed=True),
        verdict("b", Status.FAIL, defects=(rare,), hints=in_part, diagnosed=True),
        verdict("c", Status.FAIL, diagnosed=True),
        verdict("d", Status.FAIL, check="contract"),
    ]
    made = judged(cases, told, {}, 1)
    found, every = rows_of(made, Status.FAIL), failures(made)
    for one in every:
        for cause in one.causes:
            assert any(
                part.startswith(cause) and part.endswith(", on 1 problem") for part in found[one.label]
            )
    assert len({one.label for one in every if one.causes}) == 2
    (without,) = (parts for name, parts in found.items() if name.startswith("No known defect"))
    assert without == ("1 of 4 problems that fail",)


@pytest.mark.parametrize("also", [(), (7,), (7, 16)])
def test_a_known_defect_names_its_s_where_it_is_not_named_at_every_faulty_one(also):
    known = Defect(("one iteration fewer",), None, ("S-2.3",))
    told = [
        verdict("a", Status.FAIL, s=s, diagnosed=True, defects=(known,) * (s == 1 or s in also))
        for s in (1, 7, 16)
    ]
    (cause,) = rows_of(judged([case("a", Status.FAIL, s=(1, 7, 16))], told, {}, 1), Status.FAIL)["Cause"]
    named = (1, *also)
    assert cause.endswith(f", named at {s_in_words(named)}") is (named != (1, 7, 16))
    assert ("named at" in cause) is (named != (1, 7, 16))


@pytest.mark.parametrize("factors", [(-1.0, -1.0), (-1.0, 2.0), (-1.0, None), (2.0,), (None, None)])
def test_a_factor_that_all_failures_share_stands_with_the_known_defect(factors):
    cases = [case(f"c{place}", Status.FAIL) for place, _ in enumerate(factors)]
    told = [
        verdict(one.id, Status.FAIL, defects=(Defect((KERNEL + OFF,), factor, ("S-3.5",)),), diagnosed=True)
        for one, factor in zip(cases, factors, strict=True)
    ]
    (cause,) = rows_of(judged(cases, told, {}, 1), Status.FAIL)["Cause"]
    shared = factors[0] if len(set(factors)) == 1 else None
    assert cause == defect_in_words(Defect((KERNEL + OFF,), shared))


def hints_of(*hints):
    cases = [case(f"c{place}", Status.FAIL) for place, _ in enumerate(hints)]
    told = [
        verdict(one.id, Status.FAIL, hints=own, diagnosed=True)
        for one, own in zip(cases, hints, strict=True)
    ]
    return rows_of(judged(cases, told, {}, 1), Status.FAIL).get("Hint", ())


@pytest.mark.parametrize("counts", [[(54, 54)], [(54, 54), (43, 43), (30, 31)], [(1, 9), (0, 9)]])
def test_a_hint_that_all_failures_share_has_the_sums_of_what_they_count(counts):
    hints = [(Hint(HintKind.PARTS_IN_FLOAT32, pair),) for pair in counts]
    (said,) = hints_of(*hints)
    over, of = map(sum, zip(*counts, strict=True))
    assert said == brief_hints([Hint(HintKind.PARTS_IN_FLOAT32, (over, of))])[0]
    assert hints_of(*hints, ()) == ()
    assert hints_of(*hints, (Hint(HintKind.UNDRAWN_MOVED),)) == ()


@pytest.mark.parametrize(("kind", "shared"), [(HintKind.LAST_WINDOW, True), (HintKind.CONVENTION, False)])
def test_a_hint_with_other_details_is_shared_unless_it_names_something_else(kind, shared):
    details = [(1, 6), (1, 7), (6, 16)] if shared else [("m = 1",), ("omega = 0",)]
    found = hints_of(*[(Hint(kind, detail),) for detail in details])
    assert bool(found) is shared
    assert len({*found}) == len(found)
    assert len(hints_of(*[(Hint(kind, details[0]),)] * 3)) == 1
    assert hints_of((Hint(HintKind.UNDRAWN_MOVED),)) == ()


def test_problems_on_which_every_run_ended_in_an_error_are_counted_by_its_kind():
    def contract(name, s, kind, quoted=False):
        raised = (RunError(f"s={s}", kind, "no", quoted),) if kind else ()
        return verdict(name, Status.FAIL if kind else Status.PASS, s=s, check="contract", raised=raised)

    told = [contract(name, s, "TypeError") for name in "ab" for s in (1, 2)]
    told += [contract("c", 1, "TypeError"), contract("c", 2, "")]  # At another s it ended well.
    told += [contract("d", 2, "ProgramError", quoted=True)]
    cases = [case(name, Status.FAIL, s=(1, 2)) for name in "abcd"]
    found = rows_of(judged(cases, told, {}, 1), Status.FAIL)["Runs failed at every s on"]
    assert [part.partition(":")[0] for part in found] == ["2 of 4 problems", "1 of 4 problems"]
    assert ["TypeError" in part for part in found] == [True, False]


def test_what_was_not_looked_at_follows_from_the_records():
    none = rows_of(judged([case("a")], [verdict("a", notes=(ELSEWHERE,))], {"a": [2]}))["Not looked at"]
    assert [part.partition(" ")[0] for part in none] == ["larger", "runs", "several", "communication", "s"]
    ranked = case("a", facts={"ranks": 4})
    hidden = rows_of(judged([case("a")], [verdict("a", terms=(missed(),))], {"a": [2]}))
    assert "some parts of a step: overlap on 1 problem" in hidden["Not looked at"]
    more = rows_of(judged([ranked], [verdict("a"), verdict("a", check="message-count")], {"a": [2]}))
    assert "more than 4 ranks" in more["Not looked at"]
    assert not any(part.startswith("communication") for part in more["Not looked at"])
    only = replace(verdict("a", check="message-count"), units=MESSAGES_ONLY)
    without = rows_of(judged([ranked], [verdict("a"), only], {"a": [2]}))["Not looked at"]
    assert sum(part.startswith("words of messages") for part in without) == 1
    assert not any(part.startswith("words of messages") for part in more["Not looked at"])
    few = judged([ranked], [verdict("a")], {"a": [2]})
    few = replace(few, campaign=replace(few.campaign, parameters={MULTIPLES: {"features": [2, 4]}}))
    told = "numbers of features that are no multiple of 2 or 4 ranks"
    assert told in rows_of(few)["Not looked at"]
    short = [verdict("a"), verdict("a", s=64, check="trajectory"), verdict("a", s=7, check="contract")]
    few = rows_of(judged([case("a", s=(2, 7, 64))], short, {"a": [2]}))["Not looked at"]
    assert [part.partition(":")[0] for part in few if "final vectors" in part] == [
        "steps and windows at s = 64"
    ]
    ends = rows_of(judged([case("a")], [verdict("a", check="trajectory")], {"a": [2]}))["Not looked at"]
    assert any("only final vectors" in part for part in ends)


@pytest.mark.parametrize("made", [0, 3])
@pytest.mark.parametrize("why", [Why.NO_BOUND, Why.NO_EFFECT])
def test_a_check_that_compared_nothing_for_want_of_a_bound_is_not_looked_at(made, why):
    def undecided(name, check, executed=0):
        return verdict(name, Status.VACUOUS, s=2, check=check, executed=executed, why=why)

    told = [verdict(name) for name in "ab"]
    told += [
        undecided("a", "trajectory"),
        undecided("a", "sstep-equals-classical"),
        undecided("a", "contract"),
    ]
    told += [undecided("b", "trajectory", made), undecided("b", "sstep-equals-classical")]
    found = [
        part
        for part in unseen(judged([case(name) for name in "ab"], told, {}))
        if "no finite bound" in part
    ]
    names = ["trajectory"] * (made == 0) + ["sstep-equals-classical"]
    expected = [" and ".join(names)] if why is Why.NO_BOUND else []
    assert [part.partition(":")[0] for part in found] == expected


def not_met(*cases, notes=()):
    """What none of these problems has, by its words."""
    right = {one.id: [2] for one in cases}
    told = list(unseen(judged(cases, [verdict(one.id, notes=notes) for one in cases], right)))
    words = {
        "label": "label -1", "offset": "an offset", "block": "of several", "start": "begin elsewhere",
        "csr": "data held as CSR", "dense": "data held as dense",
    }  # fmt: skip
    return {name for name, said in words.items() if any(said in part for part in told)}


def test_what_none_of_the_problems_has_is_not_looked_at():
    """A solver that errs with one label, with an offset or with a block of several passes where none has it."""
    plus = case("a", dataset="edges-11x10_one_label")
    both, none = case("b", dataset="edges-11x10"), case("c", kernel="polynomial d=3 c=0")
    offset = case("d", kernel="polynomial d=2 c=1.5")
    single = case("e", task="krr", dataset="dense-20x8_regression", block=1)
    several = replace(single, id="f", block=3)
    expected = [
        ((plus,), {"label"}), ((plus, both), set()), ((none,), {"offset"}), ((none, offset), set()),
        ((both,), set()), ((single,), {"block"}), ((single, several), set()), ((plus, single), {"label", "block"}),
    ]  # fmt: skip
    for cases, names in expected:
        assert not_met(*cases, notes=(ELSEWHERE,)) == names


def test_the_form_of_data_that_no_function_was_given_is_not_looked_at():
    """A program gets a file of samples, which is the same for both."""
    dense, sparse = (replace(case(held), facts={HELD: held}) for held in (DENSE, CSR))
    of_file = case("program")
    expected = [
        ((dense,), {"csr"}), ((sparse,), {"dense"}), ((dense, sparse), set()),
        ((dense, of_file), set()), ((sparse, of_file), set()), ((of_file,), set()),
    ]  # fmt: skip
    for cases, names in expected:
        assert not_met(*cases, notes=(ELSEWHERE,)) == names


def test_a_start_elsewhere_was_looked_at_where_a_run_was_continued_or_had_a_first_alpha():
    one, later = case("a"), case("data/linear/svm-l1/C=1/mine-start=3")
    assert not_met(one) == {"start"}
    assert not_met(one, notes=(ELSEWHERE,)) == not_met(later) == set()


@pytest.mark.parametrize("like", [*embedded.LIKE, *embedded.SHAPES, "duke", "my"])
@pytest.mark.parametrize("size", ["", "-11x10", "-267x9"])
@pytest.mark.parametrize("end", ["", embedded.ONE_LABEL, embedded.REGRESSION])
def test_a_data_set_of_one_label_is_known_by_its_name(like, size, end):
    name = like + size + end
    if embedded.knows(name):
        assert has_one_label(name) == embedded.has_one_label(name)


def test_what_failed_was_looked_at():
    failed = verdict("a", Status.FAIL, check="contract", s=7, requirement="S-4.2")
    passed = verdict("a", terms=(missed(),))
    told = rows_of(judged([case("a", Status.FAIL, s=(2, 7))], [passed, failed], {"a": [2]}, 1), Status.FAIL)
    assert "s above 7" in told["Not looked at"]
    assert "some parts of a step: overlap on 1 problem" in told["Not looked at"]
    of_it = replace(failed, requirement=OF_OVERLAP)
    told = rows_of(judged([case("a", Status.FAIL, s=(2, 7))], [passed, of_it], {"a": [2]}, 1), Status.FAIL)
    assert not any(part.startswith("some parts") for part in told["Not looked at"])


def test_what_nothing_tested_on_a_problem_whose_log_failed_is_not_looked_at():
    """Its windows would have shown it, at that s or another, or the failure is about it: then it was tested."""

    def parts(*others, **changes):
        of_log = {"check": "step-replay", "terms": (missed(),), "requirement": "S-4.2", **changes}
        told = [verdict("a", Status.FAIL, **of_log), *others]
        found = unseen(judged([case("a", Status.FAIL), case("b")], told, {}))
        return {part for part in found if "some parts" in part}

    hidden = {"some parts of a step: overlap on 1 problem"}
    assert parts() == parts(verdict("b")) == hidden
    assert parts(verdict("a", Status.FAIL, terms=(missed(),))) == hidden
    assert parts(verdict("a", Status.FAIL)) == parts(verdict("a", s=7)) == set()
    assert parts(requirement=OF_OVERLAP) == parts(executed=0) == parts(check="window-replay") == set()


def test_a_problem_on_which_nothing_was_compared_is_not_looked_at():
    """A solver that raised on the largest problem was compared on the smaller one only."""
    large = case("b", Status.FAIL, s=(1, 64), samples=999, features=77, facts={"ranks": 4})
    raised = [verdict("b", Status.FAIL, s=s, check="contract") for s in large.s]
    found = rows_of(judged([case("a"), large], [verdict("a"), *raised], {"a": [2]}, 1), Status.FAIL)
    small = case("a")
    parts = found["Not looked at"]
    assert parts[0] == "1 of 2 problems: nothing but the contract of its runs was checked"
    assert f"larger data than {count(small.samples)} samples or {count(small.features)} features" in parts
    assert "several ranks (each run had one)" in parts
    assert "s above 2" in parts
    nothing = rows_of(judged([large], raised, {}, 1), Status.FAIL)["Not looked at"]
    assert nothing == ("1 of 1 problem: nothing but the contract of its runs was checked",)
    idle = [replace(one, executed=0, status=Status.VACUOUS) for one in raised]
    (neither,) = rows_of(judged([large], idle, {}, 1), Status.VACUOUS)["Not looked at"]
    assert neither == "1 of 1 problem: nothing of its runs was checked"


@pytest.mark.parametrize("made", [(95,), (7, 1_300), (1, None), (None,), ()])
def test_runs_longer_than_the_longest_are_not_looked_at(made):
    """A defect of late iterations is in no shorter run."""
    runs = tuple(Run(s, iterations, "all iterations made") for s, iterations in enumerate(made, start=1))
    longer = [
        part
        for part in unseen(judged([case("a", runs=runs)], [verdict("a")], {"a": [2]}))
        if "iteration" in part
    ]
    known = [number for number in made if number]
    assert [count(max(known)) in part for part in longer] == [True] * bool(known)


@pytest.mark.parametrize("check", ["rank-coherence", "message-count"])
@given(
    ranks=st.sampled_from([1, 2, 5]),
    asked=st.dictionaries(st.sampled_from([1, 6, 7, 64]), st.sampled_from([None, *Status]), min_size=1),
)
def test_the_s_at_which_ranks_or_messages_were_not_compared_are_named(check, ranks, asked):
    """A further s has no count of messages, and a program without files of its ranks nothing to compare."""
    told = [verdict("a", s=s) for s in asked]
    told += [verdict("a", status, s=s, check=check) for s, status in asked.items() if status is not None]
    made = judged([case("a", s=tuple(asked), facts={"ranks": ranks})], told, {"a": [*asked]})
    words = {"rank-coherence": "whether all ranks", "message-count": "the number of messages"}[check]
    said = [part for part in unseen(made) if part.startswith(words)]
    decided = {s for s, status in asked.items() if status in (Status.PASS, Status.FAIL)}
    left = set(asked) - decided
    due = bool(left) and (ranks > 1 if check == "rank-coherence" else bool(decided))
    assert len(said) == due
    assert all(part.endswith(f" at {s_in_words(left)}") is bool(decided) for part in said)


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_messages_are_missed_at_the_s_of_several_ranks_alone_where_there_are_any(ranks):
    """One case has one rank, on which a further s (16) has no count; the other has one at each s."""
    cases = [case("one", s=(1, 16), facts={"ranks": 1}), case("more", s=(1, 16), facts={"ranks": ranks})]
    made = judged(
        cases,
        [
            *(verdict(name, s=s) for name in ("one", "more") for s in (1, 16)),
            verdict("one", check="message-count", s=1),
            *(verdict("more", check="message-count", s=s) for s in (1, 16)),
        ],
        {"one": [1, 16], "more": [1, 16]},
    )
    said = [part for part in unseen(made) if part.startswith("the number of messages")]
    assert len(said) == (ranks == 1)


def test_an_s_that_is_correct_on_no_case_that_passed_is_named_without_the_case():
    """With one sample no correction of other coordinates exists: the case is VACUOUS, and s = 1 correct."""
    one = case("a", Status.VACUOUS, s=(1, 4), samples=1, features=2)
    empty = verdict("a", Status.VACUOUS, s=4)
    made = judged([one], [verdict("a", s=1), empty], {"a": [1]}, 3)
    answer = answer_of(made, Status.INCONCLUSIVE)
    assert answer.headline.startswith("At s = 1 ")
    assert "0 of" not in answer.headline
    assert "larger data than 1 sample or 2 features" in dict(answer.rows)["Not looked at"]


def test_windows_that_nothing_observed_are_no_correct_s():
    hidden = verdict("a", notes=(Note(NoteKind.UNOBSERVED),))
    found = rows_of(judged([case("a")], [verdict("a", s=1), hidden], {"a": [1, 2]}))
    assert found["Correct at"] == ("s = 1 on 1 of 1 problem",)
    assert found["Correct, but no windows of s were observed, at"] == ("s = 2 on 1 of 1 problem",)


def test_a_solver_of_which_no_windows_were_observed_is_neither_correct_at_an_s_nor_unknown():
    made = judged([case("a")], [verdict("a", notes=(Note(NoteKind.UNOBSERVED),))], {"a": [2]})
    said = answer_of(made, Status.PASS)
    assert said.headline.startswith("What was judged of the solver ")
    assert "Correct at" not in {row.name for row in said.rows}
    none = answer_of(
        judged([case("a", Status.VACUOUS)], [verdict("a", Status.VACUOUS)], {}), Status.VACUOUS
    )
    assert none.headline.startswith("Nothing shows ")


def would_have_shown(*limits):
    """The row of runs with these limits of detection, one a run."""
    told = [
        verdict("a", s=2 + number, terms=(Sensitivity(KERNEL, Status.PASS, limit, 12, 12, 12),))
        for number, limit in enumerate(limits)
    ]
    values = [one.s for one in told]
    return rows_of(judged([case("a", s=tuple(values))], told, {"a": values})).get("Would have shown", ())


def test_the_errors_that_would_have_shown_are_rounded_up_and_never_better_than_a_run():
    found = would_have_shown(1.01e-14, 3e-12, 2e-14)
    assert f" {promised(2e-14)} " in found[0]
    assert found[1].startswith(f"{promised(3e-12)} ")


ERROR = "a relative error of {} in the kernel correction"


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        pytest.param([2e-14], [ERROR + " (one run)"], id="one run"),
        pytest.param([math.inf], ["in 1 run no error in the kernel correction for certain"], id="one, none"),
        pytest.param(
            [2e-14, 1e-14, math.inf], [ERROR + " (median of 3 runs)", "in 1 run no error for certain"],
            id="a median",
        ),
        pytest.param(
            [2e-14, math.inf], [ERROR + " in 1 of 2 runs", "in 1 run no error for certain"], id="no median"
        ),
        pytest.param(
            [math.inf, math.inf], ["in 2 runs no error in the kernel correction for certain"], id="none"
        ),
    ],
)  # fmt: skip
def test_limits_of_one_run_and_runs_without_any_are_said_as_such(limits, said):
    assert would_have_shown(*limits) == tuple(line.format(promised(2e-14)) for line in said)


@pytest.mark.parametrize("outcome", ["FAIL", "INCONCLUSIVE", "ERROR", "INTERRUPTED"])
def test_an_outcome_that_the_rows_do_not_explain_keeps_the_whole_sentence(outcome):
    made = judged([case("a")], [verdict("a")], {"a": [2]}, 3, planned=("a", "b", "c"))
    said = answer_of(made, outcome)
    assert said.with_sentence == (outcome != "INTERRUPTED")
    assert ("so far" in said.headline) == (outcome == "INTERRUPTED")
    assert "on 1 of 3 problems" in said.headline
    assert ("Not judged", ("2 of the 3 problems planned",)) in said.rows


def test_an_expected_failure_that_is_not_met_is_what_fails_where_all_others_were_expected():
    known = [{"id": "a", "kind": "window-replay: FAIL", "reason": "x"}]
    told = [verdict("a", Status.FAIL), verdict("b")]
    made = judged([case("a", Status.FAIL), case("b")], told, {"b": [2]}, 1)
    expected = replace(made, campaign=replace(made.campaign, parameters={"expected_failures": known}))
    said = answer_of(expected, Status.FAIL)
    assert "as expected" in said.headline
    assert "not met" in said.headline
    assert said.with_sentence
    assert not answer_of(made, Status.FAIL).with_sentence
    assert "as expected" not in answer_of(made, Status.FAIL).headline


def test_a_vector_and_a_report_without_verdicts_have_no_such_answer():
    vector = case("a", runs=(Run(1, 0, "nothing was run: the vector was handed over"),))
    assert answer_of(document([vector], [verdict("a")]), Status.PASS) is None
    assert answer_of(document([case("a")], []), Status.PASS) is None


def test_the_picture_holds_the_largest_ratio_of_each_s_and_part_of_the_axis(tmp_path):
    steps = [{"step": k, "ratio": k / 1000, "status": "PASS"} for k in range(1, 401)]
    windows = [
        {"begin": 0, "end": 8, "ratio": None, "status": "FAIL"},
        {"begin": 8, "end": 16, "ratio": None, "status": "INCONCLUSIVE"},
    ]
    ends = [{"iteration": 9, "ratio": 0.5, "status": "PASS"}]
    told = [
        verdict("a", check="step-replay", s=1, evidence={"exact_steps": steps}),
        verdict("a", Status.FAIL, s=8, evidence={"windows": windows}),
        verdict("a", check="trajectory", s=8, evidence={"points": ends}),
        verdict("b", check="trajectory", s=8, evidence={"points": ends}),
    ]
    made = document([case("a", Status.FAIL), case("b")], told, 1)
    found = points(made)
    assert [(one.s, one.iteration, one.ratio) for one in found[-2:]] == [(8, 8, math.inf), (8, 9, 0.5)]
    figure, table = ratios(made)
    assert len([one for one in table.rows if one.s == 1]) <= PARTS + 1
    assert max(one.ratio for one in table.rows if one.s == 1) == 0.4
    for words in ("iteration", "error / bound", "s = 1 (classical)", "s = 8", "∞"):
        assert f">{words}</text>" in figure.svg
    assert "1 of 402 are above the bound" in figure.text
    folder = write_report(made, tmp_path / "report")
    assert (folder / "figures" / "ratios.svg").is_file()
    with open(folder / "tables" / "ratios.csv", encoding="utf-8", newline="") as stream:
        assert len(list(csv.DictReader(stream))) == len(table.rows)
    page = (folder / "index.html").read_text("utf-8")
    assert page.index("<h1>") < page.index('<dl class="answer">') < page.index("<svg") < page.index("<nav")


def test_many_values_of_s_share_markers_and_every_point_is_drawn_once():
    told = [
        verdict("a", s=s, evidence={"windows": [{"begin": 0, "end": s, "ratio": 0.1, "status": "PASS"}]})
        for s in range(1, 40)
    ]
    figure, table = ratios(document([case("a", s=tuple(range(1, 40)))], told))
    named = re.findall(r">(s = [^<]*)</text>", figure.svg)
    assert len(named) <= 8
    assert (named[0], named[-1].rpartition(" ")[2]) == ("s = 1 (classical)", "39")
    assert (
        figure.svg.count("translate(") == len(table.rows) + len(named) + 1
    )  # the name of an axis is turned


@pytest.mark.parametrize("beyond", [(), (1,), (7,), (1, 7)])
def test_the_caption_names_the_failures_that_the_picture_does_not_show(beyond, tmp_path):
    scaled = "metamorphic-exact"
    told = [
        verdict(
            "a", Status.FAIL if s in beyond else Status.PASS, s=s, check="step-replay",
            evidence={"exact_steps": [{"step": 2, "ratio": 9.0 if s in beyond else 0.1, "status": "PASS"}]},
        )
        for s in (1, 7, 64)
    ]  # fmt: skip
    told += [verdict("a", Status.FAIL, s=s, check=scaled) for s in (7, 1)]
    told += [verdict("b", Status.FAIL, s=64, check="box"), verdict("a", s=64, check=scaled)]
    made = document([case("a", Status.FAIL), case("b", Status.FAIL)], told, 1)
    hidden = [s for s in (1, 7) if s not in beyond]
    assert not_drawn(made, points(made)) == {**({scaled: hidden} if hidden else {}), "box": [64]}
    figure, _ = ratios(made)
    caption = html_of(made, tmp_path / "report").partition("<figcaption>")[2].partition("</figcaption>")[0]
    for words in (figure.text, caption):
        assert (scaled in words) is bool(hidden)
        assert "box" in words


def test_a_picture_that_shows_every_failure_says_nothing_of_others():
    windows = [{"begin": 0, "end": 8, "ratio": 3.0, "status": "FAIL"}]
    told = [verdict("a", Status.FAIL, s=8, evidence={"windows": windows}), verdict("a", Status.FAIL, 8)]
    made = document([case("a", Status.FAIL)], told, 1)
    assert not_drawn(made, points(made)) == {}
    assert not_drawn_in_words(made, points(made)) == ""


def test_no_picture_is_drawn_of_verdicts_without_iterations():
    assert ratios(document([case("a")], [verdict("a"), verdict("a", evidence={"windows": 3})])) is None


def test_a_card_has_place_values_error_defect_requirement_and_command(tmp_path):
    wrong = verdict(
        "a", Status.FAIL, s=7, check="step-replay", ratio=2e5, measured=3e-10, bound=1.5e-15,
        place=Place(2, 3, 23, None, 0.3, 0.25), diagnosed=True, requirement="S-3.5",
        defects=(Defect(("correction-dropped",), 1 + 1e-9, ("S-3.5",)),), evidence={"worst_step": 19},
        hints=(Hint(HintKind.LAST_WINDOW, (3, 8)),),
        coverage=Coverage("step", 95, 95), replay="sstep-verify explain --again artefacts/a",
    )  # fmt: skip
    made = document([case("a", Status.FAIL)], [wrong], 1)
    (failure,) = failures(made)
    found = {line.name: line.text for line in lines(failure)}
    assert found["Where"].startswith("step 3")
    assert found["Where"].endswith(", s = 7, in a")
    assert "23" in found["Where"] + found["Found"]
    assert found["Found"].endswith("= 0.3")
    assert found["Exact"] == "0.25"
    assert all(part in found["Largest ratio"] for part in ("error 3e-10", "allowed 1.5e-15", "step 19"))
    assert found["Largest ratio"].startswith("2e+05: ")
    assert "has 3 of 8 steps" in found["Hint"]
    assert "correction-dropped" in found["Cause"]
    assert found["Factor"] == "1.000000001"
    of_block = document([case("a", Status.FAIL)], [replace(wrong, bound_origin=RESIDUAL)], 1)
    told = {line.name: line.text for line in lines(failures(of_block)[0])}
    assert "residual 3e-10" in told["Largest ratio"]
    assert found["Violates"].startswith("S-3.5: ")
    html = html_of(made, tmp_path / "report")
    card = html[html.index('<article class="card">') : html.index("</article>")]
    assert "<code>sstep-verify explain --again artefacts/a</code>" in card
    assert re.findall("<dt>(.*?)</dt>", card) == list(found)


@pytest.mark.parametrize(("measured", "bound"), [(0.00355, 0.0), (0.00355, 1e-15), (math.inf, 1e-15)])
def test_a_card_calls_the_step_of_the_largest_ratio_by_that_name(measured, bound):
    # The step of the place is off by more: the step of an allowed 0 has no largest error.
    wrong = verdict(
        "a", Status.FAIL, s=7, check="step-replay", ratio=measured / bound if bound else math.inf,
        measured=measured, bound=bound, place=Place(2, 3, 23, None, 0.3, 0.262),
        evidence={"worst_step": 11}, coverage=Coverage("step", 95, 95),
    )  # fmt: skip
    (failure,) = failures(document([case("a", Status.FAIL)], [wrong], 1))
    found = {line.name: line.text for line in lines(failure)}
    assert "Largest error" not in found
    ratio, _, _ = found["Largest ratio"].partition(": ")
    assert (ratio == "infinite") is (not math.isfinite(measured / bound if bound else math.inf))
    assert "step 11" in found["Largest ratio"]


@pytest.mark.parametrize("long", [(), (3,), (11,), (3, 11)])
def test_only_a_step_with_a_residual_has_one_in_its_card_and_its_first_line(long):
    wrong = verdict(
        "a", Status.FAIL, s=7, check="step-replay", ratio=3.84 / 0.25, measured=3.84, bound=0.25,
        place=Place(2, 3, 23, None, 0.3, 0.262), bound_origin=RESIDUAL,
        evidence={WORST_STEP: 11, FIRST_STEP: {"measured": 0.299, "bound": 0.0719}, BY_INCREMENT: [*long]},
    )  # fmt: skip
    (failure,) = failures(document([case("a", Status.FAIL)], [wrong], 1))
    (size,) = (line.text for line in lines(failure) if line.name == "Largest ratio")
    said, *more = wrong.reason.splitlines()
    assert ("residual" in size) is (11 not in long)
    assert all(number in size for number in ("3.84", "0.25"))
    assert ("residual" in said) is (3 not in long)
    assert all(number in said for number in ("0.299", "0.0719", "0.262"))
    (largest,) = (line for line in more if line.startswith("Evidence: "))
    assert ("residual" in largest) is (11 not in long)


def test_a_card_is_named_by_the_check_that_it_shows_and_repeats_the_first_one():
    of_log = verdict(
        "a", Status.FAIL, s=1, check="step-replay", executed=0, place=Place(0, 1, 11, None, 0.0, 0.1),
        ratio=math.inf, measured=math.inf, bound=0.0, requirement="S-3.12",
    )  # fmt: skip
    known = Defect(("one iteration fewer",), None, ("S-2.3",))
    of_run = verdict(
        "a", Status.FAIL, s=1, check="trajectory", defects=(known,), requirement="S-2.3", diagnosed=True,
        place=Place(0, 6, None, None, None, None),
    )  # fmt: skip
    (failure,) = failures(document([case("a", Status.FAIL)], [of_log, of_run], 1))
    assert failure.check == failure.verdict["check"] == "trajectory"
    assert list(failure.others) == ["step-replay"]
    found = {line.name: line.text for line in lines(failure)}
    assert found["Also"] == f"step-replay: {first_line(of_log)}"
    (alone,) = failures(document([case("a", Status.FAIL)], [of_log], 1))
    assert "Also" not in {line.name for line in lines(alone)}


def test_a_card_gives_each_candidate_its_own_factor_in_few_digits():
    candidates = (Defect(("a:off",), 399.99999999999966), Defect(("b:off",), 0.0025), Defect(("c",)))
    wrong = verdict("a", Status.FAIL, diagnosed=True, defects=candidates)
    made = document([case("a", Status.FAIL)], [wrong], 1)
    found = {line.name: line.text for line in lines(failures(made)[0])}
    assert "Factor" not in found
    assert found["Factors"] == "400 (a:off); 0.0025 (b:off)"


def test_a_card_without_a_place_says_what_was_found(tmp_path):
    made = document([case("a", Status.FAIL)], [verdict("a", Status.FAIL, ratio=math.inf, bound=0.0)], 1)
    (failure,) = failures(made)
    found = {line.name: line.text for line in lines(failure)}
    assert found["Where"] == "a"
    assert found["What"]
    assert "Found" not in found


def test_a_page_counts_its_groups_of_failures_which_may_have_one_cause(tmp_path):
    """Failures with one cause are in two groups where they begin at different s."""
    cause = Defect(("correction-dropped",), None, ("S-3.5",))
    wrong = [
        verdict(name, Status.FAIL, s=s, check="step-replay", diagnosed=True, defects=(cause,))
        for name, s in (("a", 7), ("b", 8), ("c", 8))
    ]
    made = document([case(name, Status.FAIL, s=(7, 8)) for name in "abc"], wrong, 1)
    found = failures(made)
    assert [[one.id for one in group.cases] for group in found] == [["a"], ["b", "c"]]
    assert len({group.causes for group in found}) == 1
    text = html_of(made, tmp_path / "report").partition('id="failures-title"')[2].partition("<article")[0]
    assert re.findall(r"\b[0-9]+\b", text) == [str(len(found))]


@pytest.mark.parametrize("logged", [math.nan, None, 0.25])
def test_a_card_says_of_a_log_without_a_number_what_the_verdict_says(logged):
    """In plain values there is no NaN."""
    wrong = verdict(
        "a", Status.FAIL, s=7, check="step-replay", executed=0, requirement="S-5.2",
        place=Place(0, 18, 7, found=0.5, expected=logged, item="log"),
    )  # fmt: skip
    (failure,) = failures(document([case("a", Status.FAIL)], [wrong], 1))
    (what,) = (line.text for line in lines(failure) if line.name == "What")
    assert what == first_line(wrong)
    assert ("Either" in what) is (logged == 0.25)


@pytest.mark.parametrize("item", ["", LOG])
@pytest.mark.parametrize("others", [(), ("window-replay",), ("window-replay", "trajectory")])
def test_a_card_on_a_log_says_of_which_alpha_the_other_failures_are(item, others):
    """A program that leaves its log and final alpha only has every other alpha from the log."""
    at = Place(0, 18, 7, found=0.5, expected=0.25, item=item)
    told = [verdict("a", Status.FAIL, s=7, check=check) for check in others]
    told = [verdict("a", Status.FAIL, s=7, check="step-replay", executed=0, place=at), *told]
    (failure,) = failures(document([case("a", Status.FAIL)], told, 1))
    found = [line.text for line in lines(failure) if line.name == "Fail too"]
    named = [", ".join(others)] * bool(others)
    assert [text.partition(".")[0] for text in found] == named
    assert [text.endswith("of the log.") for text in found] == [item == LOG] * len(named)


def test_unexpected_failures_and_the_smallest_s_come_first():
    cases = [case(name, Status.FAIL) for name in "abc"]
    told = [verdict("a", Status.FAIL, s=16), verdict("b", Status.FAIL, s=7), verdict("c", Status.FAIL, s=2)]
    made = document(cases, told, 1)
    listed = [{"id": "c", "kind": "window-replay: FAIL", "reason": "known"}]
    made = replace(made, campaign=replace(made.campaign, parameters={"expected_failures": listed}))
    assert [(one.expected, one.s) for one in failures(made)] == [(False, 7), (False, 16), (True, 2)]


def large(status, cases=1000, each=10, **changes):
    one = verdict("x", status, **changes).as_dict()
    points = tuple(range(1, 60))
    series = (Series(GAP, 1, points, tuple(1 / x for x in points)),)
    made = document(
        [
            case(f"sized-{k}/linear/svm-l1", status, dataset=f"data {k}", series=series)
            for k in range(cases)
        ],
        [],
    )
    told = ({**one, "case": item.id, "s": s} for item in made.cases for s in range(1, each + 1))
    return replace(
        made, verdicts=tuple(told), summary=replace(made.summary, exit_code=int(status is Status.FAIL))
    )


@pytest.mark.nightly
@pytest.mark.parametrize("status", [Status.PASS, Status.FAIL])
def test_a_page_of_ten_thousand_verdicts_is_small_and_its_links_lead_somewhere(
    status, tmp_path, monkeypatch
):
    monkeypatch.setattr(write, "write_junit", lambda *_: None)  # of the same size whatever the page
    made = large(status, place=Place(0, 7, 3, None, 0.3, 0.25), diagnosed=True)
    assert len(made.verdicts) == 10_000
    folder = write_report(made, tmp_path / "report")
    html = (folder / "index.html").read_text("utf-8")
    assert len(html) < 2_000_000
    page = Page(html)
    assert len(page.tags) < 30_000
    assert {address[1:] for address in page.addresses if address.startswith("#")} <= set(page.ids)
    assert html.count("<tr") < budget.MOST_ROWS + 1_000
    assert html.count('<details class="verdict"') == budget.MOST_VERDICTS
    assert "900 further problems" in page.text
    with open(folder / "tables" / "verdicts.csv", encoding="utf-8", newline="") as stream:
        assert len(list(csv.DictReader(stream))) == 10_000


def test_failures_are_shown_in_full_before_anything_that_passed():
    cases = [case(str(k), Status.FAIL if k == 150 else Status.PASS) for k in range(200)]
    told = [verdict(one.id, Status(one.status)).as_dict() for one in cases]
    chosen = budget.Budget.of(cases, {one["case"]: [one] for one in told}, ())
    assert chosen.cases[0].id == "150"
    assert chosen.parts([told[150]]).unsettled == [told[150]]
    assert chosen.parts([told[199]]).folded == [told[199]]


def contrast(first, second):
    """Contrast of two colours by WCAG 2.2."""

    def luminance(colour):
        full = "".join(2 * digit for digit in colour) if len(colour) == 3 else colour
        parts = [int(full[k : k + 2], 16) / 255 for k in (0, 2, 4)]
        linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_on_its_ground_in_both_schemes(scheme):
    style = (write.TEMPLATES / "style.css").read_text("utf-8")
    light, dark = (
        dict(re.findall(r"--([\w-]+): #([0-9a-f]+);", part)) for part in style.split("@media", 2)[:2]
    )
    colours = light if scheme == "light" else {**light, **dark}
    pairs = [(name, f"{name}-wash") for name in ("pass", "fail", "inconclusive", "vacuous")]
    pairs += [(name, ground) for name in ("text", "soft", "link") for ground in ("page", "wash")]
    for name, ground in pairs:
        assert contrast(colours[name], colours[ground]) >= 4.5, (name, ground)


def test_every_picture_scrolled_region_and_command_has_a_name_of_its_own(tmp_path):
    html = html_of(every_status(), tmp_path / "report")
    assert html.count("<svg") == html.count('role="img" aria-label="')
    for tag in re.findall(r'<(?:pre|div)[^>]*tabindex="0"[^>]*>', html):
        assert "aria-label" in tag
    regions = re.findall(r'role="region" aria-label="([^"]*)"', html)
    assert len(regions) == len(set(regions))
    assert html.count("<h1>") == html.count("<main>") == 1


@pytest.mark.parametrize("check", CHECKS)
def test_the_other_value_of_a_card_is_called_what_it_is(check):
    wrong = verdict(
        "a", Status.FAIL, s=7, check=check, place=Place(2, 3, 23, None, 0.3, 0.25, item="gap"), ratio=2.0
    )
    (failure,) = failures(document([case("a", Status.FAIL)], [wrong], 1))
    names = {line.name for line in lines(failure)}
    of_other_runs = {"determinism": "First run", "sstep-equals-classical": "With s = 1", "box": "Limit"}
    exact = {"step-replay", "window-replay", "kernel-entries", "claim-honesty"}
    assert of_other_runs.get(check, "Exact" if check in exact else "Expected") in names

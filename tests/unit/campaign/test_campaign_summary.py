"""The roll-up of cases, the sentence and the exit code."""

import math
from dataclasses import replace
from types import SimpleNamespace

import pytest

from sstep_verify.campaign.headline import FURTHER, roll_up
from sstep_verify.campaign.model import DISAGREEMENT, INTERNAL, REFUSED, Definition, Finished, Plan, State
from sstep_verify.campaign.summary import (
    ExpectedFailure,
    steps_decided,
    summarise,
    vacuous_lines,
)
from sstep_verify.campaign.verdicts.family import Family, expand
from sstep_verify.campaign.verdicts.kind import KIND
from sstep_verify.checks.registry import PRIMARY
from sstep_verify.checks.trajectory import ENDS_ALONE
from sstep_verify.cli.campaign import _further
from sstep_verify.problems import LinearKernel
from sstep_verify.quantities import KERNEL, UPPER
from sstep_verify.report.case import Case
from sstep_verify.report.results import Campaign
from sstep_verify.trajectory import RAISED
from sstep_verify.verdict import Defect, RunError, Sensitivity, Status, Verdict, Violation, Why


def _verdict(status, s=16, case="a", detection_limit=3e-13):
    vacuous = status is Status.VACUOUS
    term = Sensitivity(
        KERNEL,
        Status.VACUOUS if vacuous else Status.PASS,
        math.inf if vacuous else detection_limit,
        4, 4, 0 if vacuous else 4,
        Why.NO_EFFECT if vacuous else None,
    )  # fmt: skip
    return Verdict(
        "window-replay", case, "p", s, 1, status, 0.1, 0.1, 1.0, "absolute", 4, 4, (term,),
    )  # fmt: skip


def _case(status, name="a", s=(16,)):
    return Case(
        id=name, problem=name, dataset="d", kernel="k", loss="l", task="svm-l1", samples=2, features=1,
        block=1, status=status, s=s,
    )  # fmt: skip


def _erred(kind):
    state = State()
    state.add(Finished(error="x", kind=kind))
    return state


def _summary(statuses, tolerated=(), **changes):
    cases = [_case(status, str(place)) for place, status in enumerate(statuses)]
    verdicts = [_verdict(status, case=str(place)) for place, status in enumerate(statuses)]
    arguments = {
        "planned_cases": len(cases), "steps": 0, "too_few": {}, "state": State(),
    }  # fmt: skip
    definition = Definition("n", "t", "d", (), tolerated_vacuous=tolerated)
    given = {"planned_problems": changes.get("planned_cases", len(cases)), **arguments, **changes}
    return summarise(definition, cases, verdicts, **given)


def test_a_case_is_vacuous_only_if_every_stepped_run_is():
    assert roll_up([_verdict(Status.PASS, 1), _verdict(Status.VACUOUS)])[0] is Status.VACUOUS
    status, reason = roll_up([_verdict(Status.VACUOUS, 2), _verdict(Status.PASS, 16)])
    assert status is Status.PASS
    assert reason == "correct for s = 16; vacuous for s = 2"


@pytest.mark.parametrize("bad", [Status.FAIL, Status.INCONCLUSIVE])
def test_one_bad_run_makes_the_case_bad(bad):
    status, reason = roll_up([_verdict(Status.PASS, 2), _verdict(bad, 64)])
    assert status is bad
    assert reason.startswith("window-replay, s = 64")


def test_the_reason_is_that_of_the_verdict_that_names_a_part_of_the_solver():
    step, relation, window = (
        replace(_verdict(Status.FAIL, s), check=check, requirement=number)
        for s, check, number in (
            (1, "step-replay", "S-3.1"),
            (2, "metamorphic-exact", "S-2.8"),
            (4, "box", "S-3.9"),
        )
    )
    assert roll_up([step, relation, window])[1].startswith("box, s = 4")
    assert roll_up([step, relation])[1].startswith("step-replay, s = 1")
    assert roll_up([relation])[1].startswith("metamorphic-exact, s = 2")


def test_what_a_verdict_finds_is_reported_before_what_the_solver_raised():
    def contract(item, kind="IncoherenceError", quoted=False):
        return replace(
            _verdict(Status.FAIL, 1),
            check="contract",
            requirement="S-6.3",
            violations=(Violation("s=1/continued", item, "no", "", RAISED if kind else ""),),
            raised=(RunError("s=1/continued", kind, "no", quoted),) if kind else (),
        )

    raised = contract("stop reason")
    step = replace(_verdict(Status.FAIL, 1), check="step-replay", requirement="S-3.1")
    entries = replace(_verdict(Status.FAIL, 4), check="kernel-entries", requirement="S-1.8")
    assert roll_up([raised, step, entries])[1].startswith("kernel-entries, s = 4")
    assert roll_up([raised, step])[1].startswith("contract, s = 1")
    # What is wrong with what a solver left is no error of the solver's own.
    for ours in (contract("stop reason", "RepeatedDrawError", quoted=True), contract("finite", "")):
        assert roll_up([ours, step, entries])[1].startswith("contract, s = 1")


def test_the_command_that_is_offered_explains_the_verdict_that_the_case_is_reported_by(tmp_path):
    step = replace(
        _verdict(Status.FAIL, 1), requirement="S-3.1", replay="sstep-verify explain --again a.json"
    )
    part = replace(
        _verdict(Status.FAIL, 2),
        check="kernel-entries",
        defects=(Defect(("x",), requirements=("S-1.8", "S-1.6")),),
        replay="sstep-verify explain --again b.json",
    )
    status, reason = roll_up([step, part])
    assert reason.startswith("kernel-entries, s = 2")
    results = SimpleNamespace(
        campaign=Campaign("n"), verdicts_of=lambda case: [step.as_dict(), part.as_dict()]
    )
    case = SimpleNamespace(id="a", status=status)
    assert _further(results, case, tmp_path) == f"more: sstep-verify explain {tmp_path / 'b.json'}"


def test_a_case_without_verdicts_is_not_right():
    assert roll_up([])[0] is Status.VACUOUS


@pytest.mark.parametrize(
    ("statuses", "changes", "code"),
    [
        ([Status.PASS], {}, 0),
        ([Status.PASS, Status.VACUOUS], {"tolerated": ("1",)}, 0),
        ([Status.PASS, Status.VACUOUS], {"tolerated": ("0",)}, 3),
        ([Status.INCONCLUSIVE, Status.PASS], {}, 3),
        ([Status.FAIL, Status.INCONCLUSIVE], {}, 1),
        ([Status.PASS], {"too_few": {"": ["x"]}}, 3),
        ([Status.PASS], {"planned_cases": 2}, 3),
        ([Status.PASS], {"planned_cases": 2, "state": State(interrupted=True)}, 130),
        ([Status.FAIL], {"state": _erred(INTERNAL)}, 4),
        ([Status.PASS], {"state": _erred(DISAGREEMENT)}, 4),
        ([Status.PASS], {"state": _erred(REFUSED)}, 3),
        ([], {"planned_cases": 1}, 3),
    ],
)
def test_exit_code(statuses, changes, code):
    assert _summary(statuses, **changes).exit_code == code


def test_what_makes_a_run_incomplete_is_reported_once_with_how_many_other_reasons_there_are():
    refused = _summary([], planned_cases=1, state=_erred(REFUSED)).sentence
    assert refused.endswith("; incomplete: not judged: x (1 of 1 problem not finished)")
    refused = _summary([Status.PASS], planned_cases=5, state=_erred(REFUSED)).sentence
    assert refused.endswith("; incomplete: not judged: x (4 of 5 problems not finished)")
    few = _summary([Status.PASS], planned_cases=2, too_few={"a": ["0 made, 1 needed"] * 2}).sentence
    assert few.endswith("; incomplete: 1 of 2 problems not finished (and 2 other reasons)")
    few = _summary([Status.PASS], too_few={"a": ["0 made, 1 needed"] * 2}).sentence
    assert few.endswith("; incomplete: 0 made, 1 needed (and 1 other reason)")
    assert _summary([Status.PASS], planned_cases=2).sentence.endswith(
        "incomplete: 1 of 2 problems not finished"
    )


def test_what_is_not_finished_is_counted_as_what_was_planned():
    """The one finished case has a problem of its own, whatever the others have."""
    cases = _summary([Status.PASS], planned_cases=8, planned_problems=3).sentence
    assert cases.endswith("7 of 8 cases not finished")
    assert _summary([], planned_cases=8, planned_problems=3).sentence.endswith("8 of 8 cases not finished")


def test_problems_are_distinguished_by_data_kernel_task_and_parameter():
    family = Family(("small_regression",), ("krr",), (LinearKernel(),), (1, 2), (0.3,), block=(1, 2))
    definition = Definition("n", "t", "d", families=(family,))
    (unit,) = expand(definition)
    assert len(unit.keys) == 2
    made = KIND.assemble(Plan(definition), [unit], State())
    assert made.summary.sentence.endswith("2 of 2 cases not finished")


def _summed(cases, verdicts, definition=None, steps=0, too_few=None):
    return summarise(
        definition or Definition("n", "t", "d", ()), cases, verdicts, planned_cases=len(cases), planned_problems=len(cases), steps=steps,
        too_few=too_few or {}, state=State(),
    )  # fmt: skip


def test_vacuous_verdicts_of_a_check_are_limited_where_the_campaign_says_so():
    verdicts = [_verdict(Status.PASS), _verdict(Status.VACUOUS, 32), _verdict(Status.VACUOUS, 64)]

    def code(limits):
        definition = Definition("n", "t", "d", (), tolerated_vacuous_per_check=limits)
        summary = _summed([_case(Status.PASS)], verdicts, definition)
        return (
            summary.exit_code,
            "vacuous verdicts of window-replay that are not tolerated" in summary.sentence,
        )

    assert code(None) == code({"window-replay": ("a",)}) == code({"window-replay": ("?",)}) == (0, False)
    assert code({"window-replay": ("a, s=32", "a, s=6*")}) == (0, False)
    assert code({"window-replay": ("a, s=32",)}) == code({"box": ("a",)}) == (3, True)


def test_vacuous_cases_are_tolerated_by_id_and_listed():
    summary = _summary([Status.PASS, Status.VACUOUS, Status.VACUOUS], tolerated=("1",))
    assert summary.exit_code == 3
    assert "vacuous on 2 problems (1, 2)" in summary.sentence
    assert "incomplete: vacuous and not tolerated: 2" in summary.sentence
    assert summary.vacuous == ("1", "2")


def test_verdicts_on_what_was_not_kept_are_vacuous_without_being_tolerated():
    definition = Definition("n", "t", "d", (), tolerated_vacuous_per_check={})
    vacuous = _verdict(Status.VACUOUS)
    assert vacuous_lines(definition, [], [vacuous])
    assert not vacuous_lines(definition, [], [replace(vacuous, why=Why.NOT_KEPT)])


def test_a_case_that_is_right_for_some_s_is_vacuous_for_the_others_only():
    verdicts = [_verdict(Status.PASS, 1), _verdict(Status.VACUOUS)]
    sentence = _summed([_case(Status.VACUOUS, s=(1, 16))], verdicts).sentence
    assert sentence.startswith(
        "correct wherever judged: s = 1 on 1 of 1 problem, vacuous for s = 16 on 1 problem (a);"
    )


def test_the_sentence_says_what_was_shown():
    statuses = [Status.PASS, Status.PASS, Status.VACUOUS, Status.FAIL]
    sentence = _summary(statuses, tolerated=("2",)).sentence
    assert sentence.startswith(
        "faulty on 1 of 4 problems (first at s = 16), correct: s = 16 on 2 of 4 problems, vacuous on 1 problem (2)"
    )
    assert _summary([Status.PASS], state=State(interrupted=True)).sentence.startswith("interrupted")
    assert _summary([Status.FAIL]).sentence.startswith("faulty on 1 of 1 problem (first at s = 16)")


def _raised(case, s=16):
    """The verdict on a run of a case in which the solver raised an error."""
    error = RunError(f"s={s}", "AttributeError", "no penalty", frames=("mine.py:4 in solve",))
    violation = Violation(f"s={s}", "stop reason", "no penalty", "", RAISED)
    return replace(
        _verdict(Status.FAIL, s, case), check="contract", raised=(error,), violations=(violation,)
    )


def test_a_solver_that_raises_on_whole_tasks_is_asked_to_restrict_them():
    svm = [_case(Status.FAIL, name) for name in "ab"]
    krr = [replace(_case(Status.PASS, name), task="krr") for name in "cd"]
    passed = [_verdict(Status.PASS, case=name) for name in "cd"]
    lines = {name: [f"step-replay, {name}", f"window-replay, {name}"] for name in "ab"}
    found = _summed([*svm, *krr], [_raised("a"), _raised("b"), *passed], too_few=lines)
    assert found.exit_code == 1
    assert (
        "the solver raised AttributeError on every problem of svm-l1: if it is not made for this, "
        "restrict with --task krr (tasks=['krr'])"
    ) in found.sentence
    # What was not compared for that reason is one reason.
    assert found.sentence.endswith(
        "incomplete: nothing to compare on 2 problems, where the solver raised an error"
    )
    # No hint where some problem of the task was judged, or no task is left.
    some = _summed([*svm, *krr], [_raised("a"), _verdict(Status.FAIL, case="b"), *passed])
    assert "restrict" not in some.sentence
    assert "restrict" not in _summed(svm, [_raised("a"), _raised("b")]).sentence


def test_an_error_at_some_s_only_leaves_each_reason_in_the_sentence():
    held = replace(_verdict(Status.PASS, 1), check="contract")
    lines = {"a": ["step-replay, a", "window-replay, a"]}
    found = _summed([_case(Status.FAIL, s=(1, 16))], [held, _raised("a")], too_few=lines)
    assert found.sentence.endswith("incomplete: step-replay, a (and 1 other reason)")


def test_cases_of_one_problem_are_not_counted_as_problems():
    cases = [replace(_case(Status.PASS, name), problem="p") for name in "ab"]
    verdicts = [_verdict(Status.PASS, case=name) for name in "ab"]
    assert _summed(cases, verdicts).sentence.startswith("correct wherever judged: s = 16 on 2 of 2 cases;")


def test_only_an_s_that_the_primary_gate_passed_is_right():
    cases = [_case(Status.PASS, name, (1, 64, 512)) for name in "abcd"]
    verdicts = [
        *(_verdict(Status.PASS, s, name) for name in "ab" for s in (1, 64)),
        _verdict(Status.PASS, 512, "a"),
        # b: 512 was left out. c: 64 is vacuous. d: another check could not decide of 64.
        *(
            _verdict(status, s, "c")
            for s, status in ((1, Status.PASS), (64, Status.VACUOUS), (512, Status.PASS))
        ),
        *(_verdict(Status.PASS, s, "d") for s in (1, 64, 512)),
        replace(_verdict(Status.INCONCLUSIVE, 64, "d"), check="box"),
    ]
    summary = _summed(cases, verdicts)
    assert summary.sentence.startswith(
        "correct: s = 1 on 4 of 4 problems; s = 512 on 3 of 4; s = 64 on 2 of 4"
    )
    assert summary.right_at == {"a": [1, 64, 512], "b": [1, 64], "c": [1, 512], "d": [1, 512]}


def test_a_failure_at_one_s_leaves_the_others_right_but_for_those_that_it_compares():
    passed = [_verdict(Status.PASS, s) for s in (1, 7, 64)]
    wrong = replace(_verdict(Status.FAIL, 64), check="step-replay")
    compared = replace(_verdict(Status.FAIL, 64), check="sstep-equals-classical")
    for failed, right in ((wrong, [1, 7]), (compared, [7])):
        for status in (Status.FAIL, Status.INCONCLUSIVE):
            made = _summed([_case(Status.FAIL, s=(1, 7, 64))], [*passed, replace(failed, status=status)])
            assert made.right_at == {"a": right if status is Status.FAIL else [1, 7]}


@pytest.mark.parametrize("asked", [False, True])
def test_a_drawn_s_is_not_right_where_a_check_that_failed_was_not_asked(asked):
    verdicts = [_verdict(Status.PASS, s) for s in (1, 7, 64)]
    verdicts += [replace(_verdict(Status.FAIL, 7), check="metamorphic-exact")]
    verdicts += [replace(_verdict(Status.PASS, 64), check="metamorphic-exact")] * asked
    case = replace(_case(Status.FAIL, s=(1, 7, 64)), facts={FURTHER: [64]})
    assert _summed([case], verdicts).right_at == {"a": [1, 64] if asked else [1]}


@pytest.mark.parametrize("check", ["step-replay", "trajectory"])
def test_where_no_window_of_an_s_was_complete_it_is_not_right(check):
    def told(s, steps):
        points = [{"iteration": at, "status": Status.PASS} for at in (1, steps)]
        evidence = {"steps": {"judged": steps, "of": 6}} if check in PRIMARY else {
            "points": points, ENDS_ALONE: True
        }  # fmt: skip
        return replace(_verdict(Status.PASS, s), check=check, evidence=evidence)

    verdicts = [told(s, 6) for s in (1, 6, 7, 32)]
    assert roll_up(verdicts) == (
        Status.PASS, "correct for s = 1 and 6; no window was complete, so nothing is said, for s = 7 and 32"
    )  # fmt: skip
    assert _summed([_case(Status.PASS, s=(1, 6, 7, 32))], verdicts).right_at == {"a": [1, 6]}
    assert roll_up(verdicts[2:])[0] is Status.VACUOUS
    assert _summed([_case(Status.VACUOUS, s=(7, 32))], verdicts[2:]).right_at == {"a": []}


def test_a_verdict_of_another_check_makes_no_s_right():
    verdicts = [replace(_verdict(Status.PASS), check="trajectory")]
    assert _summed([_case(Status.VACUOUS)], verdicts).sentence.startswith("vacuous on 1 problem (a)")


def test_the_worst_detection_limit_is_next_to_the_median_and_the_best_does_not():
    verdicts = [_verdict(Status.PASS, 2**k, "a", 1.23 * 10.0 ** (k - 13)) for k in range(5)]
    sentence = _summed([_case(Status.PASS)], verdicts).sentence
    # Rounded up: what is stated would have been seen.
    assert "1.3e-11 (median over the runs), 1.3e-09 (worst)" in sentence
    assert "e-13" not in sentence
    # A run that passed and would have seen no error of any size says so.
    blind = replace(verdicts[0], terms=(replace(verdicts[0].terms[0], detection_limit=math.inf),))
    assert "none (worst)" in _summed([_case(Status.PASS)], [blind, *verdicts[1:]]).sentence


def test_quantities_that_were_not_seen_are_named_with_their_problems():
    unseen = Sensitivity(UPPER, Status.VACUOUS, math.inf, 4, 4, 0, Why.NO_EFFECT)
    verdicts = []
    for name, s in (("a", 16), ("a", 64), ("b", 16), ("c", 16)):
        verdict = _verdict(Status.PASS, s, name)
        seen = name == "c"
        verdicts.append(
            replace(
                verdict, terms=(*verdict.terms, replace(unseen, status=Status.PASS) if seen else unseen)
            )
        )
    cases = [_case(Status.PASS, name) for name in "abc"]
    assert "; passed without testing: upper-end on 2 problems" in _summed(cases, verdicts).sentence
    assert "not tested" not in _summed(cases[2:], verdicts[3:]).sentence


def test_steps_judged_are_those_of_the_primary_check_that_judged_most():
    def told(check, s, judged):
        return replace(
            _verdict(Status.PASS, s), check=check, evidence={"steps": {"judged": judged, "of": 100}}
        )

    verdicts = [told(check, 16, judged) for check, judged in zip(PRIMARY, (10, 100), strict=False)]
    verdicts += [told(PRIMARY[0], 64, 7), told("box", 64, 99), _verdict(Status.PASS, 1)]
    summary = _summed([_case(Status.PASS)], verdicts, steps=300)
    most = 100 if len(PRIMARY) > 1 else 10
    assert (summary.steps_judged, summary.steps) == (most + 7, 300)


@pytest.mark.parametrize(
    ("status", "check", "decided"),
    [
        (Status.PASS, "window-replay", True),
        (Status.FAIL, "step-replay", True),
        (Status.VACUOUS, "window-replay", False),
        (Status.INCONCLUSIVE, "step-replay", False),
        (Status.PASS, "trajectory", False),
        (Status.FAIL, "contract", False),
    ],
)
def test_steps_are_decided_where_a_primary_check_passed_or_failed(status, check, decided):
    assert steps_decided([replace(_verdict(status), check=check)]) == decided


@pytest.mark.parametrize(
    ("statuses", "known", "code"),
    [
        (("FAIL",), ("FAIL",), 0),
        (("FAIL", "FAIL"), ("FAIL",), 1),
        (("FAIL", "INCONCLUSIVE"), ("FAIL",), 3),
        (("FAIL", "INCONCLUSIVE"), ("FAIL", "INCONCLUSIVE"), 0),
        (("PASS",), ("FAIL",), 1),
    ],
)
def test_a_failure_that_is_expected_excuses_no_other_on_its_problem(statuses, known, code):
    """Kinds of window-replay are known; where two verdicts fail, the second is one of box."""
    checks = ("window-replay", "box" if statuses == ("FAIL", "FAIL") else "window-replay")
    verdicts = [
        replace(_verdict(Status(status), s), check=check)
        for status, check, s in zip(statuses, checks, (16, 32), strict=False)
    ]
    expected = tuple(ExpectedFailure("a", f"window-replay: {kind}", "known") for kind in known)
    definition = Definition("n", "t", "d", (), expected=expected)
    worst = Status.FAIL if "FAIL" in statuses else Status.PASS
    assert _summed([_case(worst, s=(16, 32))], verdicts, definition).exit_code == code

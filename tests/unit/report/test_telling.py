"""The verdict that stands for a problem: the same one on the terminal and on the page."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from test_reporting_documents import case, document, verdict

from sstep_verify.campaign.headline import roll_up
from sstep_verify.report.cards import lines
from sstep_verify.report.expected import Expected
from sstep_verify.report.telling import INSIDE, standing
from sstep_verify.report.verdicts import failures
from sstep_verify.report.words import first_line
from sstep_verify.verdict import Defect, Hint, HintKind, Place, Status

STEPS, WINDOWS, ENDS = INSIDE
TAIL = Defect(("tail-lost",), None, ("S-2.3",))


def wrong(s, check=STEPS, **changes):
    return verdict("a", Status.FAIL, s=s, check=check, **changes)


def the_failure(*verdicts):
    (failure,) = failures(document([case("a", Status.FAIL, s=(1, 6, 7))], verdicts, 1))
    return failure


def choice(verdicts):
    """Check and s of the verdict that gives the case its reason on the terminal."""
    check, s, *_ = roll_up(verdicts)[1].replace(":", ",").split(", ")
    return check, int(s.removeprefix("s = "))


EXPLAINED = st.sampled_from(
    [
        {"requirement": "S-3.1", "diagnosed": True},
        {"requirement": "S-3.12", "place": Place(0, 7, 2, None, 0.0, 0.3, "log"), "executed": 0},
        {"requirement": "S-2.3", "diagnosed": True, "defects": (TAIL,)},
        {"requirement": "S-3.5"},
        {"hints": (Hint(HintKind.CONVENTION, ("m = 1",)),)},
        {"hints": (Hint(HintKind.PARTS_IN_FLOAT32, (3, 4)),)},
        {},
    ]
)
FAILED = st.dictionaries(
    st.tuples(st.sampled_from((*INSIDE, "contract", "metamorphic-exact")), st.sampled_from((1, 6, 7))),
    EXPLAINED,
    min_size=1,
)


@given(FAILED)
def test_the_page_shows_the_verdict_that_the_terminal_prints(drawn):
    told = [wrong(s, check, **changes) for (check, s), changes in drawn.items()]
    failure = the_failure(*told)
    assert (failure.check, failure.s) == choice(told)
    assert (failure.verdict["check"], failure.verdict["s"]) == choice(told)
    assert failure.first_s == min(one.s for one in told)
    assert [one["check"] for one in (*failure.before, failure.verdict)] == [
        one.check for one in told if one.s == failure.s
    ][: len(failure.before) + 1]


def test_a_later_s_that_names_one_part_stands_for_the_problem():
    plain = [wrong(1, check, requirement="S-3.1", diagnosed=True) for check in INSIDE]
    failure = the_failure(*plain, wrong(6, requirement="S-2.3", defects=(TAIL,), diagnosed=True))
    assert (failure.check, failure.s, failure.first_s) == (STEPS, 6, 1)
    assert failure.verdict["defects"][0]["names"] == ["tail-lost"]


def test_a_faulty_continued_run_stands_for_the_problem_only_where_no_plain_run_is_faulty():
    continued = wrong(6, requirement="S-2.8", place=Place(0, 6, 2, run="s=6/continued"))
    failure = the_failure(wrong(1, requirement="S-3.1"), continued)
    assert (failure.check, failure.s) == (STEPS, 1)
    for other in ([], [wrong(1, "contract", requirement="")]):
        assert the_failure(*other, continued).s == 6


def test_a_verdict_that_names_defects_stands_before_one_at_its_s_that_explains_nothing():
    told = [wrong(1, requirement="S-3.1"), wrong(1, ENDS, requirement="S-2.3", defects=(TAIL,))]
    for own in (told, [replace(told[0], requirement="S-3.12"), told[1]]):
        assert the_failure(*own).check == ENDS == choice(own)[0]
    elsewhere = [replace(told[0], requirement="S-3.12"), replace(told[1], s=7, requirement="")]
    assert the_failure(*elsewhere).check == STEPS == choice(elsewhere)[0]


def test_a_failure_that_was_expected_stands_for_a_problem_that_has_no_other():
    told = [one.as_dict() for one in (wrong(1, requirement="S-2.3"), wrong(6, WINDOWS))]
    for known, check in ((STEPS, WINDOWS), (WINDOWS, STEPS)):
        listed = Expected({("a", f"{known}: FAIL"): "known"})
        assert standing(told, Status.FAIL, listed).verdict["check"] == check
    assert standing(told[:1], Status.FAIL, Expected({("a", f"{STEPS}: FAIL"): "known"})) is not None
    assert standing(told, Status.INCONCLUSIVE, Expected({})) is None


def test_the_heading_of_a_card_has_both_the_s_that_it_shows_and_the_first_one(tmp_path):
    from test_reporting_page import html_of

    told = [wrong(1, requirement="S-3.1"), wrong(6, requirement="S-2.3", defects=(TAIL,))]
    html = html_of(document([case("a", Status.FAIL, s=(1, 6))], told, 1), tmp_path / "report")
    heading = html[html.index('<article class="card">') :].partition("</h3>")[0]
    assert "s = 6" in heading
    assert "s = 1" in heading


def test_a_card_repeats_every_check_that_fails_before_the_one_that_it_shows():
    log = wrong(1, requirement="S-3.12", executed=0, place=Place(0, 7, 2, None, 0.0, 0.3, "log"))
    end = wrong(1, ENDS, requirement="S-2.3", defects=(TAIL,), diagnosed=True)
    failure = the_failure(log, wrong(1, WINDOWS), end, wrong(1, "box"), wrong(7, WINDOWS))
    assert [one["check"] for one in failure.before] == [STEPS, WINDOWS]
    (also,) = (line.text for line in lines(failure) if line.name == "Also")
    assert also.index(STEPS) < also.index("the log leads to 0.3") < also.index(WINDOWS)


def test_a_card_of_a_log_that_contradicts_its_run_says_so_and_names_no_exact_value():
    log = wrong(7, requirement="S-3.12", executed=0, place=Place(0, 7, 2, None, 0.0, 0.3, "log"))
    found = {line.name: line.text for line in lines(the_failure(log))}
    assert found["What"] == first_line(log)
    assert not {"Found", "Exact", "Largest ratio"} & {*found}


def test_a_card_names_the_checks_that_pass_at_its_s():
    passed = [verdict("a", s=s, check=check) for s in (6, 7) for check in (WINDOWS, ENDS, "box")]
    failure = the_failure(*passed[:3], wrong(6), *passed[4:], wrong(7), wrong(7, WINDOWS))
    assert failure.s == 6
    assert failure.stands[0].passed == [WINDOWS, ENDS]
    (line,) = (line for line in lines(failure) if line.name == "Pass")
    assert line.text == f"{WINDOWS} (same run), {ENDS} (short run)"
    scaled = the_failure(*passed[:3], wrong(6, "metamorphic-exact"))
    assert "run)" not in next(line.text for line in lines(scaled) if line.name == "Pass")
    assert "Pass" not in {line.name for line in lines(the_failure(wrong(7), *passed[:3]))}

"""JUnit XML: one test case for each verdict, so that any CI can show a campaign."""

from __future__ import annotations

from pathlib import Path

import junitparser

from sstep_verify.report.plain import xml_text
from sstep_verify.report.results import Results
from sstep_verify.verdict import Status

_PROPERTIES = (
    "status", "ratio", "measured", "bound", "units", "planned", "executed", "s", "block", "replay",
)  # fmt: skip


def write_junit(results: Results, path: Path) -> Path:
    """Write JUnit XML: FAIL is a failure, INCONCLUSIVE an error, VACUOUS skipped with the reason,
    and so is a failure that is expected.

    The first suite holds the campaign itself, as its exit code: what was never judged, or compared too
    seldom, has no verdict. Then there is one test suite for each check, with the steps judged and made by
    the whole campaign as properties. Those of a test case are ratio, measured value, bound, counts, the
    replay command, the sentences of the specification that it is about, and for each term its
    `detection_limit` and whether it was seen.
    """
    outcomes = {
        Status.FAIL: junitparser.Failure,
        Status.INCONCLUSIVE: junitparser.Error,
        Status.VACUOUS: junitparser.Skipped,
    }
    expected = _expected(results)
    document = junitparser.JUnitXml(xml_text(f"sstep-verify {results.campaign.name}"))
    document.add_testsuite(_campaign(results))
    for check in dict.fromkeys(verdict["check"] for verdict in results.verdicts):
        suite = junitparser.TestSuite(xml_text(check))
        for name in ("steps_judged", "steps"):
            suite.add_property(name, str(getattr(results.summary, name)))
        for verdict in results.verdicts:
            if verdict["check"] == check:
                suite.add_testcase(_test_case(outcomes, verdict, expected))
        document.add_testsuite(suite)
    document.update_statistics()
    document.write(str(path), pretty=True)
    return path


def _campaign(results: Results):
    """The suite of the campaign itself: one test, as its exit code; skipped where nothing was shown."""
    summary = results.summary
    suite = junitparser.TestSuite("campaign")
    test = junitparser.TestCase(xml_text(results.campaign.name), "campaign", 0.0)
    cases = results.cases
    nothing = results.is_empty or (cases and all(case.status == Status.VACUOUS for case in cases))
    kind = {0: junitparser.Skipped if nothing else None, 1: junitparser.Failure}
    if (outcome := kind.get(summary.exit_code, junitparser.Error)) is not None:
        test.result = [outcome(xml_text(summary.sentence), f"exit code {summary.exit_code}")]
    suite.add_testcase(test)
    return suite


def _expected(results: Results) -> dict[tuple[str, str], str]:
    """Reasons of expected failures, by case and kind."""
    listed = results.campaign.parameters.get("expected_failures", [])
    return {(one["id"], one["kind"]): one["reason"] for one in listed} if isinstance(listed, list) else {}


def _test_case(outcomes, verdict: dict, expected: dict[tuple[str, str], str]):
    name = f"{verdict['problem']} / b={verdict['block']} / s={verdict['s']}"
    test = junitparser.TestCase(xml_text(name), xml_text(f"{verdict['check']}.{verdict['case']}"), 0.0)
    known = expected.get((verdict["case"], f"{verdict['check']}: {verdict['status']}"))
    if known is not None:
        test.result = [junitparser.Skipped(xml_text(f"expected failure: {known}"), verdict["status"])]
    elif (kind := outcomes.get(Status(verdict["status"]))) is not None:
        outcome = kind(xml_text(verdict["reason"] or verdict["status"]), verdict["status"])
        outcome.text = xml_text("\n".join(filter(None, (verdict["reason"], verdict["replay"]))))
        test.result = [outcome]
    values = {name: verdict[name] for name in _PROPERTIES}
    values["sentences"] = ", ".join(verdict.get("sentences", ())) or None
    for term in verdict["terms"]:
        values[f"detection_limit.{term['name']}"] = term["detection_limit"]
        values[f"seen.{term['name']}"] = "seen" if term["seen"] else "not seen"
    if isinstance(steps := verdict["evidence"].get("steps"), dict):
        values |= {"steps_judged": steps.get("judged"), "steps": steps.get("of")}
    properties = junitparser.Properties()
    for key, value in values.items():
        if value is not None:
            properties.add_property(junitparser.Property(xml_text(key), xml_text(str(value))))
    test.append(properties)
    return test

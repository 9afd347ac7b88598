"""``check --stability``: errors of somebody's s-step runs next to those of their classical ones."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import pytest
from command import command

from sstep_verify.campaign.profile import Selection, profile_of
from sstep_verify.campaign.verdicts.case import make_case
from sstep_verify.campaign.verdicts.family import expand
from sstep_verify.campaign.verdicts.measured import WORK, common_points, exact_iterations, with_stability
from sstep_verify.errors import InputError
from sstep_verify.problems.data.datasets import load as load_data
from sstep_verify.report.results import load

SOLVERS = """
from dataclasses import replace

from sstep_verify import Ridge
from sstep_verify.adapters.reference import ReferenceSolver


class Growing(ReferenceSolver):
    # Its lambda is off by a part that grows with s.
    def _steps(self, problem, kernel, alpha, blocks, s, log):
        loss = Ridge(problem.ridge.penalty * (1 + 1e-13 * (s - 1)))
        return super()._steps(replace(problem, loss=loss), kernel, alpha, blocks, s, log)


class Stopping(ReferenceSolver):
    def run(self, request, observe=None):
        if request.s == 8:
            raise ValueError("no window of 8")
        return super().run(request, observe)


growing, stopping, single = Growing(), Stopping(), ReferenceSolver("float32")
"""


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    (tmp_path / "solvers_of_stability.py").write_text(SOLVERS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "solvers_of_stability", raising=False)
    return tmp_path


def check(solver: str, *words: str) -> tuple[int, str, str]:
    given = (
        "--profile",
        "smoke",
        "--task",
        "krr",
        "--kernel",
        "polynomial",
        "--stability",
        "--out",
        "report",
        "--force",
    )
    return command("check", solver, *given, *words)


def table(folder: Path) -> dict[int, dict[str, str]]:
    with open(folder / "report/tables/stability.csv", encoding="utf-8", newline="") as stream:
        return {int(row["s"]): row for row in csv.DictReader(stream)}


def test_a_right_solver_has_factors_near_one_a_figure_a_table_and_a_sentence(here):
    code, out, err = check("reference", "--s", "2,8,32")
    assert code == 0, out + err
    rows = table(here)
    assert list(rows) == [2, 8, 32]
    for row in rows.values():
        assert 0.1 < float(row["loss"]) < 10
        assert row["iteration"] == "43"
        assert 45 < float(row["bits"]) <= 53
        assert row["measure"] == "relative solution error"
    (told,) = [line for line in out.splitlines() if line.startswith("stability")]
    assert "a diagnostic, no verdict" in told
    for s, row in rows.items():
        assert f"{float(row['loss']):.2g} and {float(row['loss']):.2g} at s = {s}" in told
    (figure,) = (here / "report" / "figures").glob("stability-*.svg")
    drawn = figure.read_text("utf-8")
    assert "error over that of s = 1" in drawn
    page = (here / "report" / "index.html").read_text("utf-8")
    assert 'id="against-classical"' in page
    assert "It does not say that the solver is correct" in page

    document = here / "report" / "results.json"
    assert (
        load(document).against_classical[0].case
        in json.loads(document.read_text("utf-8"))["cases"][0]["id"]
    )
    before = (here / "report/tables/stability.csv").read_text("utf-8")
    assert command("report", str(document), "--out", "again")[0] == 0
    assert (here / "again/tables/stability.csv").read_text("utf-8") == before
    assert (here / "again" / "figures" / figure.name).read_text("utf-8") == drawn


def test_an_error_that_grows_with_s_shows_in_the_factors(here):
    code, out, err = check("solvers_of_stability:growing", "--s", "2,8,32")
    assert code == 1, out + err  # That is for the checks to say: the factor decides nothing.
    factors = {s: float(row["loss"]) for s, row in table(here).items()}
    assert factors[2] > 10
    assert factors[8] / factors[2] == pytest.approx(7, rel=0.3)
    assert factors[32] / factors[8] == pytest.approx(31 / 7, rel=0.3)
    assert "s = 32" in next(line for line in out.splitlines() if line.startswith("stability")).split(";")[1]


def test_the_roundoff_is_that_of_the_precision(here):
    code, out, err = check("solvers_of_stability:single", "--s", "8")
    assert code == 0, out + err
    (row,) = table(here).values()
    assert 0.1 < float(row["loss"]) < 10
    assert 15 < float(row["bits"]) <= 24


def test_a_run_that_stops_with_an_error_has_no_factor_and_the_others_have(here):
    code, out, err = check("solvers_of_stability:stopping", "--s", "2,8")
    assert code == 1, out + err
    rows = table(here)
    assert rows[8]["loss"] == rows[8]["error"] == ""
    assert 0.1 < float(rows[2]["loss"]) < 10
    assert "; 1 of 2 runs have none" in out


def test_one_s_is_compared_with_the_classical_run_which_alone_is_compared_with_nothing(here):
    code, out, err = check("reference", "--s", "8")
    assert code == 0, out + err
    assert list(table(here)) == [8]
    code, out, err = check("reference", "--s", "1")
    assert (code, out) == (2, "")
    assert "s = 1 is all that is run: name another --s" in err


def test_runs_that_begin_late_are_not_compared_and_long_ones_up_to_a_limit():
    definition = with_stability(profile_of("deep", "reference", Selection(), ""))
    assert {family.stability for family in definition.families if family.start} == {False}
    assert {family.stability for family in definition.families if not family.start} == {True}
    for unit in expand(definition, "breast_cancer_scale/rbf"):
        data = load_data(unit.data[0])
        for spec in unit.work:
            case = make_case(spec, data, {"": spec.family.solvers()[""].declaration}, "", "")
            assert exact_iterations(spec.family, case) == min(case.iterations, WORK // case.problem.samples)
            assert set(case.points[1]) >= {point for s in case.s_values for point in case.points[s]}


def test_the_classical_run_is_recorded_wherever_another_is():
    assert common_points({1: (1, 2, 4), 3: (3, 6)}) == {1: (1, 2, 3, 4, 6), 3: (3, 6)}


def test_a_program_that_does_not_know_classical_runs_is_reported_as_such():
    from dataclasses import replace

    definition = profile_of("smoke", "reference", Selection(), "")
    without = replace(definition, families=tuple(replace(one, s=(4, 8)) for one in definition.families))
    with pytest.raises(
        InputError, match="s = 4, 8 is all that is run: name another --s, or let the program"
    ):
        with_stability(without)

"""A program that does not read the indices is told so before it is judged, with what can be done."""

from __future__ import annotations

import re

import numpy as np
import pytest
from command import command
from printing import described, drawn_problem

pytest.importorskip("flint", reason="python-flint is absent: install the extra [exact]")

from sstep_verify.campaign.verdicts import runs
from sstep_verify.errors import InputError
from sstep_verify.solver import RunRequest
from sstep_verify.solvers.adapters.program import ProgramSolver, read_program
from sstep_verify.solvers.adapters.program.draws import WAYS, Draws, seconds_of_a_start

pytestmark = pytest.mark.pool_only

SMOKE = ("--profile", "smoke", "--s", "7", "--out")


@pytest.mark.parametrize("form", ["%.17g", "%.17e", "%.4f"])
def test_a_program_with_draws_of_its_own_is_told_the_three_ways(printing, tmp_path, form):
    path = described(tmp_path, printing, form, own=3, tables='[final]\nfile = "final.txt"\n')
    code, out, err = command("check", path, *SMOKE, str(tmp_path / "out"))
    assert (code, out) == (2, "")
    assert "it does not read the indices: 4 runs" in err
    assert WAYS in err


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("own", [0, 5])
def test_it_is_told_by_runs_on_other_indices(printing, tmp_path, seed, own):
    random = np.random.Generator(np.random.PCG64(seed))
    problem, stream = drawn_problem(random)
    path = described(tmp_path, printing, "%.17g", own=own, tables='[final]\nfile = "final.txt"\n')
    request = RunRequest(problem, stream, s := int(random.integers(1, 9)), s)
    if own:
        with pytest.raises(InputError, match="does not read the indices"):
            seconds_of_a_start(ProgramSolver(read_program(path)), request)
    else:
        assert seconds_of_a_start(ProgramSolver(read_program(path)), request) > 0


@pytest.mark.parametrize("long", [0.0, 1e9])
def test_how_often_and_how_long_a_program_is_started_is_said_first(printing, tmp_path, monkeypatch, long):
    monkeypatch.setattr(runs, "LONG", long)  # seconds from which on it is said where results are
    code, out, err = command("check", described(tmp_path, printing), *SMOKE, str(tmp_path / "out"))
    assert code == 0, err
    said = out if long == 0.0 else err
    (starts,) = re.findall(r"starts of the program: (\d+) or more, of \S+ s each or longer, so at", said)
    assert int(starts) > 20
    assert out.startswith("starts of the program" if long == 0.0 else "printing-smoke: right")


def test_the_same_words_where_the_kind_is_unknown_or_what_it_writes_does_not_fit(printing, tmp_path):
    with pytest.raises(InputError, match=r"kind = 'xorshift'; known: .*Three ways: it reads"):
        Draws("xorshift")
    for tables in ('[stream]\nkind = "rand"\n', '[stream]\nkind = "logged"\n'):
        with pytest.raises(InputError, match="with draws of its own"):
            read_program(described(tmp_path, printing, tables=tables))

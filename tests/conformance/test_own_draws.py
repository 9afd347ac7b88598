"""A program that does not read the indices is named before it is judged, with what can be done."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from command import command
from printing import described, drawn_problem

from sstep_verify.adapters.program import ProgramSolver, read_program
from sstep_verify.adapters.program.run import seconds_of_a_start
from sstep_verify.adapters.program.tables import WAYS, Draws
from sstep_verify.campaign.headline import roll_up
from sstep_verify.campaign.verdicts import runs
from sstep_verify.declaration import Declaration
from sstep_verify.errors import InputError
from sstep_verify.protocol import RunRequest
from sstep_verify.verdict import Hint, HintKind, Status, Verdict

pytestmark = pytest.mark.pool_only

SMOKE = ("--profile", "smoke", "--kernel", "rbf", "--s", "7", "--jobs", "1", "--out")


@pytest.mark.parametrize("form", ["%.17g", "%.17e", "%.4f"])
def test_a_program_with_draws_of_its_own_is_given_the_three_ways(printing, tmp_path, form):
    path = described(tmp_path, printing, form, own=3, tables='[final]\nfile = "final.txt"\n')
    code, out, err = command("check", path, *SMOKE, str(tmp_path / "out"))
    assert (code, out) == (2, "")
    assert "it does not read the indices: 4 runs" in err
    assert WAYS in err


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("own", [0, 5])
def test_it_is_reported_by_runs_on_other_indices(printing, tmp_path, seed, own):
    random = np.random.Generator(np.random.PCG64(seed))
    problem, stream = drawn_problem(random)
    path = described(tmp_path, printing, "%.17g", own=own, tables='[final]\nfile = "final.txt"\n')
    request = RunRequest(problem, stream, s := int(random.integers(1, 9)), s)
    if own:
        with pytest.raises(InputError, match="does not read the indices"):
            seconds_of_a_start(ProgramSolver(read_program(path)), request)
    else:
        assert seconds_of_a_start(ProgramSolver(read_program(path)), request) > 0


@pytest.mark.nightly
@pytest.mark.parametrize("long", [0.0, 1e9])
def test_how_often_and_how_long_a_program_is_started_is_said_first(printing, tmp_path, monkeypatch, long):
    monkeypatch.setattr(runs, "LONG", long)  # seconds from which on it is said where results are
    started = ProgramSolver._started

    def counted(solver, request):
        with open(tmp_path / "made", "a") as made:
            made.write(".")
        return started(solver, request)

    monkeypatch.setattr(ProgramSolver, "_started", counted)
    code, out, err = command("check", described(tmp_path, printing), *SMOKE, str(tmp_path / "out"))
    assert code == 0, err
    said = out if long == 0.0 else err
    (starts,) = re.findall(
        r"starts of the program: at least (\d+), more where .*; a short one took \S+ s", said
    )
    assert 20 < int(starts) <= (tmp_path / "made").stat().st_size
    assert out.startswith("starts of the program" if long == 0.0 else "printing-smoke: correct")


def test_the_same_words_where_the_kind_is_unknown_or_what_it_writes_does_not_fit(printing, tmp_path):
    with pytest.raises(InputError, match=r"kind = 'xorshift'; known: .*Three ways: it reads"):
        Draws("xorshift")
    for tables in ('[stream]\nkind = "rand"\n', '[stream]\nkind = "logged"\n'):
        with pytest.raises(InputError, match="with draws of its own"):
            read_program(described(tmp_path, printing, tables=tables))


SCALED = """
import struct, sys
folder, s, H = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
given = dict(line.split() for line in open(f"{folder}/problem.txt"))
m, n, sigma, C = int(given["samples"]), int(given["features"]), float(given["sigma"]), float(given["C"])
read = lambda name, count, kind="d": struct.unpack(f"<{count}{kind}", open(f"{folder}/{name}.bin", "rb").read())
import math
x, y, a = read("data", m * n), read("targets", m), [0.0] * m
rows = [x[i * n : i * n + n] for i in range(m)]
for i in read("indices", H, "q"):
    K = [math.exp(-sigma * sum((p - q) ** 2 for p, q in zip(rows[i], row))) for row in rows]
    a[i] = min(max(a[i] - (y[i] * sum(K[l] * y[l] * a[l] for l in range(m)) - 1) / K[i], 0.0), C)
print("alpha:", *(repr(value * m) for value in a))
"""


def test_the_convention_that_would_have_been_right_reaches_the_terminal_with_the_power_of_two(tmp_path):
    program = tmp_path / "scaled.py"
    program.write_text(SCALED)
    path = tmp_path / "p.toml"
    words = [sys.executable, "-S", str(program), "{dir}", "{s}", "{H}"]
    path.write_text(
        f'[program]\nname = "scaled"\ncommand = {json.dumps(words)}\nwrites = "final"\n'
        '[final]\nafter = "alpha:"\n[conventions]\nstart = "zero"\n[fixed]\ntask = "svm-l1"\n'
        '[declaration]\nrbf = "difference"\n'
    )
    code, out, _ = command("check", str(path), "--on", "small", *SMOKE, str(tmp_path / "out"))
    assert code == 1
    assert 'scale = "1/m" (or, as a power of two, scale = 0.03125 with that' in out


def test_draws_that_are_not_those_declared_are_asked_for(printing, tmp_path):
    tables = '[final]\nfile = "final.txt"\n[stream]\nkind = "glibc-rand"\nseed = 3\n'
    path = described(tmp_path, printing, own=3, tables=tables)
    code, out, _ = command("check", path, *SMOKE, str(tmp_path / "out"))
    assert code == 1
    assert "Its draws are taken to be glibc-rand, seed 3, without replacement; if they are others" in out


def test_a_precision_of_two_parts_is_refused_in_words(printing, tmp_path):
    with pytest.raises(InputError, match="of kernel and recurrence together"):
        Declaration("mine", precision="mixed")
    with pytest.raises(InputError, match="reads text; leave it out"):
        read_program(described(tmp_path, printing, tables='[final]\nfile = "{dir}/final.bin"\n'))


def test_the_verdict_with_the_convention_is_the_one_that_the_screen_shows():
    def failed(check, requirement):
        parts = (
            "case",
            "problem",
            7,
            1,
            Status.FAIL,
            9.0,
            9.0,
            1.0,
            "absolute",
            1,
            1,
        )
        return Verdict(check, *parts, requirement=requirement)

    of_a_part = failed("trajectory", "S-3.5")
    hints = (Hint(HintKind.CONVENTION, ('scale = "m"',)),)
    hinted = replace(failed("window-replay", "S-3.1"), hints=hints)
    for order in ([of_a_part, hinted], [hinted, of_a_part]):
        status, reason = roll_up(order)
        assert status is Status.FAIL
        assert reason.startswith("window-replay, s = 7: ")

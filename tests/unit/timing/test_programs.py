"""Somebody's program, timed: as late as its collectives, timed by difference, refused where it has no s."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from sstep_verify.adapters.program import Program, ProgramFile
from sstep_verify.adapters.program.tables import Draws, Printed
from sstep_verify.errors import InputError, MissingExtraError
from sstep_verify.problems import LinearKernel, Problem, kernel_from, loss_from
from sstep_verify.ranks.environment import launcher
from sstep_verify.ranks.interposer import build_interposer
from sstep_verify.timing import programs
from sstep_verify.timing.measure import Delay
from sstep_verify.timing.programs import SomeProgram, as_fixed
from sstep_verify.timing.ranks import Wanted

EXAMPLE = Path(__file__).parents[3] / "examples" / "c_mpi_solver" / "plain_solver.c"
ARGUMENTS = ("{task}", "{data}", "{m}", "{n}", "{penalty}", "{kernel}", "{parameter}")


def problem() -> Problem:
    generator = np.random.default_rng(5)
    labels = np.where(np.arange(12) % 2, -1.0, 1.0)
    return Problem(
        "points", generator.standard_normal((12, 4)), labels, LinearKernel(), loss_from("svm-l1")
    )


@pytest.fixture(scope="module")
def started(tmp_path_factory) -> tuple[str, ...]:
    """How the example is started."""
    folder = tmp_path_factory.mktemp("plain")
    wrapper = shutil.which("mpicc", path=str(launcher().parent))
    try:
        build_interposer(folder)
    except MissingExtraError as error:
        pytest.skip(str(error))
    assert wrapper is not None
    program = folder / "plain_solver"
    subprocess.run([wrapper, "-O1", "-o", str(program), str(EXAMPLE), "-lm"], check=True)
    return str(launcher()), "-n", "{np}", str(program)


def described(command, fixed=None, **given) -> ProgramFile:
    program = Program("plain", tuple(command), "final", **given)
    own = {"final": Printed(after="alpha:"), "stream": Draws("glibc-rand", 7)}
    return ProgramFile(program, **own, fixed=fixed or {})


@pytest.mark.nightly
@pytest.mark.pool_only
def test_a_program_is_as_late_as_its_collectives(started):
    wrapper = str(launcher().with_name("mpicc"))
    command = (*started, *ARGUMENTS, "{s}", "{b}", "{H}", "{seed}")
    program = SomeProgram(described(command, witness=wrapper), problem())
    delay, windows = Delay(3000.0), 20
    found = program._difference(5, 2, delay, windows)
    assert found.collectives == pytest.approx(1 / 5)
    assert found.words == pytest.approx(12.0)
    # Each run by itself has a lower bound; their difference has none that holds on every machine.
    seconds, collectives, _ = program._run(5, 2, delay, windows)
    assert collectives == windows
    assert seconds >= collectives * 3e-3


@pytest.mark.parametrize(
    ("places", "given", "said"),
    [
        (("{b}", "{H}"), {}, "takes no s"),
        (("{s}",), {}, "cannot be made longer"),
        (("{s}", "{H}"), {"s": (1,)}, "nothing to compare"),
    ],
)
def test_a_program_that_cannot_be_compared_is_refused(places, given, said):
    with pytest.raises(InputError, match=said):
        SomeProgram(described(("true", "{data}", *places), **given), problem())


@pytest.mark.parametrize(
    "fixed",
    [{"task": "krr"}, {"kernel": ["rbf", "polynomial"]}, {"b": 2}, {"m": 13}, {"H": 100}],
    ids=str,
)
def test_a_program_that_would_solve_another_problem_is_refused(fixed):
    with pytest.raises(InputError, match="leaves no room"):
        SomeProgram(described(("true", "{s}", "{H}"), fixed), problem())


def test_parameters_that_a_program_has_fixed_are_those_of_the_problem():
    wanted = Wanted("points", None, kernel_from("rbf"), loss_from("svm-l1"))
    program = described(("true", "{s}", "{H}"), {"C": 2.0, "sigma": 0.5, "lambda": 3.0})
    taken = as_fixed(program, wanted)
    assert (taken.kernel, taken.loss) == (kernel_from("rbf", sigma=0.5), loss_from("svm-l1", 2.0))


def test_what_is_fixed_as_the_problem_has_it_is_no_hindrance():
    fixed = {"task": "svm-l1", "kernel": "linear", "C": 1.0, "b": 1, "m": 12, "n": 4}
    assert SomeProgram(described(("true", "{s}", "{H}"), fixed), problem()).name == "plain"


def test_a_program_without_ranks_cannot_run_on_two():
    program = SomeProgram(described(("true", "{s}", "{H}")), problem())
    with pytest.raises(InputError, match="how many ranks"):
        program.sample(2, 2, Delay(), 0.1)


def test_a_program_whose_mpi_has_no_compiler_is_refused():
    with pytest.raises(InputError, match="its witness = 'no-such-mpicc'"):
        SomeProgram(described(("true", "{s}", "{H}"), witness="no-such-mpicc"), problem())


def test_a_witness_that_nobody_named_is_made_when_a_run_needs_it(monkeypatch):
    monkeypatch.setattr(programs, "WRAPPER", "no-such-mpicc")
    program = SomeProgram(described(("true", "{s}", "{H}")), problem())
    with pytest.raises(InputError, match="no-such-mpicc"):
        program.sample(2, 1, Delay(), 0.1)


def test_known_s_are_kept():
    program = SomeProgram(described(("true", "{s}", "{H}"), s=(1, 8)), problem())
    assert program.knows(8)
    assert not program.knows(4)

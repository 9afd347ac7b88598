"""LIBLINEAR, reached by its program file and a patch that logs its steps; needs its sources.

SSTEP_VERIFY_LIBLINEAR names the unpacked sources: pip download --no-deps --no-binary :all: liblinear-official.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from optional_parts import absent

from sstep_verify import verify

EXAMPLE = Path(__file__).parents[2] / "examples" / "adapters" / "liblinear"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Builds the driver, with a text of the patched solver replaced, and returns its folder."""
    sources = os.environ.get("SSTEP_VERIFY_LIBLINEAR", "")
    if not Path(sources, "cpp-source", "linear.cpp").is_file():
        absent("liblinear", "set SSTEP_VERIFY_LIBLINEAR to the folder of its unpacked sources")

    def build(old: str = "", new: str = "") -> Path:
        folder = tmp_path_factory.mktemp("liblinear")
        make = ["make", "-s", "-C", str(EXAMPLE), f"BUILT={folder}", "CXXFLAGS=-O0"]
        subprocess.run([*make, str(folder / "linear.cpp")], check=True, timeout=60)
        patched = folder / "linear.cpp"
        text = patched.read_text()
        begin = text.index("static int solve_l2r_l1l2_svc(")
        assert text.count(old, begin)
        patched.write_text(text[:begin] + text[begin:].replace(old, new, 1) if old else text)
        subprocess.run(make, check=True, timeout=120)
        return folder

    return build


@pytest.fixture(scope="module")
def right(built) -> Path:
    return built()


def file(folder: Path, without: str = "") -> str:
    """The program file of the example for a driver in a folder, without the lines that begin with a word."""
    lines = (EXAMPLE / "liblinear.toml").read_text().splitlines()
    kept = [line for line in lines if not line.startswith(("setup", without or "setup"))]
    path = folder / "liblinear.toml"
    path.write_text("\n".join(kept).replace("examples/adapters/liblinear/build", str(folder)))
    return str(path)


def test_every_step_of_liblinear_is_right(right):
    report = verify(file(right), "ci")
    assert report.passed, str(report)
    steps = [one for one in report.results.verdicts if one["check"] == "step-replay"]
    assert [(one["status"], one["executed"], one["s"]) for one in steps] == [("PASS", 203, 1)] * 2
    assert all(0 < one["ratio"] < 0.1 for one in steps)


def test_without_its_order_of_samples_it_is_wrong_and_the_reason_names_the_order(right):
    report = verify(file(right, without="order"), "ci", tasks=["svm-l1"], kernels=["linear"])
    (steps,) = [one for one in report.failures if one["check"] == "step-replay"]
    assert {"kind": "convention", "detail": ['order = "by-class"']} in steps["hints"]


@pytest.mark.parametrize(
    ("old", "new", "task", "sentence"),
    [
        ("G += alpha[i]*diag[GETI(i)];", "", "svm-l2", "S-3.7"),
        ("fabs(PG) > 1.0e-12", "fabs(PG) > 0.1", "svm-l1", "S-3.1"),
        ("alpha[i] - G/QD[i]", "alpha[i] - 1.000000001*G/QD[i]", "svm-l1", "S-3.4"),
    ],
)
def test_a_mistake_in_its_step_is_seen(built, old, new, task, sentence):
    report = verify(file(built(old, new)), "ci", tasks=[task])
    (steps,) = [one for one in report.failures if one["check"] == "step-replay"]
    assert steps["requirement"] == sentence

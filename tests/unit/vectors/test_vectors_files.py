"""The files of vectors: the same bytes every time, readable by C, small; and what is there is not lost."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from vector_cases import files_of, made, states_of

from sstep_verify.adapters.reference import ReferenceSolver
from sstep_verify.errors import InputError
from sstep_verify.vectors import layout
from sstep_verify.vectors.__main__ import command
from sstep_verify.vectors.layout import write_vectors
from sstep_verify.vectors.make import MISTAKES
from sstep_verify.vectors.verify import verify_vectors

FEW = 12


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("vectors") / "few"
    made = CliRunner().invoke(command, [str(folder), "--count", str(FEW)], catch_exceptions=False)
    assert made.exit_code == 0
    assert f"{FEW} vectors written" in made.output
    return folder


@pytest.mark.nightly
def test_few_vectors_show_every_mistake_and_are_proved_again(written):
    index = verify_vectors(written)
    assert len(index.vectors) == FEW
    assert {flag for entry in index.vectors for flag in entry.flags} == {
        mistake.name for mistake in MISTAKES
    }
    assert set(index.notes) == {mistake.name for mistake in MISTAKES}
    result = CliRunner().invoke(command, [str(written), "--verify", "--json"], catch_exceptions=False)
    assert result.exit_code == 0
    assert json.loads(result.output) == {"proved": True, "vectors": FEW, "flags": sorted(index.notes)}


def test_they_have_the_committed_digests(written):
    committed = Path(__file__).parents[3] / "reports" / "vectors" / "vectors.json"
    assert (written / "vectors.json").read_bytes() == committed.read_bytes()


def test_the_same_bytes_are_written_every_time(written, tmp_path):
    write_vectors(tmp_path / "again", 3)
    again, before = files_of(tmp_path / "again"), files_of(written)
    assert len(again) == 3 * len(layout.FILES) + 2
    del again["vectors.json"]  # lists three
    assert again == {name: before[name] for name in again}


def test_the_shipped_number_of_vectors_has_less_than_four_megabytes(written):
    assert sum(map(len, files_of(written).values())) / FEW * 240 < 4e6


def test_raw_text_and_decimals_say_the_same(written):
    for number in range(FEW):
        request, _, expected = made(number)
        folder, shape = written / expected.id, (len(expected.points), request.problem.samples)
        for name, read in (("expected", float.fromhex), ("bounds64", float), ("bounds32", float)):
            raw = np.fromfile(folder / f"{name}.bin", "<f8").reshape(shape)
            lines = (folder / f"{name}.txt").read_text("ascii").splitlines()
            assert [[read(one) for one in line.split()] for line in lines] == raw.tolist()
        raw = np.fromfile(folder / "expected.bin", "<f8").reshape(shape).tolist()
        assert [[float(one) for one in point.middles] for point in expected.points] == raw
        points = np.fromfile(folder / "points.bin", "<i8").tolist()
        assert points == [point.iteration for point in expected.points] == request.stops


def test_the_readme_has_a_c_program_that_judges_a_run(written, tmp_path):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    text = (written / "README.md").read_text("utf-8")
    (program,) = re.findall(r"```c\n(.*?)```", text, re.DOTALL)
    assert len(text.splitlines()) <= 40
    (tmp_path / "compare.c").write_text(program)
    given = ["-Wall", "-Werror", "-o", str(tmp_path / "compare"), str(tmp_path / "compare.c"), "-lm"]
    subprocess.run([compiler, *given], check=True, timeout=60)
    request, _, expected = made(5)
    m, points = request.problem.samples, len(expected.points)
    states = np.array(list(states_of(ReferenceSolver("float32").run(request)).values()))
    for values, bounds, code in (
        (states, "bounds32", 0),
        (states, "bounds64", 1),
        (states[:-1], "bounds32", 1),
        (np.concatenate([states, states[:1]]), "bounds32", 1),
        (np.where(np.arange(points)[:, None] == 2, np.nan, states), "bounds32", 1),
    ):
        values.astype("<f8").tofile(tmp_path / "trace.bin")
        words = [str(tmp_path / "compare"), str(written / expected.id), str(tmp_path / "trace.bin"), bounds]
        ended = subprocess.run(words, capture_output=True, text=True, timeout=60)
        assert ended.returncode == code, ended
        assert f"of {m * points} numbers" in ended.stdout


def test_the_digest_is_what_sha256sum_prints(written):
    (entry, *_) = verify_vectors_index(written)
    shell = "LC_ALL=C sha256sum * | sha256sum"
    found = subprocess.run(
        ["sh", "-c", shell], cwd=written / entry["id"], capture_output=True, text=True, check=True
    )
    assert found.stdout.split()[0] == entry["digest"]


def verify_vectors_index(folder: Path) -> list[dict]:
    return json.loads((folder / "vectors.json").read_text("ascii"))["vectors"]


def test_what_is_there_is_replaced_only_where_it_is_vectors_and_that_is_asked_for(tmp_path):
    folder = tmp_path / "some"
    write_vectors(folder, 1)
    with pytest.raises(InputError, match="is there already"):
        write_vectors(folder, 1)
    write_vectors(folder, 2, replace=True)
    assert len(verify_vectors_index(folder)) == 2
    (folder / "thesis.tex").write_text("years of work")
    for replace in (False, True):
        with pytest.raises(InputError, match=r"holds 'thesis.tex', which is no part of vectors"):
            write_vectors(folder, 1, replace=replace)
    assert (folder / "thesis.tex").read_text() == "years of work"
    assert [one.name for one in tmp_path.iterdir()] == ["some"]

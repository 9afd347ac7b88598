"""``sstep-verify oracle``: certifies into a file, proves the file again, keeps and mistrusts its cache."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner

from sstep_verify.cli.commands.oracle import command
from sstep_verify.errors import InputError
from sstep_verify.oracle.certificate.file import decode, document_digest, read_certificate


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A LIBSVM file in a folder of its own, with a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    generator = np.random.default_rng(2)
    lines = []
    for row, label in zip(generator.standard_normal((12, 3)), [1, -1] * 6, strict=True):
        lines.append(f"{label:+d} " + " ".join(f"{j}:{value:.4f}" for j, value in enumerate(row, 1)))
    path = tmp_path / "toy"
    path.write_text("\n".join(lines) + "\n")
    return path


def _run(*words):
    return CliRunner().invoke(command, [str(word) for word in words])


@pytest.mark.parametrize(
    "options",
    [
        ("--task", "krr", "--kernel", "rbf", "--lambda", "1e-3"),
        ("--task", "svm-l1", "--kernel", "polynomial", "--C", "2"),
        ("--task", "svm-l2", "--kernel", "linear"),
        # omega = 1/(2C) has no power of four above it.
        ("--task", "svm-l2", "--kernel", "linear", "--C", "1.2e-308"),
    ],
    ids=lambda options: " ".join(options[1::2]),
)
def test_certify_and_prove_again(toy, options):
    out = toy.with_name("certificate.json")
    made = _run(toy, *options, "--digits", "50", "--out", out)
    assert made.exit_code == 0, made.output
    assert "50 digits certified" in made.output
    certificate = read_certificate(out)
    assert certificate.digits == 50
    assert certificate.provenance["package"]["name"] == "sstep-verify"
    assert str(toy.parent) not in json.dumps(json.loads(out.read_text())["subject"])
    proved = _run("--verify", out, toy)
    assert proved.exit_code == 0, proved.output
    assert "every statement was proved again" in proved.output
    assert f"sstep-verify oracle toy --verify {out}" in str(_run("--verify", out).exception)


@pytest.mark.parametrize(
    ("lines", "value", "support"),
    [
        # A value that ends: nothing is rounded; and no coordinate is known to be above 0.
        ("1 1:1\n-1 2:1\n", f"1.{'0' * 29} with", "support vectors at most 2 of 2: "),
        # 25/9, whose thirtieth digit is rounded.
        (
            "0 1:1 2:2\n1 1:2 2:1\n0 1:-1\n1 2:3\n",
            "2." + "7" * 28 + "8 (rounded) with",
            "support vectors 4 of 4: ",
        ),
    ],
)
def test_what_is_rounded_and_what_is_not_known_is_said(toy, lines, value, support):
    toy.write_text(lines)
    printed = _run(toy, "--task", "svm-l1").output
    assert f"optimal value {value} radius " in printed
    assert support in printed
    assert "..." not in printed


@pytest.mark.parametrize("scale", ["1e-308", "5e-324", "1e308"])
def test_a_shift_beyond_float64_is_refused(toy, scale):
    refused = _run(toy, "--task", "svm-l2", "--C", scale, "--no-cache").exception
    assert "1/(2C) are normal numbers" in str(refused)


def test_a_known_set_is_found_by_its_name(tmp_path, monkeypatch):
    pytest.importorskip("sklearn")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    out = tmp_path / "certificate.json"
    options = ("--task", "krr", "--lambda", "1e-3", "--out", out, "--no-cache")
    assert _run("diabetes_regression", *options).exit_code == 0
    assert _run("--verify", out).exit_code == 0
    assert not (tmp_path / "sstep-verify").exists()


def test_a_tampered_file_is_refused_with_its_field(toy):
    out = toy.with_name("certificate.json")
    assert _run(toy, "--task", "svm-l1", "--out", out).exit_code == 0
    document = json.loads(out.read_text())
    document["statuses"][0] = "zero" if document["statuses"][0] != "zero" else "free"
    out.write_text(json.dumps(document))
    refused = _run("--verify", out, toy)
    assert refused.exit_code == 1
    assert "digest" in refused.output
    out.write_text(out.read_text()[:-40])
    assert "not whole JSON" in _run("--verify", out, toy).output


def test_the_cache_is_used_and_a_damaged_entry_is_not(toy):
    words = (toy, "--task", "krr", "--lambda", "1e-3", "--kernel", "rbf")
    first = _run(*words)
    (entry,) = (toy.parent / "cache" / "sstep-verify" / "certificates").iterdir()
    stamp = entry.stat().st_mtime_ns
    assert _run(*words).stdout == first.stdout
    assert entry.stat().st_mtime_ns == stamp
    whole = entry.read_text()
    entry.write_text(whole[: len(whole) // 2])
    again = _run(*words)
    assert again.exit_code == 0
    assert "is not used" in again.output
    assert entry.read_text() == whole
    assert [path.name for path in entry.parent.iterdir()] == [entry.name]


def test_an_entry_of_another_problem_is_not_used(toy):
    folder = toy.parent / "cache" / "sstep-verify" / "certificates"
    assert _run(toy, "--task", "krr", "--lambda", "1").exit_code == 0
    (first,) = folder.iterdir()
    assert _run(toy, "--task", "krr", "--lambda", "2").exit_code == 0
    (second,) = set(folder.iterdir()) - {first}
    second.write_text(first.read_text())
    assert "of another problem" in _run(toy, "--task", "krr", "--lambda", "2").output


def test_files_that_are_there_are_kept_without_force(toy):
    out = toy.with_name("certificate.json")
    out.write_text("mine")
    refused = _run(toy, "--task", "krr", "--out", out)
    assert isinstance(refused.exception, InputError)
    assert out.read_text() == "mine"
    assert _run(toy, "--task", "krr", "--out", out, "--force").exit_code == 0
    assert read_certificate(out).digits == 30


def test_what_is_missing_is_said(toy, tmp_path):
    assert "--task" in str(_run(toy).exception)
    assert "cannot be read" in str(_run("--verify", tmp_path / "none.json").exception)


def test_an_edited_entry_with_a_digest_of_its_own_is_not_printed(toy):
    words = (toy, "--task", "svm-l1", "--digits", "20")
    first = _run(*words)
    (entry,) = (toy.parent / "cache" / "sstep-verify" / "certificates").iterdir()
    whole = entry.read_text()
    edited = json.loads(whole)
    edited["objective"] = {"middle": "123456789e0", "radius": "1e-30"}
    edited["digest"] = document_digest(edited)
    entry.write_text(json.dumps(edited))
    again = _run(*words)
    assert again.exit_code == 0
    assert "certified again: certificate refused: objective: states 123456789e0" in again.stderr
    assert again.stdout == first.stdout
    assert entry.read_text() == whole


def test_a_bias_is_part_of_what_is_certified(toy):
    out, words = toy.with_name("biased.json"), (toy, "--task", "svm-l2", "--bias", "1", "--out")
    plain = _run(toy, "--task", "svm-l2")
    made = _run(*words, out)
    assert made.exit_code == 0, made.output
    assert "a constant feature, 1, stands last" in made.stdout
    assert made.stdout.splitlines()[2] != plain.stdout.splitlines()[1]
    assert _run(*words, out, "--force").stdout == made.stdout  # the second time from the cache
    proved = _run("--verify", out, toy)
    assert proved.exit_code == 0, proved.output
    assert "a constant feature, 1, stands last" in proved.output
    document = json.loads(out.read_text())
    assert (document["subject"]["bias"], document["subject"]["features"]) == (1.0, 4)
    document["subject"]["bias"] = 2.0
    document["digest"] = document_digest(document)
    out.write_text(json.dumps(document))
    assert "subject.values_digest" in _run("--verify", out, toy).output
    assert "rbf kernel" in str(_run(toy, "--task", "krr", "--kernel", "rbf", "--bias", "1").exception)


def test_memory_is_said_and_refused_by_its_figure(toy):
    made = _run(toy, "--task", "krr", "--no-cache", "--memory", "1e-4")
    assert re.search(r"memory: .*m = 12 samples and n = 3 features take about 2.6e-05 GiB", made.stderr)
    assert "memory" not in _run(toy, "--task", "krr", "--no-cache").stderr, "no tenth of what it may take"
    refused = _run(toy, "--task", "krr", "--no-cache", "--memory", "1e-6")
    assert "GiB, but --memory allows 1e-06" in str(refused.exception)


def test_features_are_part_of_the_memory_that_is_refused(toy):
    out, vector = toy.with_name("certificate.json"), toy.with_name("vector.txt")
    _run(toy, "--task", "krr", "--digits", "5", "--out", out)
    row = " ".join(f"{j}:1" for j in range(1, 401))
    toy.write_text(f"1 20000000:1\n-1 {row}\n")
    vector.write_text("0\n0\n")
    for words in (("--no-cache",), ()):
        refused = str(_run(toy, "--task", "krr", *words, "--memory", "1e-4").exception)
        assert "m = 2 samples and n = 20000000 features, of which 401 occur, take about 0.00031 " in refused
        assert "--memory allows 0.0001" in refused
        assert "number the features" not in refused
    assert "take about 0.00031 GiB" in str(_run("--verify", out, toy, "--memory", "1e-4").exception)
    refused = str(_run(toy, "--task", "krr", "--final", vector, "--memory", "0.5").exception)
    assert "take about 0.6 GiB, but --memory allows 0.5; number the features without gaps" in refused
    assert _run(toy, "--task", "krr", "--no-cache").exit_code == 0


def test_json_is_the_certificate_or_the_proof(toy):
    out, words = toy.with_name("certificate.json"), (toy, "--task", "svm-l1")
    made = _run(*words, "--out", out, "--json")
    assert made.stdout == out.read_text()
    assert decode(_run(*words, "--json").stdout) == read_certificate(out)
    proved = json.loads(_run("--verify", out, toy, "--json").stdout)
    assert (proved["proved"], proved["digits"], proved["subject"]["task"]) == (True, 30, "svm-l1")
    document = json.loads(out.read_text())
    document["radius"] = "1e-300"
    document["digest"] = document_digest(document)
    out.write_text(json.dumps(document))
    refused = _run("--verify", out, toy, "--json")
    assert refused.exit_code == 1
    assert json.loads(refused.stdout)["field"] == "radius"


def test_a_certificate_takes_the_place_of_nothing_that_is_read(toy):
    words = (toy, "--task", "krr", "--force", "--out")
    before = toy.read_text()
    for out in (toy, toy.parent, "", "a\0b"):
        assert isinstance(_run(*words, out).exception, InputError)
    assert toy.read_text() == before


def test_a_vector_does_not_go_with_a_proof():
    done = _run("--verify", "x.json", "--final", "x")
    assert (done.exit_code, "--final does not go with --verify" in done.output) == (2, True)

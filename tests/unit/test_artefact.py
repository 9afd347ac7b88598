"""Artefacts: what goes in comes out bit for bit, what was tampered with is refused, verdicts are remade."""

from __future__ import annotations

import dataclasses
import hashlib
import json

import numpy as np
import pytest
import scipy.sparse as sp

from sstep_verify.campaign.artefact import NEEDED, SCHEMA, Artefact, read_artefact, write_artefact
from sstep_verify.campaign.artefact_keep import artefact_of, keep_artefacts
from sstep_verify.campaign.artefact_replay import rejudge
from sstep_verify.campaign.artefact_values import to_plain
from sstep_verify.campaign.monitor import measuring_points
from sstep_verify.checks import message_count
from sstep_verify.checks.case import Case, merge_requests
from sstep_verify.checks.registry import MODULES, checks_of, continued_runs
from sstep_verify.errors import InputError
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import (
    Hinge,
    IndexStream,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
)
from sstep_verify.solver import Declaration
from sstep_verify.solvers.production import ProductionSolver
from sstep_verify.trajectory import Claim, Panel, Trajectory
from sstep_verify.verdict import Status

S_VALUES = (1, 4, 16)


def _case(loss, kernel, block=1, stream=None, sparse=False) -> Case:
    generator = np.random.Generator(np.random.PCG64(5))
    data = generator.standard_normal((12, 4)) * (generator.random((12, 4)) < 0.7)
    targets = np.where(np.arange(12) % 3 == 0, 1.0, -1.0)
    if isinstance(loss, Ridge):
        targets = generator.standard_normal(12)
    problem = Problem("drawn", sp.csr_array(data) if sparse else data, targets, kernel, loss)
    return Case(
        "drawn/1",
        problem,
        stream or IndexStream("uniform", 12, block, 75, seed=1),
        S_VALUES,
        75,
        ProductionSolver().declaration,
        points={s: measuring_points(75, s) for s in S_VALUES},
        variants={"other": Declaration("other", options={"keep": True})},
        claims={"tolerance": 1e-8},
        replay_command="again",
    )


def _trajectory(kind, **more) -> Trajectory:
    alphas = np.array([[0, 0, 0], [1, -2, 3]], dtype=kind) / np.array(3, dtype=kind)
    return Trajectory(2, 0, np.array([0, 2]), alphas, {"words": 7}, {"panel": 0.5}, **more)


def _artefact(case, **runs) -> Artefact:
    return Artefact("window-replay", 4, case, runs, ({"status": "FAIL"},))


def _same(one, other):
    assert type(one) is type(other)
    if dataclasses.is_dataclass(one):
        for item in dataclasses.fields(one):
            _same(getattr(one, item.name), getattr(other, item.name))
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    elif sp.issparse(one):
        for part in ("indptr", "indices", "data"):
            _same(getattr(one, part), getattr(other, part))
        assert one.shape == other.shape
    elif isinstance(one, dict):
        assert list(one) == list(other)
        for key in one:
            _same(one[key], other[key])
    else:
        assert one == other


@pytest.mark.parametrize(
    ("loss", "kernel", "sparse"),
    [
        (Hinge(0.1), LinearKernel(), False),
        (SquaredHinge(1 / 3), PolynomialKernel(2, 0.1), True),
        (Ridge(1e-300), RBFKernel(0.7), True),
    ],
)
def test_what_goes_in_comes_out_in_every_bit(tmp_path, loss, kernel, sparse):
    kept = _artefact(
        _case(loss, kernel, sparse=sparse),
        plain=_trajectory(np.float64, panels={0: Panel(np.array([2, 1]), np.full((2, 3), 0.1))}),
        single=_trajectory(np.float32, claims={"gap": Claim(float("inf"), 5e-7)}),
        wide=_trajectory(np.longdouble, state={"a/b": np.eye(2)}, fingerprints={2: ("ab", "cd")}),
    )
    path = write_artefact(kept, tmp_path / "new")
    assert path.name == "drawn-1-window-replay-s4"
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    _same(read_artefact(path), kept)
    assert read_artefact(path).case.problem.digest == kept.case.problem.digest


def test_a_stream_from_a_file_needs_the_file_no_more(tmp_path):
    file = tmp_path / "draws.txt"
    file.write_text("\n".join(str(7 * k % 12) for k in range(80)), encoding="ascii")
    stream = IndexStream("file", 12, 1, 75, path=str(file), relabel=3)
    kept = _artefact(_case(Hinge(), LinearKernel(), stream=stream), run=_trajectory(np.float64))
    path = write_artefact(kept, tmp_path)
    wanted = stream.blocks(0, 75)
    file.unlink()
    np.testing.assert_array_equal(read_artefact(path).case.stream.blocks(0, 75), wanted)
    assert str(tmp_path) not in (path / "artefact.json").read_text("utf-8")


def test_folders_stay_inside_and_apart(tmp_path):
    case = dataclasses.replace(_case(Hinge(), LinearKernel()), id="../../ä b/" + "x" * 300)
    paths = [write_artefact(_artefact(case), tmp_path) for _ in range(3)]
    assert {path.parent for path in paths} == {tmp_path}
    assert len({path.name for path in paths}) == 3
    assert all("-window-replay-s4" in path.name and len(path.name) < 200 for path in paths)


def test_objects_are_refused_for_there_is_no_pickle(tmp_path):
    with pytest.raises(InputError, match=r"alphas: a object array cannot be kept"):
        write_artefact(_artefact(_case(Hinge(), LinearKernel()), run=_trajectory(object)), tmp_path)
    with pytest.raises(InputError, match=r"x: a set cannot be kept"):
        to_plain({1}, "x", {})
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def path(tmp_path):
    return write_artefact(_artefact(_case(Hinge(), LinearKernel()), run=_trajectory(np.float64)), tmp_path)


def _digest(file) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _flip(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.mark.parametrize("change", [_flip, lambda content: content[:-9], lambda content: b""])
@pytest.mark.parametrize("name", NEEDED)
def test_a_changed_or_cut_file_is_named_with_both_digests(path, name, change):
    before = _digest(path / name)
    (path / name).write_bytes(change((path / name).read_bytes()))
    with pytest.raises(InputError) as caught:
        read_artefact(path)
    for word in (str(path / name), before, _digest(path / name)):
        assert word in str(caught.value)


@pytest.mark.parametrize("name", NEEDED)
def test_a_missing_file_is_named(path, name):
    (path / name).unlink()
    with pytest.raises(InputError, match=rf"{name}: is missing"):
        read_artefact(path)


def test_a_list_of_digests_that_names_other_files_is_refused(path, tmp_path):
    sums = path / "SHA256SUMS"
    (tmp_path / "outside").write_text("x", encoding="ascii")
    whole = sums.read_text("ascii")
    sums.write_text(f"{whole}{_digest(tmp_path / 'outside')}  ../outside\n", encoding="ascii")
    with pytest.raises(InputError, match=r"unknown file \.\./outside"):
        read_artefact(path)
    sums.write_text("".join(line for line in whole.splitlines(True) if "problem" not in line), "ascii")
    with pytest.raises(InputError, match=r"does not list problem\.npz"):
        read_artefact(path)
    sums.unlink()
    with pytest.raises(InputError, match="is no artefact"):
        read_artefact(path)


def _rewritten(path, change) -> None:
    """Change the document and let the list of digests agree with it."""
    file = path / "artefact.json"
    before, document = _digest(file), json.loads(file.read_text("utf-8"))
    change(document)
    file.write_text(json.dumps(document), encoding="utf-8")
    sums = path / "SHA256SUMS"
    sums.write_text(sums.read_text("ascii").replace(before, _digest(file)), encoding="ascii")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda document: document.update(schema=SCHEMA + 1), "schema version 2"),
        (lambda document: document["case"].update(news=1), "'news' of Case is unknown"),
        (lambda document: document["case"]["problem"].update(record="Popen"), "'Popen' is unknown"),
        (lambda document: document["case"]["problem"]["targets"].update(array="x"), "'x' is missing"),
        (lambda document: document["case"]["problem"]["loss"].update(C=-1.0), "must be finite and > 0"),
        (lambda document: document["case"]["stream"].update(seed=2), "have SHA-256"),
        (lambda document: document.pop("verdicts"), "verdicts"),
    ],
)
def test_a_document_that_cannot_be_used_says_why(path, change, words):
    _rewritten(path, change)
    with pytest.raises(InputError, match=words) as caught:
        read_artefact(path)
    assert str(path) in str(caught.value)


def _judged(case, spoil=None):
    """All verdicts of all registered checks, and the runs they rest on."""
    solver, checks = ProductionSolver(), checks_of(tuple(MODULES))
    runs = {}
    for key, request in merge_requests(check.runs(case) for check in checks).items():
        runs[key] = solver.run(request)
    for check in checks:
        wanted = continued_runs(check, case, runs)
        runs.update({key: solver.run(request) for key, request in wanted.items() if key not in runs})
    if spoil is not None:
        runs = {key: spoil(key, run) for key, run in runs.items()}
    return runs, [(check, check.judge(case, runs, Oracle(case.problem))) for check in checks]


def _spoil(key, run):
    alphas = run.alphas.copy()
    alphas[-1, run.s % 12] += 1e-3 * len(key)
    return dataclasses.replace(run, alphas=alphas)


CASES = [
    (SquaredHinge(2.0), LinearKernel(), 1),
    (Hinge(0.5), RBFKernel(0.2), 1),
    (Ridge(0.05), PolynomialKernel(2, 1.0), 3),
]


@pytest.mark.parametrize("spoil", [None, _spoil])
@pytest.mark.parametrize(("loss", "kernel", "block"), CASES)
def test_every_check_judges_its_artefact_as_it_judged_the_runs(tmp_path, loss, kernel, block, spoil):
    pytest.importorskip("flint", reason="python-flint is absent: install the extra [exact]")
    case = dataclasses.replace(_case(loss, kernel, block), variants={})
    runs, judged = _judged(case, spoil)
    passed, failed = set(), set()
    for check, verdicts in judged:
        for s in sorted({verdict.s for verdict in verdicts}):
            same = [verdict for verdict in verdicts if verdict.s == s]
            path = write_artefact(artefact_of(check, case, s, runs, same), tmp_path)
            again = rejudge(read_artefact(path))
            assert (again.disagreements, again.differences) == ((), ()), (check.CHECK, s)
            assert len(again.verdicts) == len(same)
            statuses = {verdict.status for verdict in same}
            passed |= {check.CHECK} if Status.PASS in statuses else set()
            failed |= {check.CHECK} if Status.FAIL in statuses else set()
            assert again.exit_code == (
                1 if Status.FAIL in statuses else 3 * (Status.INCONCLUSIVE in statuses)
            )
    assert {"window-replay", "trajectory", "sstep-equals-classical", "metamorphic-exact"} <= (
        failed if spoil else passed
    )


def test_only_unsettled_verdicts_leave_an_artefact(tmp_path):
    pytest.importorskip("flint", reason="python-flint is absent: install the extra [exact]")
    case = _case(Hinge(0.5), LinearKernel())
    runs = {key: ProductionSolver().run(request) for key, request in message_count.runs(case).items()}
    silent = {**runs, "s=4": dataclasses.replace(runs["s=4"], counters={})}
    verdicts = message_count.judge(case, silent, Oracle(case.problem))
    kept = keep_artefacts(message_count, case, silent, verdicts, tmp_path)
    (folder,) = tmp_path.iterdir()
    assert [verdict.replay for verdict in kept] == [
        "again", "sstep-verify replay artefacts/drawn-1-message-count-s4", "again",
    ]  # fmt: skip
    assert kept[1].evidence["run again"] == "again"
    assert (kept[1].status, rejudge(read_artefact(folder)).exit_code) == (Status.INCONCLUSIVE, 3)
    assert list(read_artefact(folder).trajectories) == ["s=4"]
    assert keep_artefacts(message_count, case, silent, verdicts, None) == verdicts


def test_an_artefact_that_cannot_be_written_costs_no_verdict(tmp_path):
    case = _case(Hinge(0.5), LinearKernel())
    runs = {key: ProductionSolver().run(request) for key, request in message_count.runs(case).items()}
    runs["s=4"] = dataclasses.replace(runs["s=4"], counters={})
    verdicts = message_count.judge(case, runs, Oracle(case.problem))
    (tmp_path / "file").write_text("", encoding="ascii")
    kept = keep_artefacts(message_count, case, runs, verdicts, tmp_path / "file")
    assert [verdict.status for verdict in kept] == [verdict.status for verdict in verdicts]
    assert kept[1].replay == "again"
    assert "not written" in kept[1].evidence["artefact"]


def test_another_verdict_than_the_stored_one_is_a_disagreement():
    pytest.importorskip("flint", reason="python-flint is absent: install the extra [exact]")
    case = _case(Hinge(0.5), LinearKernel())
    runs = {key: ProductionSolver().run(request) for key, request in message_count.runs(case).items()}
    verdicts = [
        verdict for verdict in message_count.judge(case, runs, Oracle(case.problem)) if verdict.s == 4
    ]
    kept = artefact_of(message_count, case, 4, runs, verdicts)
    assert rejudge(kept).exit_code == 0
    stored = kept.verdicts[0]
    wrong = rejudge(dataclasses.replace(kept, verdicts=({**stored, "status": "FAIL"},)))
    assert wrong.disagreements == ("status was FAIL, is PASS",)
    assert wrong.exit_code == 4
    drifted = rejudge(dataclasses.replace(kept, verdicts=({**stored, "ratio": 0.5},)))
    assert drifted.differences == ("ratio was 0.5, is 0.0",)
    assert drifted.exit_code == 0
    assert rejudge(dataclasses.replace(kept, verdicts=(stored, stored))).exit_code == 4

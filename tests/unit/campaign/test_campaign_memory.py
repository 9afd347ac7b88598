"""Memory is stated before anything is run, what does not fit is left out or refused by its figure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import scipy.sparse as sp
from daily import some

from sstep_verify.campaign.memory import certificate_need
from sstep_verify.campaign.model import Plan
from sstep_verify.campaign.read import read_definition, shipped
from sstep_verify.campaign.run import run_campaign
from sstep_verify.campaign.verdicts.case import make_case, memory_of
from sstep_verify.campaign.verdicts.family import expand
from sstep_verify.campaign.verdicts.measured import SharedReferences
from sstep_verify.errors import InputError
from sstep_verify.oracle.certificate.memory import GIB
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import Hinge, LinearKernel, Problem, RBFKernel, Ridge
from sstep_verify.problems.data import embedded
from sstep_verify.problems.data.datasets import DataSet, load
from sstep_verify.problems.data.registry import registry

CAMPAIGN = """
[campaign]
name = "large"
title = "t"
description = "d"

[[family]]
data = ["many.svm"]
task = ["svm-l1"]
kernel = [{{ name = "rbf", sigma = 0.5 }}]
s = [1, 8]
iterations = 64
memory = {memory}
checks = [{checks}]
"""


def _campaign(folder, memory: float, checks: str = '"window-replay", "kernel-entries"') -> str:
    path = folder / "large.toml"
    path.write_text(CAMPAIGN.format(memory=memory, checks=checks), encoding="utf-8")
    return str(path)


@pytest.fixture
def many(tmp_path, monkeypatch):
    """A set whose kernel matrices do not fit into an artificially small limit."""
    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(4).normal(size=(700, 2))
    lines = [f"{1 if row.sum() > 0 else -1} 1:{row[0]:.4f} 2:{row[1]:.4f}" for row in rows]
    (tmp_path / "many.svm").write_text("\n".join(lines) + "\n", encoding="ascii")
    # Without the fixed part of the kept balls the limit can be as small as the data.
    monkeypatch.setattr("sstep_verify.campaign.verdicts.case.CACHED_BALLS", 0)
    return tmp_path


def test_windows_are_judged_where_no_matrix_fits(many, monkeypatch):
    def refused(*_):
        raise AssertionError("a whole kernel matrix was formed")

    monkeypatch.setattr("sstep_verify.numerics.ROWS", 64)
    monkeypatch.setattr("sstep_verify.campaign.verdicts.case.ROWS", 64)
    monkeypatch.setattr("sstep_verify.numerics.kernel_matrix", refused)
    monkeypatch.setattr("sstep_verify.oracle.search.svm.kernel_matrix", refused)
    said = []
    results = run_campaign(Plan(read_definition(_campaign(many, 0.005)), say=said.append))
    (case,) = results.cases
    assert case.status == "PASS", case.reason
    assert {verdict["check"] for verdict in results.verdicts} == {
        "contract",
        "window-replay",
        "kernel-entries",
    }
    (line,) = [line for line in said if line.startswith("memory: ")]
    assert "of 0.005 GiB a process" in line
    assert "the optimum is not searched, which takes 0.091 GiB" in line
    assert case.facts["memory"] in line
    assert case.facts["optimum_found_by"].startswith("not searched")
    values = case.series[0].y
    assert 0 < values[-1] < values[0]


def test_what_cannot_be_done_is_refused_by_its_figure(many):
    with pytest.raises(InputError, match=r"check 'optimum' needs 0\.091 GiB for m = 700"):
        run_campaign(Plan(read_definition(_campaign(many, 0.006, '"optimum"'))))
    with pytest.raises(InputError, match=r"takes about 0\.\d+ of 0.0003 GiB.*memory = GiB"):
        run_campaign(Plan(read_definition(_campaign(many, 0.0003))))
    with pytest.raises(InputError, match=r"memory = 0\.0, but it must be > 0"):
        read_definition(_campaign(many, 0))


def test_the_matrix_of_a_large_set_is_never_asked_for():
    """m = 32,561 and few features: windows fit into the default of 4 GiB, the optimum does not."""
    spec = _spec('"window-replay", "kernel-entries"')
    data = DataSet("a", np.ones((32_561, 8)), np.ones(32_561), "classification", "", "")
    declarations = {name: solver.declaration for name, solver in spec.family.solvers().items()}
    case = make_case(spec, data, declarations, "large", "")
    memory = memory_of(spec, case)
    assert not memory.whole
    assert memory.total < 2 * GIB
    assert memory.matrices > 100 * GIB


@pytest.mark.parametrize("seed", range(4))
def test_an_optimum_is_searched_where_its_certificate_would_fit(seed):
    """The values of the data as balls are counted for both, a K-SVM's kernel matrix once more."""
    generator = np.random.default_rng([91, seed])
    m, n = int(generator.integers(2, 60)), int(generator.integers(1, 4000))
    data = DataSet("a", np.ones((m, n)), np.where(np.arange(m) % 2, 1.0, -1.0), "classification", "", "")
    spec = _spec('"window-replay"')
    declared = {"": spec.family.solvers()[""].declaration}
    memory = memory_of(spec, make_case(spec, data, declared, "drawn", ""))
    needed, _ = certificate_need("drawn", data.data, svm=True)
    assert memory.matrices == needed + 8 * m * m
    assert memory.parts["kernel matrices"] == memory.matrices


def _spec(checks: str):
    with TemporaryDirectory() as folder:
        (unit,) = expand(read_definition(_campaign(Path(folder), 4.0, checks)))
    return unit.work[0]


@pytest.mark.parametrize(
    "name", some([name for name in shipped() if read_definition(name).kind == "family"], of=2)
)
def test_every_shipped_campaign_fits_and_keeps_its_matrices(name):
    for unit in expand(read_definition(name)):
        pinned = registry().get(unit.data[0])
        if pinned is None:
            assert embedded.knows(unit.data[0])
            data = load(unit.data[0])
        else:
            shape = (pinned.samples, pinned.features)
            targets = np.ones(pinned.samples)
            data = DataSet(unit.data[0], sp.csr_array(shape), targets, pinned.task, "", "")
        for spec in unit.work:
            declared = {"": spec.family.solvers()[""].declaration}
            # A family that lowers its limit wants it so.
            assert (
                memory_of(spec, make_case(spec, data, declared, name, "")).whole or spec.family.memory < 4
            )


@pytest.mark.parametrize("loss", [Hinge(2.0), Ridge(0.1)], ids=str)
@pytest.mark.parametrize("kernel", [LinearKernel(), RBFKernel(0.5)], ids=lambda kernel: kernel.name)
def test_a_gap_over_the_value_reached_is_no_smaller(loss, kernel):
    generator = np.random.default_rng(2)
    data = generator.normal(size=(30, 3))
    problem = Problem("drawn", data, np.where(data[:, 0] > 0, 1.0, -1.0), kernel, loss)
    references = SharedReferences(problem, Oracle(problem), whole=False).reference(problem)
    known = SharedReferences(replace(problem), Oracle(problem)).reference(problem)
    assert references.measure(np.zeros(30))[0] == np.inf
    alpha = generator.uniform(0, 1e-3, 30)
    if problem.is_svm:
        assert references.measure(alpha)[0] > known.measure(alpha)[0]
    else:
        assert references.measure(alpha)[0] > 0

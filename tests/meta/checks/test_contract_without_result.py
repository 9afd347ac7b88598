"""Check contract: what a run that gave no result breaks, and that no cause is named where none is known."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest
from judged import small_case

from sstep_verify.adapters import CallableSolver
from sstep_verify.checks import contract
from sstep_verify.checks.shared.case import plain_request, run_key
from sstep_verify.errors import NoLogError, NoResultError, ProgramError, RepeatedDrawError, WitnessError
from sstep_verify.problems import Hinge, RBFKernel, Ridge
from sstep_verify.protocol import Declaration, ExternalSolver
from sstep_verify.runs import FRAMES, asked_of, make_run, unmade
from sstep_verify.trajectory import Raised
from sstep_verify.verdict import Status

S = 4


def test_a_returned_vector_of_another_shape_breaks_what_is_said_of_shapes_and_nothing_else():
    case, _ = small_case(Hinge(C=1.0), RBFKernel(sigma=0.5), s_values=(S,))
    for returned in (lambda a: a[:-1], lambda a: None):
        tested = CallableSolver(lambda p, b, s, a, back=returned: back(a), Declaration("own", level=1))
        tried = replace(case, declaration=tested.declaration)
        run = make_run(ExternalSolver(tested), plain_request(tried, S))
        (verdict,) = contract.judge(tried, {run_key(S): run}, None)
        assert (verdict.status, verdict.requirement) == (Status.FAIL, "S-5.1")
        assert verdict.raised[0].quoted


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [("NoLogError", "S-5.2"), ("NoResultError", "S-5.1"), ("RepeatedDrawError", "S-2.5")],
)
def test_what_a_program_did_not_leave_is_named(kind, sentence):
    case, _ = small_case(Ridge(1.0), RBFKernel(sigma=0.5), block=2, s_values=(S,))
    run = unmade(asked_of(plain_request(case, S)), Raised(kind, "left nothing"))
    (verdict,) = contract.judge(case, {run_key(S): run}, None)
    assert verdict.requirement == sentence


def test_a_run_whose_witness_was_written_over_ended_and_breaks_no_sentence():
    case, _ = small_case(Hinge(C=1.0), RBFKernel(sigma=0.5), s_values=(S,))
    run = unmade(asked_of(plain_request(case, S)), Raised("WitnessError", "witness-0.txt is no file of it"))
    (verdict,) = contract.judge(case, {run_key(S): run}, None)
    assert (verdict.status, verdict.requirement) == (Status.FAIL, "")


@pytest.mark.parametrize("kind", [NoLogError, NoResultError, ProgramError, RepeatedDrawError, WitnessError])
def test_a_program_is_quoted_and_not_said_to_have_raised_an_error_of_ours(kind):
    case, _ = small_case(Hinge(C=1.0), RBFKernel(sigma=0.5), s_values=(S,))
    run = unmade(asked_of(plain_request(case, S)), Raised(kind.__name__, "log.txt has 3 words"))
    (verdict,) = contract.judge(case, {run_key(S): run}, None)
    assert [(one.message, one.quoted) for one in verdict.raised] == [("log.txt has 3 words", True)]


def test_a_process_that_was_ended_quotes_no_error_and_is_given_no_cause():
    dead = Raised("", "nothing: it ended the process that made it (signal 6)")
    case, _ = small_case(Hinge(C=1.0), RBFKernel(sigma=0.5), s_values=(S,))
    (ended,) = contract.judge(case, {run_key(S): unmade(asked_of(plain_request(case, S)), dead)}, None)
    assert ended.requirement == "S-2.7"


def test_the_last_frames_of_the_solvers_own_files_are_kept():
    def deep(data, left):
        return deep(data, left - 1) if left else np.linalg.cholesky(-np.eye(2))

    case, _ = small_case(Hinge(C=1.0), RBFKernel(sigma=0.5), s_values=(S,))
    tested = CallableSolver(lambda p, b, s, a: deep(p, 5), Declaration("own", level=1))
    tried = replace(case, declaration=tested.declaration)
    run = make_run(ExternalSolver(tested), plain_request(tried, S))
    assert run.raised.kind == "LinAlgError"
    assert len(run.raised.frames) == FRAMES
    first = deep.__code__.co_firstlineno
    assert set(run.raised.frames) == {f"{os.path.basename(__file__)}:{first + 1} in deep"}
    (verdict,) = contract.judge(tried, {run_key(S): run}, None)
    assert verdict.raised[0].frames == run.raised.frames

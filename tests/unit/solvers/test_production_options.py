"""Options of the production solver: what goes together, what is refused, what is declared."""

from __future__ import annotations

import pytest
from production_runs import KERNELS, problem_of

from sstep_verify.declaration import Exchange
from sstep_verify.errors import InputError
from sstep_verify.problems import LinearKernel
from sstep_verify.solver.settings import GRAM_ROWS, Options


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"update": "twice"}, "update = 'twice' is unknown; known: in-place, frozen"),
        ({"rbf": "guess"}, "rbf = 'guess' is unknown; known: norm-expansion, difference"),
        (
            {"exchange": "gossip"},
            "exchange = 'gossip' is unknown; known: allreduce, support, reduce-scatter, gram",
        ),
        ({"columns": "mine"}, "columns = 'mine' is unknown; known: whole, local"),
        ({"gram_limit": -1}, "gram_limit = -1, but it must lie between 0 and"),
        ({"cache": -8}, "cache = -8, but it must lie between 0 and"),
        ({"recompute": -2}, "recompute = -2, but it must lie between 0 and"),
        ({"exchange": "gram", "cache": 10}, "use exchange 'allreduce'"),
        ({"exchange": "reduce-scatter", "keep_gram": True}, "use exchange 'allreduce'"),
        ({"keep_gram": True, "cache": 10}, "drop one"),
        ({"recompute": 3}, "recompute is for exchange 'gram', but exchange is 'allreduce'"),
    ],
)
def test_what_does_not_go_together_is_refused_with_the_way_out(options, words):
    with pytest.raises(InputError, match=words):
        Options(**options)


def test_a_gram_matrix_above_its_limit_is_refused():
    problem = problem_of("krr", m=12)
    Options(keep_gram=True, gram_limit=144).refuse(problem)
    with pytest.raises(InputError, match="12 x 12 = 144 words exceeds the limit of 143"):
        Options(keep_gram=True, gram_limit=143).refuse(problem)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_carried_weights_are_for_the_linear_kernel(kernel):
    problem, options = problem_of("svm-l1", kernel), Options(exchange="gram")
    if isinstance(kernel, LinearKernel):
        options.refuse(problem)
    else:
        with pytest.raises(InputError, match="which only the linear kernel has"):
            options.refuse(problem)


@pytest.mark.parametrize(
    ("options", "exchange", "weights"),
    [
        ({}, "allreduce", None),
        ({"exchange": "support"}, "support", None),
        ({"exchange": "reduce-scatter"}, "reduce-scatter", None),
        ({"exchange": "gram"}, "gram", 0),
        ({"keep_gram": True}, "kept-gram", None),
        ({"cache": 100}, "column-cache", None),
    ],
)
def test_the_declared_exchange_is_the_one_that_is_run(options, exchange, weights):
    declared = Options(**options).declaration(3)
    assert (declared.exchange.kind, declared.weights, declared.panels) == (exchange, weights, True)
    assert (declared.level, declared.ranks) == (3, 3)


def test_options_that_change_counts_or_bits_are_declared():
    assert Options(keep_gram=True).declaration(1).exchange == Exchange(
        "kept-gram", rows=GRAM_ROWS, trailer=2
    )
    assert Options(cache=77).declaration(1).exchange == Exchange("column-cache", words=77, trailer=2)
    assert Options(exchange="gram", recompute=5).declaration(1).weights == 5


def test_a_cache_holds_whole_rows_and_no_more_than_there_are():
    assert [Options(cache=words).cached_rows(10) for words in (9, 10, 39, 100, 1000)] == [0, 1, 3, 10, 10]

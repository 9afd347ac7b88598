"""The scaling study's tables."""

import numpy as np

from sstep_verify.costs.model.machine import read
from sstep_verify.costs.model.profiles import Profile, uniform_profile
from sstep_verify.costs.model.scaling import (
    NOT_REPRODUCIBLE,
    NOT_SUPPORTED,
    RANKS,
    SUPPORTED,
    UNPUBLISHED,
    claims,
    paper_profiles,
    scaling,
)

PROFILES = paper_profiles(
    {
        "duke": uniform_profile("duke", 44, 7129, 44 * 7129),
        # Columns as skewed as those of the real data, fewer of them.
        "news20.binary": Profile("news20.binary", 19_996, np.maximum(8000 // np.arange(1, 100_001), 2)),
    }
)


def test_tables_hold_every_cell():
    rows = scaling(read("perlmutter"), PROFILES)
    assert len(rows) == len(PROFILES) * 2 * 3 * len(RANKS)
    for row in rows:
        assert row["s-step"] > 0
        if row["task"] == "K-SVM" and row["P"] == 1:
            assert row["s-step"] < row["classical"]  # The transpose is paid once a window.
        assert row["kernel"] == "linear" or row["exchange"] != "gram"
        if row["data"] == "news20.binary":
            # Long columns: fewer words, and no transpose.
            assert 0 < row["ours"] < row["s-step"]


def test_claims_are_judged_where_timings_were_published_and_nowhere_else():
    found = claims(read("perlmutter"), PROFILES)
    assert len(found) == 43
    for claim in found:
        assert claim.verdict in (SUPPORTED, NOT_SUPPORTED, NOT_REPRODUCIBLE)
        if claim.text.split(",")[0].split(":")[0] in UNPUBLISHED or "P =" in claim.text:
            assert claim.verdict == NOT_REPRODUCIBLE
    (headline,) = (claim for claim in found if claim.text == "duke, K-SVM, rbf: speed-up")
    assert (headline.stated, headline.verdict) == ("9.8", NOT_SUPPORTED)

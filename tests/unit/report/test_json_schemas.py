"""Forms of files do not drift in silence: the digest of each belongs to its version number."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys

import pytest

from sstep_verify.cli.schemas import FORMS, schema_of

DIGESTS = {
    "artefact 4": "4cb8ffc0e1d5585ff9a46671a7da201dd2149602e64c242f1e0e239bff4dc045",
    "results 4": "bea1a5a53a92bcfbd0f58f1374aa19156e2097901b9dfa127cfb232de4ab819f",
    "vector 1": "82193c0f918e63e606089fbc83f97bae250834ac19b709601553057eceaef40a",
    "vectors 1": "02bd9b73ce0547afb6f967ea69f155fc76145554d339ba491cfb45344577c1af",
}
"""SHA-256 of the schema of each form and version, its words left out; a version that was used stays as it is."""


def without_words(value):
    if isinstance(value, dict):
        return {
            key: without_words(part)
            for key, part in value.items()
            if key != "description" or isinstance(part, dict)
        }
    return [without_words(part) for part in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", FORMS)
def test_a_form_that_changes_gets_a_new_version(name):
    schema, version = schema_of(name), FORMS[name][1]
    assert schema["$id"] == f"urn:sstep-verify:schema:{name}:{version}"
    text = json.dumps(without_words(schema), sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert DIGESTS.get(f"{name} {version}") == digest, (
        "the form of this file changed: raise its version and add the digest; or, where every file reads as before, "
        "replace the digest"
    )


def test_a_schema_is_printed_on_demand():
    printed = subprocess.run(
        [sys.executable, "-m", "sstep_verify.cli.schemas", "vectors"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(printed.stdout) == schema_of("vectors")

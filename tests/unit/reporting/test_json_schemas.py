"""JSON schemas that come with the package are those of its types; run as a program, this writes them anew."""

from __future__ import annotations

import json
from importlib import resources

import pytest

from sstep_verify.campaign import artefact_values
from sstep_verify.campaign.statement import form as statement
from sstep_verify.campaign.statement.record import Statement
from sstep_verify.inputs.records import json_schema, strict
from sstep_verify.reporting import schema
from sstep_verify.reporting.results import SCHEMA
from sstep_verify.vectors import record

FOLDER = resources.files("sstep_verify.reporting") / "schemas"
MADE = {
    "artefact-3.json": lambda: json_schema(artefact_values.form(), "artefact", artefact_values.SCHEMA),
    "results-3.json": lambda: json_schema(schema.DOCUMENT, "results", SCHEMA),
    "statement-2.json": lambda: json_schema(strict(Statement, {}), "statement", statement.SCHEMA),
    "vector-1.json": lambda: json_schema(strict(record.Expected, {}), "vector", record.VERSION),
    "vectors-1.json": lambda: json_schema(strict(record.Index, {}), "vectors", record.VERSION),
}


def text(name: str) -> str:
    return json.dumps(MADE[name](), indent=1, sort_keys=True) + "\n"


@pytest.mark.parametrize("name", MADE)
def test_the_shipped_schema_is_up_to_date(name):
    remedy = "the form of a record changed: raise its version, or run this file as a program if it reads the same"
    assert (FOLDER / name).read_text("utf-8") == text(name), remedy


def test_every_shipped_schema_is_made_here_and_holds_its_version():
    assert sorted(entry.name for entry in FOLDER.iterdir()) == sorted(MADE)
    for name in MADE:
        kind, _, version = name.removesuffix(".json").rpartition("-")
        assert json.loads(text(name))["$id"] == f"urn:sstep-verify:schema:{kind}:{version}"


if __name__ == "__main__":
    for file in MADE:
        (FOLDER / file).write_text(text(file), "utf-8")

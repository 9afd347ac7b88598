"""``python -m sstep_verify.cli.schemas NAME``: the JSON schema of a form of file, made from its types."""

from __future__ import annotations

import json
import sys
from typing import Any

from sstep_verify.campaign.artefact import form as artefact_form
from sstep_verify.errors import InputError, among
from sstep_verify.files.records import json_schema, strict
from sstep_verify.report import results
from sstep_verify.vectors import record

FORMS = {
    "artefact": (artefact_form.form, artefact_form.SCHEMA),
    "results": (lambda: results.DOCUMENT, results.SCHEMA),
    "vector": (lambda: strict(record.Expected, {}), record.VERSION),
    "vectors": (lambda: strict(record.Index, {}), record.VERSION),
}
"""Type and version of each form: ``artefact.json``, ``results.json``, ``expected.json`` of a vector,
``vectors.json``."""


def schema_of(name: str) -> dict[str, Any]:
    """The JSON schema of a form, with its version in ``$id``."""
    if name not in FORMS:
        raise InputError(f"form {name!r:.60} is unknown{among(name, FORMS)}")
    made, version = FORMS[name]
    return json_schema(made(), name, version)


if __name__ == "__main__":
    try:
        for form in sys.argv[1:] or FORMS:
            print(json.dumps(schema_of(form), indent=1, sort_keys=True))
    except InputError as error:
        sys.exit(f"error: {error}")

"""The public names: all there, typed as they are found, and none imported before it is used."""

from __future__ import annotations

import ast
import doctest
import inspect
import subprocess
import sys
from importlib import resources

import pytest

import sstep_verify


def test_every_public_name_is_found_and_documented():
    for name in sstep_verify.__all__:
        value = getattr(sstep_verify, name)
        assert name == "__version__" or inspect.getdoc(value), name


def test_type_checkers_see_the_names_that_are_found():
    tree = ast.parse(inspect.getsource(sstep_verify))
    (guarded,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.name: node.module
        for node in guarded.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == sstep_verify._HOMES
    assert sorted([*seen, "__version__"]) == sorted(sstep_verify.__all__)


def test_the_distribution_says_that_it_is_typed():
    assert resources.files("sstep_verify").joinpath("py.typed").is_file()
    assert resources.files("sstep_reference").joinpath("py.typed").is_file()


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Porblem'"):
        _ = sstep_verify.Porblem


def test_importing_the_package_imports_none_of_its_parts():
    code = "import sys, sstep_verify; print([m for m in sys.modules if m.startswith(('numpy', 'sstep_'))])"
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert made.stdout.strip() == "['sstep_verify']"


@pytest.mark.parametrize("name", sorted(set(sstep_verify.__all__) - {"__version__"}))
def test_every_public_name_has_an_example_that_prints_what_it_says(name):
    value = getattr(sstep_verify, name)
    example = doctest.DocTestParser().get_doctest(inspect.getdoc(value) or "", {}, name, None, 0)
    assert example.examples
    assert not doctest.DocTestRunner().run(example).failed

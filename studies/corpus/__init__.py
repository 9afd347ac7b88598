"""Solvers that are right or wrong, each with its label: the corpus that power is measured on."""

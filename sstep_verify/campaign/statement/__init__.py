"""Statements: what a check of a solver showed, published with its recorded runs, and proved anew."""

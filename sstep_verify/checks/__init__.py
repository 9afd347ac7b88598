"""CLAIMS: one file per check."""

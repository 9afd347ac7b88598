"""Certificates of optima: made, written, kept."""

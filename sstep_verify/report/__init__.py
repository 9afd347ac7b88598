"""Turns a results document into files: JSON, JUnit XML, CSV, figures and one HTML page."""

"""Turns a results document into files: JSON, JUnit XML, CSV, figures and one HTML page."""

from sstep_verify.report.case import Certified, CertifiedRow
from sstep_verify.report.results import (
    DRIFT,
    ERROR,
    GAP,
    Campaign,
    Case,
    Line,
    Results,
    Run,
    Series,
    Summary,
    load,
    tally,
)
from sstep_verify.report.write import check_destination, write_report

__all__ = [
    "DRIFT", "ERROR", "GAP", "Campaign", "Case", "Certified", "CertifiedRow", "Line", "Results", "Run",
    "Series", "Summary", "check_destination", "load", "tally", "write_report",
]  # fmt: skip

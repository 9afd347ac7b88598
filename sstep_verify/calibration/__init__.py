"""Measure this machine with the production solver and its ranks, for the model of costs."""

from sstep_verify.calibration.machine import calibrate as calibrate

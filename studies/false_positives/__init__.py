"""Correct solvers on drawn problems, judged as any solver is: false alarms, and how tight bounds are."""

"""The kind of campaign that runs solvers on problems and judges them by checks."""

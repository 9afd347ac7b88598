"""Training as `sstep-verify solve` does it: read, share out, train, measure, write.

The steps, in order, and where each is: `solver.settings` (everything asked for, checked once),
`pipeline` (the order of the steps, and what is said at the end), `files` (data are read and their features
distributed over the ranks; what is written when), `checkpoint` (where an earlier run stopped), `decisions`
(exchange, interval), `intervals` (of windows, one after the other) with `monitor` (what is measured) and,
where s is tuned, `schedule` (which window comes next); `predictions` of new samples.
"""

"""Every step of a logged run, judged as one classical step from the run's own alpha, in up to three passes.

1. `windows` goes through a stretch of steps, and `clip` or `solve` judges each: distance, bound, events. It
   reads every kernel row once, and keeps what the other passes need of a step (`kept`).
2. `tested` counts from that, stretch by stretch, which errors the steps would have shown.
3. `explain` looks for what explains wrong steps, after a failure only: it has their stretches judged again.
"""

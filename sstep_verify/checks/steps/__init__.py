"""Every step of a logged run, judged as one classical step from the run's own alpha, in up to three passes.

1. `judged` picks segments of the run, `loop` goes through the steps of one, and `clip` (K-SVM) or `solve`
   (K-RR) judges each: distance, bound, events. Bounds are formed in bounds/step/clip.py and
   bounds/step/residual.py. Every kernel row is read once (`rows`), and what the other passes need of a step
   is kept (`kept`).
2. `tested` counts from that, segment by segment, which errors the steps would have shown.
3. `explain` looks for what explains wrong steps, after a failure only: it has their segments judged again.
"""

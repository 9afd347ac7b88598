"""HOW FAR A RUN of a correct implementation may be from the oracle: one derivation for each tolerance.

=====  ==========================================================  ========================================
bound  what it bounds                                              derived in
=====  ==========================================================  ========================================
A      the error of a kernel entry (delta_K)                       rounding/kernel/entries.py
B      the end of one window, from the run's own a at its start    bounds/window/svm.py, ridge.py
B'     one logged step, from the run's own a before it             bounds/step/clip.py, residual.py
C      a whole run, from the exact trajectory                      bounds/window/svm.py, ridge.py
D      what is said of the optimum                                 bounds/optimum/svm.py, ridge.py
=====  ==========================================================  ========================================

Bound B has another form where a window is compared with the judge's float64 steps: bounds/screen.py. The
other modules here bound what their first lines name.
"""

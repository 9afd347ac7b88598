"""Batches: the runs of a profile as folders and a script, made on another machine, then judged."""

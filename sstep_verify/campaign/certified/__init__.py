"""The kind of campaign that certifies optima; no solver is run."""

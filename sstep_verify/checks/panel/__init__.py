"""An exposed panel: the rows that are compared, the digits they keep."""

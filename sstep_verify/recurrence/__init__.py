"""MISTAKES: the mutable recurrence and the catalogue of defects."""

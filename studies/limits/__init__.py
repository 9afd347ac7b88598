"""How small an error the verdicts of a run show, predicted and tried with doses of it."""

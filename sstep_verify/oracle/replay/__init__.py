"""One window again, exactly, from the solver's own a."""

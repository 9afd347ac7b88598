"""HOW FAR A RUN of a correct implementation may be from the oracle: one derivation for each tolerance."""

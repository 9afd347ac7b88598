"""HOW FAR a correct implementation may be from the oracle: every tolerance, one derivation each."""

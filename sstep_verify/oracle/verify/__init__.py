"""Proofs of certificates from the data alone; shares no code with what made them."""

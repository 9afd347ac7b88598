"""Proofs of certificates from the data alone; shares only balls and problems with what made them."""

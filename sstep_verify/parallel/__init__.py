"""INSIDE THE RANKS: communicators, local panel products, kernel functions."""

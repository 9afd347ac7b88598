"""Rows of the kernel matrix: inner products over a rank's features, and the kernel function."""

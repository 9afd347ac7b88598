"""Relations between runs of transformed problems."""

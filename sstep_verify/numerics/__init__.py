"""Float64 values that all judges share: the kernel matrix, the objectives."""

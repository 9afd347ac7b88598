"""Float64 arithmetic that all judges share: rounding constants, the kernel matrix, the objectives."""

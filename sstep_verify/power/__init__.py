"""What was measured of the checks, as runs print it; the studies that measure it stand in a clone."""

"""Short runs judged against the exact trajectory."""

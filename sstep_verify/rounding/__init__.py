"""HOW FAR A NUMBER may be: what IEEE arithmetic does to entries, sums, products, clips and solves."""

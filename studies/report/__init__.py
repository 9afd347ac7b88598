"""Records, pages and tables of the studies."""

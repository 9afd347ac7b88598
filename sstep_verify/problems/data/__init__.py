"""Data sets by name or by file: LIBSVM text, embedded ones, generated ones, and the registry."""

"""The HTML page: templates and the rows of their tables."""

"""Artefacts: folders that hold all it takes to judge a verdict again, kept, read, and judged again."""

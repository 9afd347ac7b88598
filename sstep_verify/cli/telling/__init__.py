"""What is said on a terminal: progress, words in plain language."""

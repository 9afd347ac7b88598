"""The command line, one file per command, or two of ``perf``."""

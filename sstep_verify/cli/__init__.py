"""The command line, one file per command, or for two that belong together."""

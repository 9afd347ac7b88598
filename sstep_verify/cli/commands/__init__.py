"""The commands, one file each or for two that belong together, imported when one of it is called."""

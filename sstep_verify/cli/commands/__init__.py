"""The commands, one file each, or two of ``perf``, imported when one of it is called."""

"""Every step of a logged run, judged as one classical step from the run's own a."""

"""Running a campaign or a training as a command does."""

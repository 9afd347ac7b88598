"""The kind of campaign that predicts strong scaling; nothing is run, timed or judged."""

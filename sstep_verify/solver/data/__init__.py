"""A rank's columns of the data: who gets which, and how they are read and sent."""

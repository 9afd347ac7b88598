"""Collectives over any communicator, with a packet for a window and a status word in it; who failed."""

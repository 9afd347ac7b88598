"""A search for what brings correct runs nearest to their bounds, and for what s-step loses most on."""

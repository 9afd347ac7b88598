"""Campaigns that measure power: the tables ``[[sensitivity]]``."""

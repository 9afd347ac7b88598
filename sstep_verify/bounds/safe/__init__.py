"""Bounds of every window of s steps from one vector, whatever coordinates it draws."""

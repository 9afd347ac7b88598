"""What is communicated for a window: an exchange in a module of its own, and which is chosen."""

"""What a run says it used in its steps, quantity by quantity, and which mistake explains what is off."""

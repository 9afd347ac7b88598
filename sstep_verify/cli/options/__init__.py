"""Options that commands share, and what is made of them."""

"""What passes over graphs are made of, and what runs them."""

"""Infrastructure of passes."""

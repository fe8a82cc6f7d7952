"""SymPy expressions over sizes: infinite integers, functions with Python's arithmetic, and ranges of values."""

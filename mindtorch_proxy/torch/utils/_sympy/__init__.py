"""SymPy expressions over sizes: infinite integers, functions that follow Python's arithmetic, and the ranges of their
values.
"""

"""Algorithms on top of collectives."""

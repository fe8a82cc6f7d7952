"""Starts worker processes, monitors them and restarts them."""

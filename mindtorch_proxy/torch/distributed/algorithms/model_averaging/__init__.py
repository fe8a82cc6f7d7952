"""Averaging the parameters of replicas every so often."""

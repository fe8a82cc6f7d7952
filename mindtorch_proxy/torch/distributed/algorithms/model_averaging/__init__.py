"""Periodic averaging of the parameters of replicas."""

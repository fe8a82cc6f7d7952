"""Activation checkpointing of whole modules."""

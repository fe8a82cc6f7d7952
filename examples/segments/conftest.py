"""Lets pytest find the package `segments` from this folder."""

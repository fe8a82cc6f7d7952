"""Dtypes that functions turn down, as CANN's operators state them: the rules in which most agree, and who differs."""

import os

import rules
import torch


def check(name, args):
    """Raises rules.Refused where the function does not take a tensor's dtype."""

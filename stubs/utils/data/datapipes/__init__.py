"""Datasets that are composed: pipes of samples, each made from others. The data-frame pipes are not here."""

from . import iter, map

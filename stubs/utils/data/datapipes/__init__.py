"""Datapipes: composable pipes of samples. Data-frame pipes are not implemented."""

from . import iter, map

"""Pipes that apply functions to samples."""

from torch.utils.data._utils.collate import default_collate

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils.common import _AsLong, _call, _check_unpickable_fn, validate_input_col

__all__ = ["CollatorIterDataPipe", "MapperIterDataPipe"]


@functional_datapipe("map")
class MapperIterDataPipe(_AsLong, IterDataPipe):
    """A pipe that applies a function to each sample, or to some of its columns.

    The result replaces the first of these columns, or goes to ``output_col``.
    """

    def __init__(self, datapipe, fn, input_col=None, output_col=None):
        _check_unpickable_fn(fn)
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        if isinstance(output_col, (list, tuple)):
            if len(output_col) > 1:
                raise ValueError("`output_col` must be a single-element list or tuple")
            output_col = output_col[0]
        validate_input_col(fn, input_col)
        self.datapipe, self.fn, self.input_col, self.output_col = datapipe, fn, input_col, output_col

    def _apply_fn(self, data):
        result = _call(self.fn, data, self.input_col)
        if self.input_col is None:
            return result
        row = list(data) if isinstance(data, tuple) else data
        if self.output_col == -1:
            row.append(result)
        elif self.output_col is not None:
            row[self.output_col] = result
        else:
            first, *others = self.input_col if isinstance(self.input_col, (list, tuple)) else [self.input_col]
            row[first] = result
            for column in sorted(others, reverse=True):
                del row[column]
        return tuple(row) if isinstance(data, tuple) else row

    def __iter__(self):
        for data in self.datapipe:
            yield self._apply_fn(data)


@functional_datapipe("collate")
class CollatorIterDataPipe(MapperIterDataPipe):
    """A pipe that collates each sample, by default into tensors."""

    def __init__(self, datapipe, conversion=default_collate, collate_fn=None):
        if collate_fn is None and not callable(conversion):
            raise NotImplementedError(
                "collate: conversion by column belongs to the data-frame pipes, which are not supported"
            )
        super().__init__(datapipe, conversion if collate_fn is None else collate_fn)

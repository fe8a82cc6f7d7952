"""A pipe that filters samples."""

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils.common import StreamWrapper, _call, _check_unpickable_fn, validate_input_col

__all__ = ["FilterIterDataPipe"]


@functional_datapipe("filter")
class FilterIterDataPipe(IterDataPipe):
    """A pipe of the samples for which a function of them, or of some columns, returns True."""

    def __init__(self, datapipe, filter_fn, input_col=None):
        _check_unpickable_fn(filter_fn)
        validate_input_col(filter_fn, input_col)
        self.datapipe, self.filter_fn, self.input_col = datapipe, filter_fn, input_col

    def __iter__(self):
        for data in self.datapipe:
            keep = _call(self.filter_fn, data, self.input_col)
            if not isinstance(keep, bool):
                raise ValueError("Boolean output is required for `filter_fn` of FilterIterDataPipe, got", type(keep))
            if keep:
                yield data
            else:
                StreamWrapper.close_streams(data)

"""A pipe of file paths."""

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils.common import _KnownLength, get_file_pathnames_from_root
from .utils import IterableWrapperIterDataPipe

__all__ = ["FileListerIterDataPipe"]


@functional_datapipe("list_files")
class FileListerIterDataPipe(_KnownLength, IterDataPipe):
    """A pipe of the paths of files in directories."""

    def __init__(self, root=".", masks="", *, recursive=False, abspath=False, non_deterministic=False, length=-1):
        root = [root] if isinstance(root, str) else root
        self.datapipe = root if isinstance(root, IterDataPipe) else IterableWrapperIterDataPipe(root)
        self.masks, self.recursive, self.abspath, self.length = masks, recursive, abspath, length
        self.non_deterministic = non_deterministic

    def __iter__(self):
        for path in self.datapipe:
            yield from get_file_pathnames_from_root(
                path, self.masks, self.recursive, self.abspath, self.non_deterministic
            )

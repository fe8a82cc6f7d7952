"""The base classes of datapipes."""

import contextlib
import functools
import importlib.util
import inspect
import pickle
from typing import TypeVar

from torch.utils.data.dataset import Dataset, IterableDataset

__all__ = ["DataChunk", "IterDataPipe", "MapDataPipe"]
_T, _T_co = TypeVar("_T"), TypeVar("_T_co", covariant=True)


class DataChunk(list[_T]):
    """A batch of samples."""

    def __init__(self, items):
        super().__init__(items)
        self.items = list(self)

    def as_str(self, indent=""):
        """Return the elements as text, after an indent."""
        return f"{indent}[{', '.join(map(str, self))}]"

    def raw_iterator(self):
        """Iterate over the elements."""
        yield from self.items


class _DataPipe:
    """Common base of both kinds of pipes; each kind has its own ``functions``, pipes registered as methods."""

    functions: dict = {}
    getstate_hook = None
    reduce_ex_hook = None

    def __getattr__(self, name):
        if name in self.functions:
            return functools.partial(self.functions[name], self)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @classmethod
    def register_function(cls, function_name, function):
        """Register a function as a method of all pipes of the kind."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(cls, function_name, cls_to_register, enable_df_api_tracing=False):
        """Register a pipe as a method of all pipes of the kind."""
        if enable_df_api_tracing:
            raise NotImplementedError("enable_df_api_tracing: the data-frame pipes are not supported")
        if function_name in cls.functions:
            raise Exception(f"Unable to add DataPipe function name {function_name} as it is already taken")
        cls.functions[function_name] = cls_to_register

    def __getstate__(self):
        hook = type(self).getstate_hook
        return self.__dict__ if hook is None else hook(self.__dict__)

    def __reduce_ex__(self, *args, **kwargs):
        hook = type(self).reduce_ex_hook
        if hook is not None:
            with contextlib.suppress(NotImplementedError):  # raised by a hook that does not handle the pipe
                return hook(self)
        return super().__reduce_ex__(*args, **kwargs)

    @classmethod
    def set_getstate_hook(cls, hook_fn):
        """Set the function that converts the pickled state of all pipes of the kind; None removes it."""
        cls._set_hook("getstate_hook", hook_fn)

    @classmethod
    def set_reduce_ex_hook(cls, hook_fn):
        """Set the function that pickles all pipes of the kind; None removes it."""
        cls._set_hook("reduce_ex_hook", hook_fn)

    @classmethod
    def _set_hook(cls, name, hook):
        kind = next(c for c in cls.__mro__ if "functions" in vars(c))
        if getattr(kind, name) is not None and hook is not None:
            raise RuntimeError(f"Attempt to override existing {name}")
        setattr(kind, name, hook)

    def __repr__(self):
        return type(self).__qualname__

    def __dir__(self):
        return [*super().__dir__(), *self.functions]


def _describe(pipe):
    """Return the constructor call of a pipe, reconstructed from its attributes."""
    arguments = [(n, getattr(pipe, n)) for n in sorted(inspect.signature(type(pipe)).parameters) if hasattr(pipe, n)]
    told = ", ".join(f"{n}={v.__name__ if inspect.isfunction(v) else repr(v)}" for n, v in arguments)
    return f"{type(pipe).__name__}({told})"


_FEEDBACK = (
    "\nFor feedback regarding this single iterator per IterDataPipe constraint, "
    "see https://github.com/pytorch/data/issues/45."
)


class _Iterator:
    """An iterator that raises once its pipe has a newer iterator."""

    def __init__(self, iterator, datapipe, iterator_id):
        self.iterator, self.datapipe, self.iterator_id = iterator, datapipe, iterator_id

    def __iter__(self):
        return self

    def __next__(self):
        self.datapipe._check(self.iterator_id)
        return next(self.iterator)

    def __getattr__(self, name):
        return getattr(self.__dict__["iterator"], name)


def _single(f):
    """Wrap ``__iter__`` so that a new iterator invalidates the previous one of the same pipe.

    A generator becomes current with its first item, other iterators at once.
    """
    if not inspect.isgeneratorfunction(f):
        return functools.wraps(f)(lambda self: _Iterator(f(self), self, self._begin()))

    @functools.wraps(f)
    def __iter__(self):
        items, mine = f(self), self._begin()
        try:
            for item in items:
                yield item
                self._check(mine)
        except Exception as e:
            note, said = "thrown by __iter__ of", e.args[0] if e.args and isinstance(e.args[0], str) else None
            if said is None or (note not in said and _FEEDBACK not in said):  # only the innermost pipe is named
                e.args = (
                    f"{said or ''}\nThis exception is {note} {_describe(self)}",
                    *(e.args[1:] if said is not None else ()),
                )
            raise

    return __iter__


class IterDataPipe(_DataPipe, IterableDataset[_T_co]):
    """An iterable-style pipe; subclasses define ``__iter__``.

    Subclasses with state also define ``reset``, which is called before each iteration.
    """

    functions: dict = {}
    _valid_iterator_id = -1

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "__iter__" in vars(cls):
            cls.__iter__ = _single(vars(cls)["__iter__"])

    @_single
    def __iter__(self):
        return self

    def reset(self):
        """Reset the state of the last iteration; the default does nothing."""

    def _begin(self):
        self._valid_iterator_id += 1
        self.reset()
        return self._valid_iterator_id

    def _check(self, iterator_id):
        if iterator_id != self._valid_iterator_id:
            raise RuntimeError(
                "This iterator has been invalidated because another iterator has been created from the same "
                f"IterDataPipe: {_describe(self)}\n`.fork()` gives several iterators of one pipe.{_FEEDBACK}"
            )


class MapDataPipe(_DataPipe, Dataset[_T_co]):
    """A map-style pipe; subclasses define ``__getitem__`` and usually ``__len__``."""

    functions: dict = {}


class _DataPipeSerializationWrapper:
    """A pipe that is pickled by dill where pickle fails."""

    def __init__(self, datapipe):
        self._datapipe = datapipe

    def __getstate__(self):
        try:
            return pickle.dumps(self._datapipe), False
        except Exception:
            if importlib.util.find_spec("dill") is None:
                raise
            return importlib.import_module("dill").dumps(self._datapipe), True

    def __setstate__(self, state):
        self._datapipe = importlib.import_module("dill" if state[1] else "pickle").loads(state[0])

    def __len__(self):
        try:
            return len(self._datapipe)
        except Exception as e:
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length") from e


class _IterDataPipeSerializationWrapper(_DataPipeSerializationWrapper, IterDataPipe):
    def __iter__(self):
        return iter(self._datapipe)


class _MapDataPipeSerializationWrapper(_DataPipeSerializationWrapper, MapDataPipe):
    def __getitem__(self, idx):
        return self._datapipe[idx]

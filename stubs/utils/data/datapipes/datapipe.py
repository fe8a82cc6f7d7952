"""The base classes of pipes."""

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
        """The elements as text, with an indent before."""
        return f"{indent}[{', '.join(map(str, self))}]"

    def raw_iterator(self):
        """The list's own iterator."""
        yield from self.items


class _DataPipe:
    """What both kinds of pipes share. A kind has its own ``functions`` (pipes as methods of their source)."""

    functions: dict = {}
    getstate_hook = None
    reduce_ex_hook = None

    def __getattr__(self, name):
        if name in self.functions:
            return functools.partial(self.functions[name], self)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @classmethod
    def register_function(cls, function_name, function):
        """Let all pipes have a method of this name."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(cls, function_name, cls_to_register, enable_df_api_tracing=False):
        """Let all pipes have a method that wraps them in this pipe."""
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
            with contextlib.suppress(NotImplementedError):  # how a hook leaves a pipe alone
                return hook(self)
        return super().__reduce_ex__(*args, **kwargs)

    @classmethod
    def set_getstate_hook(cls, hook_fn):
        """What all pipes of the kind are pickled as instead of their attributes; None takes it back."""
        cls._set_hook("getstate_hook", hook_fn)

    @classmethod
    def set_reduce_ex_hook(cls, hook_fn):
        """How all pipes of the kind are pickled; None takes it back."""
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
    """The call that made a pipe, as far as its attributes tell."""
    arguments = [(n, getattr(pipe, n)) for n in sorted(inspect.signature(type(pipe)).parameters) if hasattr(pipe, n)]
    told = ", ".join(f"{n}={v.__name__ if inspect.isfunction(v) else repr(v)}" for n, v in arguments)
    return f"{type(pipe).__name__}({told})"


_FEEDBACK = (
    "\nFor feedback regarding this single iterator per IterDataPipe constraint, "
    "see https://github.com/pytorch/data/issues/45."
)


class _Iterator:
    """An iterator that ends with an error once its pipe has a newer one."""

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
    """``__iter__`` whose iterators hold until the next one begins: a generator with its first item, others at once."""
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
            if said is None or (note not in said and _FEEDBACK not in said):  # the innermost pipe names itself
                e.args = (
                    f"{said or ''}\nThis exception is {note} {_describe(self)}",
                    *(e.args[1:] if said is not None else ()),
                )
            raise

    return __iter__


class IterDataPipe(_DataPipe, IterableDataset[_T_co]):
    """A stream of samples: subclasses write ``__iter__`` and, if they hold state, ``reset``, which runs before each
    iteration.
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
        """Forget the last iteration; a pipe without state has nothing to forget."""

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
    """Samples by index or key: subclasses write ``__getitem__`` and, mostly, ``__len__``."""

    functions: dict = {}


class _DataPipeSerializationWrapper:
    """A pipe that dill pickles where pickle cannot."""

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

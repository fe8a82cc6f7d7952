"""Decorators of pipes, which register them as methods or mark their determinism.

Those that check types are not implemented.
"""

from .datapipe import IterDataPipe, MapDataPipe

_determinism = False


class functional_datapipe:
    """Class decorator that makes a pipe a method of other pipes under a name."""

    def __init__(self, name, enable_df_api_tracing=False):
        self.name, self.enable_df_api_tracing = name, enable_df_api_tracing

    def __call__(self, cls):
        for kind in (IterDataPipe, MapDataPipe):
            if issubclass(cls, kind):
                kind.register_datapipe_as_function(self.name, cls, self.enable_df_api_tracing)
        return cls


class guaranteed_datapipes_determinism:
    """Context manager in which creating a non-deterministic pipe raises an error."""

    def __init__(self):
        global _determinism
        self.prev, _determinism = _determinism, True

    def __enter__(self):
        return None

    def __exit__(self, *error):
        global _determinism
        _determinism = self.prev


class non_deterministic:
    """Mark a pipe as non-deterministic, always or if a function of its arguments returns True."""

    def __init__(self, arg):
        if not callable(arg):
            raise TypeError(f"{arg} can not be decorated by non_deterministic")
        always = isinstance(arg, type)
        if always and not issubclass(arg, IterDataPipe):
            raise TypeError(
                f"Only `IterDataPipe` can be decorated with `non_deterministic`, but {arg.__name__} is found"
            )
        self.cls, self.deterministic_fn = (arg, None) if always else (None, arg)

    def __call__(self, *args, **kwargs):
        if self.cls is not None:
            return self._make(True, "", args, kwargs)
        if not (isinstance(args[0], type) and issubclass(args[0], IterDataPipe)):
            raise TypeError(f"Only `IterDataPipe` can be decorated, but {args[0].__name__} is found")
        self.cls = args[0]
        return self.deterministic_wrapper_fn

    def deterministic_wrapper_fn(self, *args, **kwargs):
        """Construct the pipe; raise in deterministic mode if it is non-deterministic."""
        random = self.deterministic_fn(*args, **kwargs)
        if not isinstance(random, bool):
            raise TypeError(
                "deterministic_fn of `non_deterministic` decorator is required to return a boolean value, "
                f"but {type(random)} is found"
            )
        return self._make(random, " with the inputs", args, kwargs)

    def _make(self, random, when, args, kwargs):
        if _determinism and random:
            raise TypeError(
                f"{self.cls.__name__} is non-deterministic{when}, but you set 'guaranteed_datapipes_determinism'. "
                "You can turn off determinism for this DataPipe if that is acceptable for your application"
            )
        return self.cls(*args, **kwargs)

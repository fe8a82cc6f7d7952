"""Errors of the compiler."""


class TorchDynamoException(RuntimeError):
    """An error of the compiler."""


class InvalidBackend(TorchDynamoException):
    """The error for a backend that is not registered."""

    def __init__(self, name):
        super().__init__(f"Invalid backend: {name!r}, see `torch._dynamo.list_backends()` for available backends.")


class Unsupported(TorchDynamoException):
    """The error for a function that cannot be captured as one graph, with ``fullgraph=True``."""

    def __init__(self, msg, *, case_name=None, real_stack=None):
        super().__init__(msg)
        self.msg, self.real_stack, self.case_name = msg, real_stack or [], case_name


class BackendCompilerFailed(TorchDynamoException):
    """The error for a backend that raised ``inner_exception``."""

    def __init__(self, backend_fn, inner_exception, first_useful_frame=None):
        self.backend_name = getattr(backend_fn, "__name__", "?")
        super().__init__(f"backend={self.backend_name!r} raised:\n{type(inner_exception).__name__}: {inner_exception}")
        self.inner_exception = inner_exception


for _name in (
    "InternalTorchDynamoError",
    "ResetRequired",
    "RestartAnalysis",
    "SkipFrame",
    "TorchRuntimeError",
    "UserError",
    "RecompileError",
    "RecompileLimitExceeded",
    "FailOnRecompileLimitHit",
    "UncapturedHigherOrderOpError",
):
    globals()[_name] = type(
        _name,
        (TorchDynamoException,),
        {"__module__": __name__, "__doc__": "An error of PyTorch's compiler, for except clauses."},
    )

"""Errors of the compiler."""

import enum


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


class UserErrorType(enum.Enum):
    """Kinds of errors in how a program was called."""

    DYNAMIC_CONTROL_FLOW = enum.auto()
    ANTI_PATTERN = enum.auto()
    STANDARD_LIBRARY = enum.auto()
    CONSTRAINT_VIOLATION = enum.auto()
    DYNAMIC_DIM = enum.auto()
    INVALID_INPUT = enum.auto()
    INVALID_OUTPUT = enum.auto()
    UNSUPPORTED_ALIASED_MUTATED_DYNAMIC_INPUTS = enum.auto()


class UserError(Unsupported):
    """The error for arguments that torch.export or torch.compile cannot take, with the kind of the error."""

    def __init__(self, error_type, msg, case_name=None):
        if case_name is not None:
            page = f"https://pytorch.org/docs/main/generated/exportdb/index.html#{case_name.replace('_', '-')}"
            msg += (" " if msg.endswith(".") else "\n") + f"For more information about this error, see: {page}"
        super().__init__(msg)
        self.error_type, self.message = error_type, msg


for _name in (
    "InternalTorchDynamoError",
    "ResetRequired",
    "RestartAnalysis",
    "SkipFrame",
    "TorchRuntimeError",
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

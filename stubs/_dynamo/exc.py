"""Errors of the compiler, for except clauses and for wrong backends."""


class TorchDynamoException(RuntimeError):
    """An error of the compiler."""


class InvalidBackend(TorchDynamoException):
    """A backend that nobody registered."""

    def __init__(self, name):
        super().__init__(f"Invalid backend: {name!r}, see `torch._dynamo.list_backends()` for available backends.")


for _name in (
    "InternalTorchDynamoError",
    "ResetRequired",
    "RestartAnalysis",
    "SkipFrame",
    "TorchRuntimeError",
    "Unsupported",
    "UserError",
    "BackendCompilerFailed",
    "RecompileError",
    "RecompileLimitExceeded",
    "FailOnRecompileLimitHit",
    "UncapturedHigherOrderOpError",
):
    globals()[_name] = type(_name, (TorchDynamoException,), {"__module__": __name__, "__doc__": "Never raised: nothing is compiled."})

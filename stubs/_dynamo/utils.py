"""Statistics of the compiler: empty."""

from collections import Counter, defaultdict

counters = defaultdict(Counter)


def compile_times(repr="str", aggregate=False):
    """Nothing was compiled."""
    return "TorchDynamo compilation metrics:\nFunction, Runtimes (s)" if repr == "str" else ((), ())

"""torch.cuda, torch.xpu, torch.mps, torch.mtia without their devices: every public name's parameters, and what calls of
it say.
"""

import importlib
import inspect
import warnings

from comparing import STRICT

TOLERANCE = STRICT

MODULES = (
    "cuda cuda.memory cuda.random cuda.graphs cuda.nccl cuda.nvtx cuda.profiler cuda.tunable xpu xpu.memory mps "
    "mps.profiler mtia mtia.memory backends.mps"
)
LEFT = {"jiterator", "cudart", "check_error", "CudaError"}  # made from internals, or answering from them


def parameters(f):
    try:
        return [
            (p.name, str(p.kind), "none" if p.default is p.empty else repr(p.default))
            for p in inspect.signature(f).parameters.values()
        ]
    except ValueError:  # a class of the C library's, which says none
        return None


def outcome(f, *args):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = f(*args)
    except Exception as e:
        return [type(e).__name__, str(e).partition(" Ensure you have")[0]]
    return answer if isinstance(answer, (bool, int, str, list, type(None))) else type(answer).__name__


def entered(f, *args):
    with f(*args):
        return "entered"


def public(torch):
    for name in MODULES.split():
        module = importlib.import_module(f"torch.{name}")
        for n in sorted(set(getattr(module, "__all__", ())) - LEFT):
            yield f"{name}.{n}", getattr(module, n)


def case_absent_names(torch):
    return [n for n, _ in public(torch)]


def case_absent_parameters(torch):
    return {n: parameters(f) for n, f in public(torch) if not n.endswith("Tensor") and callable(f)}


def case_absent_calls_without_arguments(torch):
    return {n: outcome(f) for n, f in public(torch) if callable(f)}


def case_absent_calls_with_a_device(torch):
    found = {n: f for n, f in public(torch) if callable(f) and (parameters(f) or [("",)])[0][0] == "device"}
    return {f"{n}({value})": outcome(f, value) for n, f in found.items() for value in (0, -1)}


def case_absent_calls_with_too_much(torch):
    found = {
        n: f for n, f in public(torch) if callable(f) and not n.endswith(("Tensor", "Storage", ".MemPool"))
    }  # MemPool's base refuses first
    return {n: outcome(f, *[0] * 9) for n, f in found.items()}


def case_absent_blocks(torch):
    kinds = [getattr(torch, k) for k in ("cuda", "xpu", "mtia")]
    answers = [[outcome(entered, k.device, d) for d in (0, -1)] + [outcome(entered, k.stream, None)] for k in kinds]
    C = torch.cuda
    pools = [
        outcome(entered, C.use_mem_pool, 0),
        outcome(entered, torch.xpu.use_mem_pool, 0),
        outcome(entered, C.caching_allocator_disabled),
    ]
    marks = [
        outcome(entered, C.nvtx.range, "a"),
        outcome(entered, C.profiler.profile),
        outcome(entered, torch.mps.profiler.profile),
    ]
    return answers, pools, marks, outcome(entered, C.device_of, torch.ones(1)), outcome(entered, C.device_of, 1)


def case_absent_seeds_and_states(torch):
    state = torch.zeros(4, dtype=torch.uint8)
    return [
        [
            outcome(k.manual_seed, "a"),
            outcome(k.manual_seed, 1.5),
            outcome(k.manual_seed, None),
            outcome(k.set_rng_state, state),
            outcome(k.seed),
        ]
        for k in (torch.cuda, torch.xpu, torch.mps, torch.mtia)
    ]


def case_absent_wrong_states_and_streams(torch):
    C, X = torch.cuda, torch.xpu
    return [
        [outcome(f, 0), outcome(f, None)]
        for f in (
            C.set_rng_state,
            C.set_rng_state_all,
            C.set_stream,
            X.set_rng_state,
            X.set_stream,
            torch.mtia.set_rng_state_all,
        )
    ]


def case_absent_default_devices(torch):
    """A default device without an index is asked for when it is read; one with an index is what was set."""
    found = {}
    for name in ("cpu", "meta", "cuda", "cuda:1", "xpu", "xpu:0", "mps", "mps:0", "vulkan", "mtia", "hpu", "xla"):
        torch.set_default_device(name)
        try:
            found[name] = outcome(torch.get_default_device)
        finally:
            torch.set_default_device(None)
    return found

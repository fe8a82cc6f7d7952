"""Generate the call of an operator: normalise the arguments, find the result, record it for autograd.

Every operator goes through the same stages in the same order; stages that it does not need are left out of the source.
The result comes from the arguments' geometry (views), from other operators (composites), or from a kernel. The kernel
is called directly if a plan for these dtypes and this device has been used before and nothing must be converted;
otherwise dispatch.py finds the plan. `python tools/generated.py add` prints the source. A kernel empties the
processor's caches, so that each Python frame after it costs a microsecond; this is why each call is generated as a
single function.
"""

from _thread import _count as other_threads

from ...tracebacks import shorten
from .. import dtypes as dt
from ..autograd import forward, note_view
from ..autograd.tangents import innermost
from ..backend import backend
from ..classes import NUMBERS_OR_NONE, direct, dispatching
from ..codegen import Source
from ..context import CONTEXT, PROCESS
from ..device import HOST
from ..registry import IMPLICIT
from ..tensor import STARTS, Tensor, numel, strided_view, unviewed
from ..versions import INFERENCE, new_version
from .bind import no_memory
from .dispatch import elementwise, general, handle, intercepted, requires_grad
from .overload import resolve
from .tracing import traced

_NAMES = {
    "CATEGORY": dt.SCALAR_CATEGORY,
    "CONTEXT": CONTEXT,
    "PROCESS": PROCESS,
    "NUMBERS": NUMBERS_OR_NONE,
    "Tensor": Tensor,
    "backend": backend,
    "elementwise": elementwise,
    "general": general,
    "new": object.__new__,
    "new_version": new_version,
    "note_view": note_view,
    "INFERENCE": INFERENCE,
    "numel": numel,
    "other_threads": other_threads,
    "requires_grad": requires_grad,
    "strided_view": strided_view,
}

# a new tensor: tensor.wrap() inlined, without the kernel's result
_WRAP = [
    "out = new(Tensor)",
    "out._shape = shape",
    "out._dtype = plan.out",
    "out._device = a0.device",
    *(
        " = ".join([*(f"out.{name}" for name in STARTS if STARTS[name] is start and name != "_ms"), str(start)])
        for start in (0, False, None)
    ),
    "out._vc = new_version() if PROCESS.versions else None",
]


def make(op):
    """Return the direct call of an operator, for arguments in the schema's order."""
    if op.fn is not None and op.derivative is None and not op.options.mutates:
        return op.fn
    args = op.schema.arguments
    source = Source(
        "call", ", ".join(f"a{i}" + ("" if a.required else f"=defaults[{i}]") for i, a in enumerate(args)), **_names(op)
    )
    if op.options.scaled:
        alpha, given = f"a{len(args) - 1}", ", ".join(f"a{i}" for i in range(len(args)))
        source.add(f"if {alpha}.__class__ is not int or {alpha} != 1:", f"    return scaled(op, {given})")
        source.names["scaled"] = _scaled
    _stages(op, source)
    return source.function(op.full)


def _scaled(op, *args):
    """Run a call whose last argument multiplies an operand.

    An operator of its own scales it, or the kernel gets the product; the call is recorded as it was given.
    """
    recording, before = CONTEXT.grad and requires_grad(op, args), CONTEXT.grad
    CONTEXT.grad = False
    try:
        args_of_kernel = op.prepare(*args)
        out = (op.make_call() if args_of_kernel[-1] == 1 else op.options.scaled.call)(*args_of_kernel)
    finally:
        CONTEXT.grad = before
    if recording:
        op.record(out, args)
    return out


def make_operator(op, name, otherwise, takes):
    """Generate the method of a Python operator: the stages of `op` if both operands are direct.

    Otherwise the method calls otherwise(self, other). takes: the classes allowed for the second operand.
    """
    source = Source(name, "a0, a1", **_names(op), direct=direct, takes=takes, otherwise=otherwise)
    source.add(
        "if PROCESS.active or a0.__class__ not in direct or a1.__class__ not in takes:", "    return otherwise(a0, a1)"
    )
    begun = len(source.lines)
    source.names |= {"shorten": shorten, "no_memory": no_memory}
    if op.fn is not None:
        source.add("return function(a0, a1)")
    else:
        source.add(*(f"a{i} = defaults[{i}]" for i in range(2, len(op.schema.arguments))))
        _stages(op, source, tensors={0})
    stages = [
        "    try:",
        *("    " + line for line in source.lines[begun:]),
        "    except Exception as error:",
        "        shorten(error)",
    ]
    stages += ["        no_memory(error, op, (a0, a1))", "        raise"]
    source.lines[begun:] = stages  # adds no instruction if nothing is raised
    return source.function(f"Tensor.{name}")


def _names(op):
    defaults = tuple(a.default for a in op.schema.arguments)
    return {
        **_NAMES,
        "op": op,
        "plans": op.plans,
        "prepare": op.prepare,
        "meta": op.meta,
        "geometry": op.geometry,
        "function": op.fn,
        "defaults": defaults,
    }


def _stages(op, source, tensors=frozenset()):
    """Generate the stages: normalise, find the result, record it.

    tensors: positions that hold tensors, whatever the schema allows there.
    """
    tensors = {i for i, a in enumerate(op.schema.arguments) if a.declared == "Tensor"} | tensors
    args = [f"a{i}" for i in range(len(op.schema.arguments))]
    given = ", ".join(args)
    kept = (
        ", ".join(f"given{i}" for i in range(len(args))) if op.options.saves_given and not op.options.scaled else None
    )
    if kept is not None:
        source.add(f"{kept}, = {given},")
    if op.prepare is not None and not op.options.scaled:
        source.add(f"{given}, = prepare({given})")
    if op.fn is not None and op.derivative is None:
        _mutating_composite(op, source, given)
    elif op.fn is not None:
        _one_node(op, source, given, _wants_gradient(op, args, tensors))
    elif op.geometry is not None:
        _view(op, source, given)
    elif op.promote is not None:
        _elementwise(op, source, given, tensors)
    else:
        _general(op, source, given, tensors)
    kernel = source.pending
    if op.derivative is None:
        source.add(*kernel, "return out")
        return
    source.names.update(op.compiled_derivative.names())
    if kept is not None:
        source.add(f"{given}, = {kept},")
    own = (
        " and a0._vc is not INFERENCE" if op.geometry is not None else ""
    )  # views of inference tensors are inference tensors
    record = [
        f"if {_wants_gradient(op, args, tensors)}{own}:",
        *("    " + line for line in op.compiled_derivative.record_lines(tensors)),
    ]
    source.add(*(kernel + record if op.compiled_derivative.saves_output else record + kernel), "return out")


def _wants_gradient(op, args, tensors):
    """Return the condition that gradients are recorded and an argument requires one.

    CONTEXT, which belongs to the thread, is read last.
    """
    if any(op.schema.arguments[i].list for i in op.tensor_args):
        return f"CONTEXT.grad and requires_grad(op, ({', '.join(args)},))"
    tests = [
        f"{args[i]}._requires_grad"
        if i in tensors
        else f"{args[i]}.__class__ not in NUMBERS and {args[i]}._requires_grad"
        for i in op.tensor_args
    ]
    return f"({' or '.join(tests)}) and CONTEXT.grad"


def _mutating_composite(op, source, given):
    """Generate the call of a function that mutates arguments; a backend may run it as a single kernel."""
    lists = {i for i in op.options.mutates if op.schema.arguments[i].list}
    first = "a0[0]" if 0 in lists else "a0"
    source.add(
        f"if CONTEXT.grad and requires_grad(op, ({given}))"
        f" or not backend({first}.device).update(op, {first}, ({given})):",
        f"    return function({given})",
    )
    for i in op.options.mutates:
        source.add(*((f"for t in a{i}:", "    t._bump()") if i in lists else (f"a{i}._bump()",)))
    source.add("out = a0")


def _one_node(op, source, given, wants_gradient):
    """Generate the call of a composite that is one operator in PyTorch.

    The operators that it calls are not recorded if it is recorded itself.
    """
    source.add(f"if not ({wants_gradient}):", f"    return function({given})", "CONTEXT.grad = False")
    source.add("try:", f"    out = function({given})", "finally:", "    CONTEXT.grad = True")
    source.names["unviewed"] = unviewed
    source.add(*(("for t in out:", "    unviewed(t)") if op.schema.several else ("unviewed(out)",)))


def _view(op, source, given):
    if op.schema.several:
        source.add(f"out = tuple([strided_view(a0, *g) for g in geometry({given})])")
        source.add("for t in out:", "    note_view(t, a0, 'multi')")
    else:
        source.add(f"out = strided_view(a0, *geometry({given}))", *["note_view(out, a0)"] * op.is_view)


def _general(op, source, given, tensors):
    if not op.tensor_args:  # a factory function: the device is an argument
        where = next(i for i, a in enumerate(op.schema.arguments) if a.base == "Device")
        source.add(f"result = meta({given})", f"plan = plans.get((result[1], a{where}))")
        source.add(f"out = general(op, ({given},), a{where}) if plan is None else plan.run(result, ({given},))")
        return
    if op.first is None:
        source.add(f"out = general(op, ({given},))")
        return
    first, others = f"a{op.first}", [i for i in op.tensor_args if i != op.first]
    number = "" if op.first in tensors else f"None if {first}.__class__ in NUMBERS else "
    alike = {i: f"a{i}.device is {first}.device" for i in others}
    same = "".join(
        f" and {t}" if i in tensors else f" and (a{i}.__class__ in NUMBERS or {t})" for i, t in alike.items()
    )
    source.add(f"plan = {number}plans.get(({first}.dtype, {first}.device))", f"if plan is not None{same}:")
    depth = 2
    source.add(f"result = meta({given})  # first, since it refuses what the kernels cannot take", depth=depth)
    source.add(f"while plan.when is not None and plan.when({given}):", "    plan = plan.larger()", depth=depth)
    if not op.schema.several:  # plan.run inlined, for one result of the expected dtype and known shape
        alone = op.tensor_args == [op.first]
        size = f" or numel({first}._shape) < plan.limit" if alone and op.first in tensors else ""
        fits = (
            "plan.out is result[1] and shape is not None and 0 not in shape and len(result) == 2 and (plan.limit is "
            f"None or plan.when is not None{size})"
        )
        source.add("shape = result[0]", f"if {fits}:", depth=2)
        source.add("plan.calls += 1", *(line.replace("a0", first) for line in _WRAP), depth=3)
        entered = (
            f"plan.fn({given.replace(first, f'plan.enter({first})', 1)})"
            if alone and op.first in tensors
            else f"plan.compute(({given},))"
        )
        source.add(f"r = plan.fn({given}) if plan.enter is None else {entered}", depth=3)
        source.add('if getattr(r, "_shape", None) == shape and r.__class__ is not Tensor:', "    out._ms = r", depth=3)
        source.add("else:", "    out = plan.leave(r, result)", depth=3)
        source.add("else:", depth=2)
        depth = 3
    source.add(f"out = plan.run(result, ({given},))", depth=depth)
    source.add("else:", f"    out = general(op, ({given},))")


def _elementwise(op, source, given, tensors):
    """Generate the direct call for operands that need no conversion.

    As much as possible is done before the kernel, which empties the processor's caches.
    """
    operands = op.operands
    if operands[0] != 0 or op.prepare is not None and not op.options.scaled:
        source.add(f"out = elementwise(op, ({given},))")
        return
    numbers, keyword, depth = [i for i in operands if i not in tensors], "if", 1
    if operands == [0, 1] and 1 in numbers and not op.attributes:
        _with_number(op, source, tensors)
        numbers, keyword = [i for i in numbers if i != 1], "elif"
    if numbers:
        source.add(f"{keyword} {' or '.join(f'a{i}.__class__ in NUMBERS' for i in numbers)}:", "    plan = None")
        keyword = "elif"
    if keyword == "elif":
        source.add("else:")
        depth = 2
    source.add("shape = a0._shape", "plan = plans.get((a0.dtype, a0.device))", depth=depth)
    # an operand without dimensions is passed to the kernel unchanged, like a number
    same = "".join(
        f" and a{i}.dtype is a0.dtype and (a{i}._shape == shape or not a{i}._shape) and a{i}._stride is None and "
        f"a{i}.device is a0.device"
        for i in operands[1:]
    )
    source.add(f"if plan is not None and not ({_FITS}{same}):", "    plan = None", depth=depth)
    if operands[1:]:
        source.add(" = ".join([*(f"x{i}" for i in operands[1:]), "None"]), depth=depth)
    kernel = ", ".join(f"x{i}" for i in operands) + "".join(f", a{i}" for i in op.attributes)
    source.add("if plan is None:", f"    out = elementwise(op, ({given},))", "elif plan.quick is None:")
    source.add("plan.calls += 1", *_entered(operands, "_ms", "_mstensor"), *_WRAP, depth=2)
    source.add("else:", "    plan.calls += 1")
    source.add(*_entered(operands, "_np", "_array"), f"r = plan.quick({kernel})", depth=2)
    source.add(
        "if plan.certain and shape:", *("    " + line for line in _WRAP), "    out._np, out._ms = r, None", depth=2
    )
    source.add("else:", "    out = plan.leave(r, (shape, plan.out))", "plan = None", depth=2)
    # `raw` saves a frame; it is used only if there are no other threads
    source.pending = [
        "if plan is not None:",
        f"    out._ms = plan.fn({kernel}) if plan.raw is None or other_threads() else plan.raw(plan.prim, [{kernel}])",
    ]


def _entered(operands, slot, method):
    """Return lines that set x0, x1, ... to what a kernel takes for the operands, unless a number has set it."""
    for i in operands:
        yield from (f"x{i} = a{i}.{slot}",) if not i else (f"if x{i} is None:", f"    x{i} = a{i}.{slot}")
        yield from (f"if x{i} is None:", f"    x{i} = a{i}.{method}()")


_FITS = "a0._stride is None and 0 not in shape and (plan.limit is None or numel(shape) < plan.limit)"


def _with_number(op, source, tensors):
    """Generate the case of a second operand that is a number of a category that the tensor's dtype can hold.

    The backend keeps the number as a tensor.
    """
    least = 1 if callable(op.promote) else 0  # an operator's own promotion may refuse True and False
    number = "" if 0 in tensors else "None if a0.__class__ in NUMBERS else "
    source.add("if a1.__class__ in NUMBERS:", f"    plan = {number}plans.get((a0.dtype, a0.device))")
    source.add("if plan is not None:", "    shape = a0._shape", depth=2)
    source.add(f"    if {_FITS} and {least} <= CATEGORY.get(a1.__class__, 9) <= a0.dtype.category > 0:", depth=2)
    source.add(
        "x1 = plan.numbers.get(a1 or str(a1))  # 0.0 and -0.0 are one key",
        "if x1 is None:",
        "    x1 = plan.number(a1)",
        depth=4,
    )
    source.add("    else:", "        plan = None", depth=2)


def as_native(fn, args):
    """Call a function composed of operators that PyTorch implements in C++."""
    before, CONTEXT.native = CONTEXT.native, True
    try:
        return fn(*args)
    finally:
        CONTEXT.native = before


def _saved(op, args):
    """Return the node of a call before the call runs, with its arguments saved.

    A saved-tensor hook that raises then prevents the kernel from running. None if results are saved too.
    """
    if op.compiled_derivative.saves_output:
        return None
    return op.compiled_derivative.save(op.saving(args))


def _note_answer(t, src, creation):
    """Mark the result of a view op as a view, also when a handler returned it and it has no storage."""
    if t._storage is not None and t._storage is src._storage:
        note_view(t, src, creation)
    elif t is not src and t.__class__ in dispatching and src.__class__ in dispatching and INFERENCE is not src._vc:
        src._vc = src._vc or [0]
        t._vc = src._vc
        note_view(t, src, creation)


def _record(op, node, out, args):
    if node is None:
        op.record(out, op.saving(args))
    else:
        op.compiled_derivative.hang(node, out)


def _watched(op, args, parts, run):
    """Return run(parts, args), inside CONTEXT.composites if the operator is one of PyTorch's dispatcher."""
    found = None if CONTEXT.composites is None else resolve(op, args)
    if found is None:
        return run(parts, args)
    with CONTEXT.composites(found[0].name, args):
        return run(parts, args)


def _is_implicit(op, args):
    """Whether PyTorch decomposes an operator above its dispatcher's keys for autograd and below."""
    found = resolve(op, args)
    return found is not None and found[0].implicit


def _plainly(parts, args):
    return parts(*args)


def make_intercepted(op):
    """Return the call of an operator that is used while calls can be intercepted.

    That is while interceptors or levels of forward mode are active in some thread, or classes with a __torch_dispatch__
    exist.
    """
    backend(HOST)  # importing the backends registers the decompositions, including IMPLICIT
    direct, schema = op.make_call(), op.schema
    defaults = tuple(a.default for a in schema.arguments)
    implicit = IMPLICIT.get(op.full)
    composite, differentiable = (
        op.fn is not None and op.derivative is None and implicit is None,
        op.options.role == "compute",
    )
    native = not op.python and op.options.operator is None  # else the dispatcher gets options.operator
    parts = op.fn if op.options.mutates else direct  # not the single kernel of a function that changes arguments
    flag = next(
        (i for i, a in enumerate(schema.arguments) if a.name == "requires_grad"), None
    )  # a factory function has it: no gradient flows through it

    def call(*args):
        if CONTEXT.tracer is not None:
            return traced(op, args + defaults[len(args) :], call)
        if CONTEXT.batches is not None and (out := CONTEXT.batches(op, args)) is not NotImplemented:
            return out
        if (
            implicit is not None
            and intercepted(args)
            and not (CONTEXT.whole and _is_implicit(op, args + defaults[len(args) :]))
            and (out := _watched(op, args + defaults[len(args) :], implicit, as_native)) is not NotImplemented
        ):
            return out  # before forward mode, too: the operators that it calls have their own nodes and tangents
        if PROCESS.duals and (level := innermost(args)) is not None:
            return forward.call(op, args + defaults[len(args) :], level)
        if not intercepted(args):
            return direct(*args)
        args += defaults[len(args) :]
        recording = CONTEXT.grad and differentiable and requires_grad(op, args)
        if composite:
            plain = (
                args if flag is None else (*args[:flag], False, *args[flag + 1 :])
            )  # requires_grad is handled above the dispatcher
            found = None if recording and flag is None else resolve(op, plain)
            if found is None or found[0].implicit and not CONTEXT.whole:
                return _watched(op, args, parts, as_native if native else _plainly)
            out = handle(op, plain, parts)
            return out._requiring_grad() if flag is not None and args[flag] and not out._requires_grad else out
        recording = recording and op.derivative is not None
        node = _saved(op, args) if recording and CONTEXT.saved_hooks else None
        out = handle(op, args, direct)
        if op.is_view:
            for t in out if schema.several else (out,):
                _note_answer(t, args[0], "multi" if schema.several else None)
        if recording and out is not None:  # __torch_dispatch__ may return None
            _record(op, node, out, args)
        return out

    return call

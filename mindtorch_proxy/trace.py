"""Runs a script and records what its lines compute: python trace.py RECORDS RUN SCRIPT ARG...

It works with either torch and imports nothing of mindtorch_proxy. RUN is "plain" for the program as it is, "operators"
for one that also records the calls below autograd (with which mindtorch_proxy leaves some of its kernels), 1 or 2 for
the freedom that PyTorch's definition leaves: every operator's result has fewer bits, and decompositions of matrices
return other vectors where several are right. How far a value then moves is its noise. Records are dictionaries with
"kind":

start: "version", torch's.
op: a call below autograd. "op" (PyTorch's name), "where" (file, line, text) of the innermost frame outside of torch,
    "script" (the script's line), "constant" (whether it takes no tensor), "results" (a sample of each tensor).
call, module, step: what a line of the program sees: the results of a function that it calls and of a module, the
    parameters and state of an optimizer. "number", "name", "where", "script", "direct" (called by the program itself),
    "begin" and "end" (the op records that belong to it), "results" with their "strides", "nodes" (of autograd) and
    "alias" (the operands whose memory they share), "operands" [{"name", "sample" (None if an earlier record has it),
    "writer" (operator and line), "source" (number, kind, position)}], "leaves" {operand: (number, operand)}.
grad: a gradient that arrives at a result or a leaf ("of"). "name" is its key: (number of the record, position).
end: "error" (None or the error that ended the script), "kernels" that mindtorch_proxy has used.
"""

import contextlib
import itertools
import linecache
import math
import os
import pickle
import sys
import traceback
import weakref

KEPT = 2048  # elements of a result, evenly spread
MACHINERY = os.sep + "runtime" + os.sep  # the folder in which mindtorch_proxy calls functions and operators
UNWRITTEN = ("empty", "new_empty", "resize_", "set_", "_resize")  # their results may have uninitialised memory
BITS = {2: "int16", 4: "int32", 8: "int64"}
# operators that add up many numbers: what an operand has, or products of two operands
SUMS = "sum mean var var_mean std linalg_vector_norm norm".split()
PRODUCTS = "mm bmm addmm baddbmm mv addmv dot convolution".split()
# what several vectors fit: (positions of the columns, of the rows, of the values) in the results
FREE = {"_linalg_svd": ((0,), (2,), 1), "_linalg_eigh": ((1,), (), 0), "linalg_eig": ((1,), (), 0)}


def kept(tensor):
    """Return shape, dtype and a sample of the values, floating-point ones as doubles."""
    values = tensor.detach()
    if values.is_complex():
        real = tensor.dtype.to_real() if hasattr(tensor.dtype, "to_real") else values.real.dtype
        values = values.resolve_conj().contiguous().view(real)
    flat = values.reshape(-1)
    step = max(1, -(-flat.numel() // KEPT))
    sample = flat[::step]
    sample = sample.double() if sample.is_floating_point() else sample
    return {"shape": list(tensor.shape), "dtype": str(tensor.dtype), "step": step, "values": sample.tolist()}


def tensors(result, kind):
    """Yield the tensors in a result, also those in lists, tuples and dictionaries."""
    if isinstance(result, kind):
        yield result
    elif isinstance(result, (tuple, list)):
        for part in result:
            yield from tensors(part, kind)
    elif isinstance(result, dict):
        for part in result.values():
            yield from tensors(part, kind)


def computes_nothing(schema):
    """Whether an operator only returns views, whose values an earlier operator has computed."""
    return not schema.is_mutable and any(r.alias_info is not None for r in schema.returns)


def version(t):
    return 0 if t.is_inference() else t._version


def user_line(skip, script):
    """Return (file, line, text) of the innermost frame outside of torch, the script's line, and torch's functions.

    The last are the names of the functions of torch between that frame and this one, without what calls an override.
    """
    frame, where, between = sys._getframe(2), None, []
    while frame is not None:
        name = frame.f_code.co_filename
        if name[:1] == "<" or name.startswith(skip) or name == __file__:
            if where is None and not (name[:1] == "<" or name == __file__ or MACHINERY in name):
                between.append(frame.f_code.co_name)
        else:
            where = where or (name, frame.f_lineno, linecache.getline(name, frame.f_lineno).strip())
            if name == script:
                return where, frame.f_lineno, between
        frame = frame.f_back
    return where or ("", 0, ""), 0, between


def calls_for_program(name, between):
    """Whether a function is called by the program itself, not by another function or module of torch."""
    inside = [other for other in between if other not in ("handle_torch_function", "wrapped", "public")]
    return not inside or [other.strip("_") for other in inside] == [name.strip("_")]


def folders_of(torch):
    """Return the folders of torch's own code; for mindtorch_proxy's torch they include those of the runtime."""
    inside = [os.path.dirname(torch.__file__), *torch.__path__]
    for name in ("runtime", "backends", "stubs"):
        spec = sys.modules.get(f"mindtorch_proxy.{name}")
        inside += list(getattr(spec, "__path__", ()))
    return tuple(folder + os.sep for folder in inside)


class Freedom:
    """Changes results within what PyTorch's definition leaves free. run: 1 or 2, two ways to do so."""

    def __init__(self, torch, run):
        self.torch, self.run = torch, run

    def __call__(self, name, schema, args, result):
        """Change the results of an operator in place."""
        torch = self.torch
        lost = self.run + 1 + round(math.log2(max(1, self.terms(name, args, result))) / 2)
        if name in FREE and isinstance(result, (tuple, list)):
            self.turn(result, *FREE[name])
        if computes_nothing(schema) and name != "lift_fresh":  # which `torch.tensor` ends with: a new tensor
            return
        for t in tensors(result, torch.Tensor):
            if (t.is_floating_point() or t.is_complex()) and t.layout == torch.strided and t.device.type != "meta":
                self.shorten(torch.view_as_real(t) if t.is_complex() and not t.is_conj() else t, lost)

    def terms(self, name, args, result):
        """Return about how many numbers an operator adds up for each of its result: their order is free."""
        sizes = sorted(t.numel() for t in tensors(args, self.torch.Tensor))[-2:]
        whole = next((t.numel() for t in tensors(result, self.torch.Tensor)), 0)
        if not whole or not sizes:
            return 1
        if name in SUMS:
            return sizes[-1] / whole
        return math.sqrt(math.prod(sizes) / whole) if name in PRODUCTS and len(sizes) == 2 else 1

    def shorten(self, t, lost):
        """Let a tensor's values lose their last bits: what an exact operator returns stays as it is."""
        torch = self.torch
        size = t.element_size()
        if size not in BITS or t.is_complex() or t.is_neg() or not t.numel():
            return
        bits = t.view(getattr(torch, BITS[size]))
        bits.bitwise_and_(-(1 << (1 if size == 2 else lost)))

    def turn(self, results, columns, rows, values):
        """Give vectors other signs, and turn those that belong to equal values among each other."""
        torch = self.torch
        found = results[values]
        for places, dim in ((columns, -1), (rows, -2)):
            for place in places:
                t = results[place]
                n = t.shape[dim] if t.dim() > 1 else 0
                if n:
                    sign = torch.ones(n, dtype=t.dtype)
                    sign[(0 if self.run == 1 else 1) :: self.run] = -1
                    t.mul_(sign if dim == -1 else sign[:, None])
                    if not found.is_complex() and found.dim() == 1:
                        self.mix(t if dim == -1 else t.mT, found, n)

    def mix(self, vectors, values, n):
        """Turn the columns of equal values among each other: null spaces, and those of multiple eigenvalues."""
        torch = self.torch
        near = 8 * len(values) * torch.finfo(values.dtype).eps * float(values.abs().max() if len(values) else 0)
        known = [*values.tolist(), *[0.0] * (n - len(values))]
        start = 0
        for end in range(1, n + 1):
            if end < n and abs(known[end] - known[end - 1]) <= near:
                continue
            if end - start > 1:
                generator = torch.Generator().manual_seed(self.run)
                other = torch.randn(end - start, end - start, generator=generator, dtype=torch.float64)
                turned = torch.linalg.qr(other)[0].to(vectors.dtype)
                vectors[..., start:end] = vectors[..., start:end] @ turned
            start = end


class Recorder:
    """Writes the records of a program."""

    def __init__(self, torch, out, script, run):
        self.torch, self.out, self.script = torch, out, script
        self.skip = folders_of(torch)
        self.free = Freedom(torch, int(run)) if run.isdigit() else None
        self.watched = run != "plain"  # whether operators are recorded
        self.quiet = 0  # greater than 0 while the recorder itself computes
        self.ops = self.before = 0  # how many operators there are, and how many the last other record had before it
        self.numbers = itertools.count()
        self.writer = {}  # {memory: (name, where, line)} of the operator that has written it last
        self.seen = {}  # {(memory, place, sizes): (version, source)} of values that a record has
        self.start = []  # samples of an optimizer's parameters before its step
        self.leaves = {}  # {id: (weak reference, key)}

    def put(self, **record):
        pickle.dump(record, self.out)

    def leave(self):
        """Record nothing more: for a process that was forked, whose records would fall among its parent's."""
        self.quiet, self.out = self.quiet + 1, None

    def own(self, computing, *args):
        """Call a function of the recorder's, whose operators are not recorded."""
        torch = self.torch
        self.quiet += 1
        try:
            with torch._C.DisableTorchFunctionSubclass(), torch.no_grad():
                return computing(*args)
        finally:
            self.quiet -= 1

    def has_values(self, t):
        """Whether a tensor has memory of its own with the values: no wrapper of a transform, nothing sparse."""
        wrapped = self.torch._C._functorch.is_functorch_wrapped_tensor(t) or hasattr(t, "fake_mode")
        return not wrapped and t.device.type != "meta" and t.layout == self.torch.strided

    def sample(self, t):
        return kept(t) if self.has_values(t) else None

    def place(self, t):
        """Return (memory, memory with place and sizes) of a tensor, or None."""
        if not self.has_values(t):
            return None
        pointer = t.untyped_storage().data_ptr()
        return (pointer, (pointer, t.storage_offset(), tuple(t.shape), tuple(t.stride()))) if pointer else None

    # below autograd
    def operator(self, func, args, kwargs):
        """Run an operator and record it."""
        result = func(*args, **kwargs)
        if not self.quiet:
            self.own(self.ran, func, args, result)
        return result

    def ran(self, func, args, result):
        """Record an operator."""
        torch, name = self.torch, str(func).removeprefix("aten.")
        moved = computes_nothing(func._schema)  # then the record only shows that the line was run
        written = [] if moved else [t for t in tensors(result, torch.Tensor) if self.has_values(t)]
        if self.free is not None and not name.startswith(UNWRITTEN):
            self.free(name.partition(".")[0], func._schema, args, result)
        if not name.startswith(UNWRITTEN) and (written or moved):
            where, line, _ = user_line(self.skip, self.script)
            constant = not any(True for _ in tensors(args, torch.Tensor))
            for t in written:
                if place := self.place(t):
                    self.writer[place[0]] = (name, where, line)
            self.ops += 1
            found = [kept(t) for t in written] if self.free is None else []
            self.put(kind="op", op=name, where=where, script=line, constant=constant, results=found)

    # what the program sees
    def operands(self, named, number):
        """Return (the record of operands, {position: key} of the leaves among them). named: [(name, tensor)]."""
        found, leaves = [], {}
        for i, (name, t) in enumerate(named):
            place = self.place(t)
            if place is None:
                continue
            known, source = self.seen.get(place[1]), (number, "operand", i)
            if known is not None and known[0] == version(t):
                found.append({"name": name, "sample": None, "writer": None, "source": known[1]})
            else:
                self.seen[place[1]] = (version(t), source)
                writer = self.writer.get(place[0])
                found.append({"name": name, "sample": kept(t), "writer": writer, "source": source})
            if t.requires_grad and t.is_leaf:
                leaves[i] = self.leaf(t, (number, i))
        return found, leaves

    def leaf(self, t, key):
        """Follow the gradient of a leaf. Return its key: the record and the operand where it was seen first."""
        known = self.leaves.get(id(t))
        if known is None or known[0]() is not t:
            known = self.leaves[id(t)] = (weakref.ref(t), key)
            t.register_post_accumulate_grad_hook(lambda leaf: self.gradient(leaf.grad, "leaf", key))
        return known[1]

    def gradient(self, grad, kind, key):
        """Record a gradient that arrives at a result or a leaf."""
        if grad is not None and not self.quiet and (found := self.own(self.sample, grad)) is not None:
            self.seen_by_program("grad", next(self.numbers), key, results=[found], of=kind)

    def followed(self, t, key):
        """Follow the gradient of a result. Return the name of the node that made it, or None."""
        node = t.grad_fn if t.requires_grad else None
        if node is not None and self.has_values(t):
            t.register_hook(lambda grad: self.gradient(grad, "result", key))
        return node.name() if node is not None else None

    def results(self, kind, number, name, results):
        """Return the record of the results of a call, a module or an optimizer."""
        samples, nodes, strides = [], [], []
        for k, t in enumerate(results):
            place = self.place(t)
            if place is not None and self.seen.get(place[1], (None,))[0] != version(t):  # else the first record counts:
                self.seen[place[1]] = (version(t), (number, "result", k))  # a module returns what an inner one has
            samples.append(None if kind == "call" and name.startswith(UNWRITTEN) else self.sample(t))
            strides.append(None if place is None else list(t.stride()))
            nodes.append(None if kind == "step" else self.followed(t, (number, k)))
        return {"results": samples, "nodes": nodes, "strides": strides}

    def seen_by_program(self, kind, number, name, **more):
        """Write a record of what a line of the program sees."""
        where, line, between = user_line(self.skip, self.script)
        self.put(
            kind=kind,
            number=number,
            name=name,
            where=where,
            script=line,
            direct=kind != "module" or "forward" not in between,
            begin=self.before,
            end=self.ops,
            **more,
        )
        self.before = self.ops

    def written(self, name, result):
        """Return a result; memory that nothing has written gets zeros, so that it is the same everywhere."""
        if name.startswith(UNWRITTEN[:2]) and not self.quiet:
            for t in tensors(result, self.torch.Tensor):
                if self.has_values(t):
                    self.own(t.zero_)
        return result

    def call(self, func, name, args, kwargs):
        """Call a function for the program and record what it returns."""
        Tensor = self.torch.Tensor
        number, given = next(self.numbers), list(tensors([args, kwargs], Tensor))
        named = [(f"operand {i + 1}", t) for i, t in enumerate(given)]
        operands, leaves = self.own(self.operands, named, number)
        places, before = self.own(lambda: [self.place(t) for t in given]), self.own(lambda: [version(t) for t in given])
        result = self.written(name, func(*args, **kwargs))
        seen = given[:1] if name == "__setitem__" else list(tensors(result, Tensor))
        after = self.own(lambda: [version(t) for t in given])
        more = {"operands": operands, "leaves": leaves, "versions": [a - b for a, b in zip(after, before)]}
        if seen:
            found = [self.own(self.place, t) for t in seen]
            alias = [[i for i, p in enumerate(places) if p and m and p[0] == m[0]] for m in found]
            more |= {"alias": alias} | self.own(self.results, "call", number, name, seen)
        elif isinstance(result, (bool, int, float)):
            kind = f"Python's {type(result).__name__}"
            more |= {"results": [{"shape": [], "dtype": kind, "step": 1, "values": result}]}
        self.seen_by_program("call", number, name, **more)
        return result

    def module(self, layer, given, result):
        """Record what a module returns, its parameters and its buffers."""
        if self.quiet:
            return
        Tensor, number = self.torch.Tensor, next(self.numbers)
        named = [(f"operand {i + 1}", t) for i, t in enumerate(tensors(given, Tensor))]
        named += [(name, p) for name, p in layer._parameters.items() if p is not None]
        operands, leaves = self.own(self.operands, named, number)
        name, seen = type(layer).__name__, [*tensors(result, Tensor), *tensors(layer._buffers, Tensor)]
        found = self.own(self.results, "module", number, name, seen)
        self.seen_by_program("module", number, name, operands=operands, leaves=leaves, **found)

    def before_step(self, optimizer, args, kwargs):
        """Keep the parameters before a step of an optimizer."""
        if not self.quiet:
            self.start = self.own(lambda: [self.sample(p) for p in parameters_of(optimizer)])

    def step(self, optimizer, args, kwargs):
        """Record the parameters, how they have changed, and the state of an optimizer after a step."""
        if self.quiet:
            return
        params = parameters_of(optimizer)
        seen = [*params, *tensors([optimizer.state.get(p, {}) for p in params], self.torch.Tensor)]
        number, name = next(self.numbers), type(optimizer).__name__
        found = self.own(self.results, "step", number, name, seen)
        found["results"] = [*map(change, self.start, found["results"]), *found["results"]]
        self.seen_by_program("step", number, name, **found)


def parameters_of(optimizer):
    return [p for group in optimizer.param_groups for p in group["params"]]


def change(before, after):
    """Return the sample of a parameter's change, or None. A small fault of a step is lost beside the parameter."""
    if before is None or after is None or before["shape"] != after["shape"]:
        return None
    x, y = ([s["values"]] if not s["shape"] else s["values"] for s in (before, after))
    return after | {"dtype": f"the change of {after['dtype']}", "values": [b - a for a, b in zip(x, y)]}


def modes(recorder):
    """Return the two modes that see calls of functions and calls below autograd."""
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    class Operators(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return recorder.operator(func, args, kwargs or {})

    class Functions(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            kwargs, name = kwargs or {}, getattr(func, "__name__", "")
            name = name.removeprefix("linalg_").removeprefix("fft_").removeprefix("special_")
            if not recorder.quiet and name:
                _, _, between = user_line(recorder.skip, recorder.script)
                if calls_for_program(name, between):
                    return recorder.call(func, name, args, kwargs)
            return recorder.written(name, func(*args, **kwargs))

    return Functions(), Operators()


def watch(recorder):
    """Follow modules and optimizers."""
    from torch.nn.modules.module import register_module_forward_hook
    from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

    register_module_forward_hook(recorder.module)
    register_optimizer_step_pre_hook(recorder.before_step)
    register_optimizer_step_post_hook(recorder.step)


def run(recorder, script, argv):
    """Run the script as __main__. Return the error that ended it, or None."""
    sys.argv = [script, *argv]
    main_module = type(sys)("__main__")
    main_module.__dict__.update(__file__=script, __builtins__=__builtins__)
    sys.modules["__main__"] = main_module
    functions, operators = modes(recorder)
    try:
        with open(script, "rb") as file:
            code = compile(file.read(), script, "exec")
        with functions, operators if recorder.watched else contextlib.nullcontext():
            exec(code, main_module.__dict__)
    except SystemExit:
        pass
    except BaseException as e:
        where = [
            f
            for f in traceback.extract_tb(e.__traceback__)
            if not f.filename.startswith(recorder.skip) and f.filename != __file__ and f.filename[:1] != "<"
        ][-1:]
        return {
            "text": "".join(traceback.format_exception_only(type(e), e)).strip(),
            "where": [*((f.filename, f.lineno, f.line) for f in where), (script, getattr(e, "lineno", 0), "")][0],
        }
    return None


def main(records, how, script, *argv):
    sys.path[0] = os.path.dirname(os.path.abspath(script))  # this file's folder has a package torch of its own
    import torch

    script = os.path.abspath(script)
    with open(records, "wb") as out:
        recorder = Recorder(torch, out, script, how)
        os.register_at_fork(before=out.flush, after_in_child=recorder.leave)
        recorder.put(kind="start", version=str(torch.__version__))
        watch(recorder)
        torch.manual_seed(0)
        error = run(recorder, script, argv)
        ours = sys.modules.get("mindtorch_proxy")
        recorder.put(kind="end", error=error, kernels=ours.report()["kernels"] if ours else [])


if __name__ == "__main__":
    main(*sys.argv[1:])

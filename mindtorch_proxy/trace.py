"""Runs a script and records the results of its operators: python trace.py RECORDS SCRIPT ARG...

It works with either torch and imports nothing of mindtorch_proxy. A record is {"op": PyTorch's name, "where": (file,
line, text) of the innermost frame outside of torch, "script": the script's line, "constant": whether the operator takes
no tensor, "results": [the sample of each tensor]}. The first record is {"version": torch's}, the last {"error": None or
the error that ended the script}.
"""

import linecache
import os
import pickle
import sys
import traceback

KEPT = 2048  # elements of a result, evenly spread
UNWRITTEN = ("empty", "new_empty", "resize_", "set_", "_resize")  # their results may have uninitialised memory


def kept(tensor):
    """Return shape, dtype and a sample of the values, floating-point ones as doubles."""
    values = tensor.detach()
    if values.is_complex():
        values = (
            values.resolve_conj()
            .clone()
            .view(tensor.dtype.to_real() if hasattr(tensor.dtype, "to_real") else values.real.dtype)
        )
    flat = values.reshape(-1)
    step = max(1, -(-flat.numel() // KEPT))
    sample = flat[::step]
    sample = sample.double() if sample.is_floating_point() else sample
    return {"shape": list(tensor.shape), "dtype": str(tensor.dtype), "step": step, "values": sample.tolist()}


def tensors(result, kind):
    if isinstance(result, kind):
        yield result
    elif isinstance(result, (tuple, list)):
        for part in result:
            yield from tensors(part, kind)


def computes_nothing(schema):
    """Whether an operator only returns views, whose values an earlier operator has computed."""
    return not schema.is_mutable and any(r.alias_info is not None for r in schema.returns)


def user_line(skip, script):
    """Return (file, line, text) of the innermost frame outside of torch, and the line of the script."""
    frame, where = sys._getframe(2), None
    while frame is not None:
        name = frame.f_code.co_filename
        if name[:1] != "<" and name != __file__ and not name.startswith(skip):
            where = where or (name, frame.f_lineno, linecache.getline(name, frame.f_lineno).strip())
            if name == script:
                return where, frame.f_lineno
        frame = frame.f_back
    return where or ("", 0, ""), 0


def folders_of(torch):
    """Return the folders of torch's own code; for mindtorch_proxy's torch they include those of the runtime."""
    inside = [os.path.dirname(torch.__file__), *torch.__path__]
    for name in ("runtime", "backends", "stubs"):
        spec = sys.modules.get(f"mindtorch_proxy.{name}")
        inside += list(getattr(spec, "__path__", ()))
    return tuple(folder + os.sep for folder in inside)


def main(records, script, *argv):
    sys.path[0] = os.path.dirname(os.path.abspath(script))  # this file's folder has a package torch of its own
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    script = os.path.abspath(script)
    skip = folders_of(torch)
    out = open(records, "wb")
    pickle.dump({"version": str(torch.__version__)}, out)

    class Trace(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            name = str(func).removeprefix("aten.")
            if not name.startswith(UNWRITTEN):
                moved = computes_nothing(func._schema)  # then the record only shows that the line was run
                found = (
                    []
                    if moved
                    else [
                        kept(t)
                        for t in tensors(result, torch.Tensor)
                        if t.device.type != "meta" and t.layout == torch.strided
                    ]
                )
                if found or moved:
                    where, line = user_line(skip, script)
                    pickle.dump(
                        {
                            "op": name,
                            "where": where,
                            "script": line,
                            "constant": not any(True for _ in tensors(args, torch.Tensor)),
                            "results": found,
                        },
                        out,
                    )
            return result

    torch.manual_seed(0)
    sys.argv = [script, *argv]
    main_module = type(sys)("__main__")
    main_module.__dict__.update(__file__=script, __builtins__=__builtins__)
    sys.modules["__main__"] = main_module
    error = None
    with open(script, "rb") as file:
        code = compile(file.read(), script, "exec")
    try:
        with Trace():
            exec(code, main_module.__dict__)
    except SystemExit:
        pass
    except BaseException as e:
        where = [
            f
            for f in traceback.extract_tb(e.__traceback__)
            if not f.filename.startswith(skip) and f.filename != __file__
        ][-1:]
        error = {
            "text": "".join(traceback.format_exception_only(type(e), e)).strip(),
            "where": [(f.filename, f.lineno, f.line) for f in where][0],
        }
    pickle.dump({"error": error}, out)
    out.close()


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Writer of TorchScript archives, with code, tensors and attributes of modules."""

import io
import os
import pickle
import re
import sys
import textwrap

from mindtorch_proxy.runtime.serialization import _open_file_like
from mindtorch_proxy.runtime.serialization.archive import Writer
from mindtorch_proxy.runtime.serialization.storages import Storages

from ._code import NO_GRAPH, Constants

VERSION = 10  # version of PyTorch's operators; in older archives, some had other semantics


class _Pickler(pickle._Pickler):  # type: ignore[name-defined, misc]
    """A pickler that writes TorchScript classes by name and storages as records."""

    def __init__(self, stream, storages):
        super().__init__(stream, protocol=2)
        self.storages = storages

    def persistent_id(self, o):
        found = self.storages.describe(o)
        return found and ("storage", found[0], str(found[1]), *found[2:])

    def save(self, obj, save_persistent_id=True):
        qualified = obj.__dict__.get("_qualified_name") if isinstance(obj, type) else None
        if qualified is None:
            return super().save(obj, save_persistent_id)
        if id(obj) in self.memo:
            return self.write(self.get(self.memo[id(obj)][0]))
        module, _, last = qualified.rpartition(".")
        self.write(pickle.GLOBAL + module.encode() + b"\n" + last.encode() + b"\n")
        return self.memoize(obj)


class _Archive:
    """The classes and objects of a module that is being written.

    kind: the class of modules that have code
    """

    def __init__(self, kind, constants):
        self.kind, self.texts, self.constants, self.classes = kind, {}, constants, {}

    def object(self, module):
        """Return the object that represents a module in the pickle."""
        if not isinstance(module, self.kind):
            raise NotImplementedError(f"torch.jit.save: {type(module).__name__} is no script module")
        if module._shadow is not None:
            raise NotImplementedError(NO_GRAPH.format(module.original_name, "code to save"))
        state = {**module._parameters, **module._buffers}
        state = {k: v if v is None else v.detach().requires_grad_(v.requires_grad) for k, v in state.items()}
        own = {k: v for k, v in module.__dict__.items() if not k.startswith("_") and k != "training"}
        settings = {k: v for k, v in own.items() if isinstance(v, (bool, int, float, str, type(None)))}
        state |= {"training": module.training, "_is_full_backward_hook": None, **settings}
        state |= {name: None if m is None else self.object(m) for name, m in module._modules.items()}
        qualified = self._class(module, settings)
        made = object.__new__(type(qualified.rpartition(".")[2], (), {"_qualified_name": qualified}))
        made.__dict__.update(state)
        return made

    def _class(self, module, settings):
        wanted = module._qualified_name
        text = self._text(module, settings, "\0")
        qualified, n = wanted, 0
        while self.texts.get(qualified, text) != text:
            base, _, last = wanted.rpartition(".")
            qualified, n = f"{base}.___torch_mangle_{n}.{last}", n + 1
        self.texts[qualified] = text
        self.classes[id(module)] = qualified
        return qualified

    def _text(self, module, settings, own):
        names = lambda table: "[" + "".join(f'"{n}", ' for n, v in table.items() if v is not None) + "]"  # noqa: E731
        lines = [
            f"class {own}(Module):",
            f"  __parameters__ = {names(module._parameters)}",
            f"  __buffers__ = {names(module._buffers)}",
        ]
        kinds = {
            n: "Tensor" if v is not None else "NoneType"
            for n, v in (*module._parameters.items(), *module._buffers.items())
        }
        kinds |= {"training": "bool", "_is_full_backward_hook": "Optional[bool]"}
        kinds |= {n: "NoneType" if v is None else type(v).__name__ for n, v in settings.items()}
        kinds |= {n: "NoneType" if m is None else self.classes[id(m)] for n, m in module._modules.items()}
        lines += [f"  {n} : {k}" if n.isidentifier() else f'  __annotations__["{n}"] = {k}' for n, k in kinds.items()]
        for method in module._script_methods.values():
            code = self._renumbered(method)
            code = re.sub(r"^def (\w+)\((\w+)", lambda m: f"def {m[1]}({m[2]}: {own}!", code, count=1)
            lines.append(textwrap.indent(code, "  ").rstrip("\n"))
        return "\n".join(lines) + "\n"

    def _renumbered(self, method):
        """Return a method's code with the numbers of constants in this archive."""
        return re.sub(
            r"\bCONSTANTS\.c(\d+)\b", lambda m: self.constants.name(method.constants.tensors[int(m[1])]), method.code
        )

    def files(self):
        """Return the code as {path: text}."""
        found = {}
        for qualified, text in self.texts.items():
            module, _, last = qualified.rpartition(".")
            path = f"code/{module.replace('.', '/')}.py"
            found[path] = found.get(path, "") + text.replace("\0!", qualified).replace("\0", last)
        return found


def write(module, kind, f, extra_files=None):
    """Write the archive of a module.

    kind: the class of which the module and its submodules must be instances, because only these have code
    """
    constants = Constants()
    archive = _Archive(kind, constants)
    root = archive.object(module)
    name = (
        os.path.basename(os.fspath(f)).rpartition(".")[0] or os.path.basename(os.fspath(f))
        if isinstance(f, (str, os.PathLike))
        else "archive"
    )
    with _open_file_like(f, "wb") as file:
        out = Writer(file, name if name.isascii() else "archive")
        for entry, text in (extra_files or {}).items():
            out.record(f"extra/{entry}", text.encode() if isinstance(text, str) else text)
        _write_pickle(out, "data", root)
        for path, text in archive.files().items():
            out.record(path, text.encode())
        _write_pickle(out, "constants", tuple(t.detach() for t in constants.tensors))
        out.record("byteorder", sys.byteorder.encode())
        out.close(VERSION)


def _write_pickle(out, name, obj):
    stream, storages = io.BytesIO(), Storages()
    _Pickler(stream, storages).dump(obj)
    for index, storage, _ in storages:
        out.record(f"{name}/{index}", storage.cpu()._array())
    out.record(f"{name}.pkl", stream.getbuffer())

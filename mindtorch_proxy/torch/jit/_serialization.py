"""torch.jit.save and torch.jit.load: TorchScript archives, with code, tensors and attributes of modules."""

import ast
import collections
import enum
import io
import os
import pickle
import re
import textwrap
import warnings

from mindtorch_proxy.runtime.serialization import STORAGE_NAMES, StorageType, _open_file_like, storage_loader
from mindtorch_proxy.runtime.serialization.archive import Reader

from ._code import Constants
from ._interpreter import function_of, parsed
from ._script import Method, RecursiveScriptModule


def _deprecated(name):
    """Give PyTorch's warning, which names a line of torch's and is therefore not shown by default."""
    text = f"`torch.jit.{name}` is deprecated. Please switch to `torch.export`."
    warnings.warn(text, DeprecationWarning, stacklevel=2)


def save(m, f, _extra_files=None):
    """Write a script module or function to a path or a binary stream.

    _extra_files: {name: text or bytes} of additional files.
    """
    _deprecated("save")
    if isinstance(f, (str, os.PathLike)):
        m.save(f, _extra_files=_extra_files or {})
    else:
        f.write(m.save_to_buffer(_extra_files=_extra_files or {}))


# ------------------------------------------------------------------------------------------------ reading
class _Object:
    """The unpickled form of an object of a TorchScript class."""

    def __setstate__(self, state):
        self.state = state


class _Unit:
    """The classes and functions in the code of an archive."""

    def __init__(self, archive, constants):
        self.classes, self.functions, self.constants, self.made = {}, {}, constants, {}
        self.namespace = _Names(self, "__torch__")
        for path in archive.records:
            if path.startswith("code/") and path.endswith(".py"):
                self._read(path[len("code/") : -len(".py")].replace("/", "."), archive.read(path).decode())

    def _read(self, module, text):
        for definition in parsed(text):
            if isinstance(definition, ast.ClassDef):
                self.classes[f"{module}.{definition.name}"] = definition, text
            elif isinstance(definition, ast.FunctionDef):
                self.functions[f"{module}.{definition.name}"] = definition

    def find(self, qualified):
        """Return the function, named tuple, enum or class with a name, or None."""
        if qualified not in self.made:
            if qualified in self.functions:
                name = qualified.rpartition(".")[2]
                self.made[qualified] = function_of(self.functions[qualified], name, self.constants, self.namespace)
            elif qualified in self.classes:
                self.made[qualified] = self._class(qualified)
            else:
                return None
        return self.made[qualified]

    def base(self, qualified):
        return self.classes[qualified][0].bases[0].id if self.classes[qualified][0].bases else None

    def _class(self, qualified):
        definition, _ = self.classes[qualified]
        base = self.base(qualified)
        if base == "NamedTuple":
            return collections.namedtuple(
                definition.name, [s.target.id for s in definition.body if isinstance(s, ast.AnnAssign)]
            )
        if base == "Enum":
            return enum.Enum(
                definition.name,
                {s.targets[0].id: ast.literal_eval(s.value) for s in definition.body if isinstance(s, ast.Assign)},
            )
        methods = {
            s.name: function_of(s, s.name, self.constants, self.namespace)
            for s in definition.body
            if isinstance(s, ast.FunctionDef)
        }
        return type(definition.name, (), {**methods, "__setstate__": lambda self, state: self.__dict__.update(state)})

    def is_module(self, qualified):
        return qualified in self.classes and self.base(qualified) == "Module"

    def methods(self, qualified):
        """Return {name: Method} for the class of a module."""
        definition, text = self.classes[qualified]
        found = {}
        for s in definition.body:
            if isinstance(s, ast.FunctionDef):
                code = textwrap.dedent("  " + ast.get_source_segment(text, s)) + "\n"
                code = re.sub(r"^def (\w+)\((\w+): [\w.]+", r"def \1(\2", code, count=1)
                found[s.name] = Method(s.name, text=code, constants=self.constants, namespace=self.namespace)
        return found

    def names(self, qualified, which):
        """Return the names in __parameters__ or __buffers__."""
        for s in self.classes[qualified][0].body:
            if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name) and s.targets[0].id == which:
                return ast.literal_eval(s.value)
        return []


class _Names:
    """The namespace __torch__ and its parts, as used in code."""

    def __init__(self, unit, prefix):
        self._unit, self._prefix = unit, prefix

    def __getattr__(self, name):
        qualified = f"{self._prefix}.{name}"
        found = self._unit.find(qualified)
        return _Names(self._unit, qualified) if found is None else found


_BUILT = {f"build_{kind}list": list for kind in ("int", "tensor", "double", "bool")}


class _Unpickler(pickle.Unpickler):
    """Unpickles only objects of the archive's own classes and tensors."""

    def __init__(self, stream, unit, load):
        super().__init__(stream, encoding="utf-8")
        self.unit, self.persistent_load = unit, load

    def find_class(self, module, name):
        if module.startswith("__torch__"):
            qualified = f"{module}.{name}"
            if not self.unit.is_module(qualified):
                return self.unit.find(qualified)
            return type(name, (_Object,), {"_qualified_name": qualified})
        if module == "torch" and name in STORAGE_NAMES:
            return StorageType(name)
        if module == "torch.jit._pickle":
            return _BUILT[name] if name in _BUILT else lambda value, *kind: value
        if (module, name) in (
            ("torch._utils", "_rebuild_tensor_v2"),
            ("collections", "OrderedDict"),
            ("torch", "device"),
        ):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"TorchScript archives cannot hold {module}.{name}")


def _module(unit, obj, made):
    """Return the script module for an unpickled object."""
    if id(obj) in made:
        return made[id(obj)]
    qualified = type(obj)._qualified_name
    state = dict(obj.state)
    module = made[id(obj)] = RecursiveScriptModule._made(
        qualified.rpartition(".")[2], qualified, state.pop("training", False)
    )
    module._script_methods.update(unit.methods(qualified))
    parameters, buffers = unit.names(qualified, "__parameters__"), unit.names(qualified, "__buffers__")
    for name, value in state.items():
        if isinstance(value, _Object):
            module._modules[name] = _module(unit, value, made)
        elif name in parameters:
            module._parameters[name] = value
        elif name in buffers:
            module._buffers[name] = value
        elif name != "_is_full_backward_hook":
            module.__dict__[name] = value
    return module


def load(f, map_location=None, _extra_files=None, _restore_shapes=False):
    """Read an archive of torch.jit.save, also one written by PyTorch; its code runs on the operators of this package.

    _extra_files: {name: anything}; the values are replaced by the contents of the files. Raise ValueError if a path
    does not exist.
    """
    _deprecated("load")
    if isinstance(f, (str, os.PathLike)):
        if not os.path.exists(f):
            raise ValueError(f"The provided filename {f} does not exist")
        if os.path.isdir(f):
            raise ValueError(f"The provided filename {f} is a directory")
    with _open_file_like(f, "rb") as file:
        archive = Reader(file)
        if "constants.pkl" not in archive:
            raise RuntimeError("PytorchStreamReader failed locating file constants.pkl: file not found")
        constants = Constants()
        unit = _Unit(archive, constants)
        read = lambda name: _Unpickler(  # noqa: E731
            io.BytesIO(archive.read(f"{name}.pkl")), unit, storage_loader(archive, map_location, folder=name)
        ).load()
        constants.tensors.extend(read("constants"))
        for name in _extra_files or ():
            _extra_files[name] = archive.read(f"extra/{name}") if f"extra/{name}" in archive else ""
        return _module(unit, read("data"), {})


def jit_module_from_flatbuffer(f):
    """Raise NotImplementedError, because flatbuffers are not supported."""
    raise NotImplementedError("torch.jit.jit_module_from_flatbuffer: archives in flatbuffers are not supported")

"""Saves exported programs as PyTorch's .pt2 files: a zip file with the graph as JSON and the bytes of tensors.

Loading a file does not run any code in it.
"""

import io
import json
import os
import re
import zipfile

import torch

from . import _deserialize, _serialize
from ._trace import guards_of
from .exported_program import ExportedProgram

_SIZES = re.compile(r"\S+ (==|>=|<=) \d+")  # a condition that follows from the metadata of the arguments
_UNSTORED = (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)


def _bytes_of(t):
    """Return the bytes of a tensor's storage."""
    storage = t.detach().cpu().untyped_storage()
    return bytes(torch.empty(0, dtype=torch.uint8).set_(storage).numpy().tobytes())


class _Payload:
    """The tensors of one kind, each storage once."""

    def __init__(self, prefix):
        self.prefix, self.paths, self.files, self.config, self.kept = prefix, {}, {}, {}, []

    def add(self, name, t):
        if t.layout in _UNSTORED or t.dtype not in _serialize.DTYPES:
            raise NotImplementedError(f"torch.export.save: a tensor of {t.layout} and {t.dtype} ({name})")
        key = t.untyped_storage()._cdata if t.numel() else ("empty", name)
        if key not in self.paths:
            self.paths[key] = f"{self.prefix}{len(self.paths)}"
            self.files[self.paths[key]] = _bytes_of(t)
            self.kept.append(t)
        self.config[name] = {
            "path_name": self.paths[key],
            "is_param": isinstance(t, torch.nn.Parameter),
            "use_pickle": False,
            "tensor_meta": _serialize.tensor_meta(t),
        }


_SOURCE = re.compile(r"L((?:\[[^\]]+\])+)")


def _written_guards(program):
    """Return the conditions on relations between sizes, as PyTorch writes them."""
    if program._guards is None:
        return []
    guards, found = program._guards, []
    sources = dict(zip(guards.names, guards.sources or ()))
    for text, _ in guards.conditions:
        if not _SIZES.fullmatch(text):
            found.append(re.sub(r"\b(\w+)(?=\.size\(\))", lambda m: sources.get(m[1], m[1]), text))
    return [] if any("L[" not in g for g in found) else found


def save(ep, f, *, extra_files=None, opset_version=None, pickle_protocol=2):
    """Write a program to a path or a binary file, as a .pt2 file that PyTorch reads as well.

    Raises:
        TypeError: for what is no ExportedProgram.
        NotImplementedError: for sparse tensors, and nodes that call modules or functions with graphs as arguments.
    """
    if not isinstance(ep, ExportedProgram):
        raise TypeError(
            f"The 'ep' parameter must be an instance of 'ExportedProgram', got '{type(ep).__name__}' instead."
        )
    weights, constants = _Payload("weight_"), _Payload("tensor_")
    for name, t in ep.state_dict.items():
        weights.add(name, t)
    for name, t in ep.constants.items():
        constants.add(name, t)
    graph = json.dumps(_serialize.program(ep, _written_guards(ep)))
    name = os.path.splitext(os.path.basename(os.fspath(f)))[0] if isinstance(f, (str, os.PathLike)) else "archive"
    with zipfile.ZipFile(f, "w") as archive:
        for kind, payload in (("weights", weights), ("constants", constants)):
            for path, content in payload.files.items():
                archive.writestr(f"{name}/data/{kind}/{path}", content)
            config = json.dumps({"config": payload.config})
            archive.writestr(f"{name}/data/{kind}/model_{kind}_config.json", config)
        archive.writestr(f"{name}/models/model.json", graph)
        if ep.example_inputs is not None:
            archive.writestr(f"{name}/data/sample_inputs/model.pt", _pickled(ep.example_inputs))
        for path, content in (extra_files or {}).items():
            archive.writestr(f"{name}/extra/{path}", content if isinstance(content, bytes) else str(content).encode())
        for path, content in _MARKS.items():
            archive.writestr(f"{name}/{path}", content)


_MARKS = {
    "archive_format": "pt2",
    "archive_version": "0",
    ".data/version": "6\n",
    "byteorder": "little",
    ".data/serialization_id": "0" * 40,
}


def _pickled(obj):
    file = io.BytesIO()
    torch.save(obj, file)
    return file.getvalue()


class _Reader:
    """The records of a .pt2 file."""

    def __init__(self, archive):
        self.archive = archive
        found = [n for n in archive.namelist() if n.rpartition("/")[2] == "archive_format"]
        if not found or archive.read(found[0]) != b"pt2":
            raise ValueError("torch.export.load: the file is no .pt2 file of an exported program")
        self.folder = found[0].rpartition("/")[0]

    def read(self, path):
        return self.archive.read(f"{self.folder}/{path}")

    def has(self, path):
        return f"{self.folder}/{path}" in self.archive.namelist()

    def json(self, path):
        return json.loads(self.read(path))

    def tensors(self, kind):
        """Return {name: tensor} of the weights or the constants."""
        path = f"data/{kind}/model_{kind}_config.json"
        if not self.has(path):
            return {}
        storages, found = {}, {}
        for name, entry in self.json(path)["config"].items():
            if entry["use_pickle"]:
                content = io.BytesIO(self.read(f"data/{kind}/{entry['path_name']}"))
                found[name] = torch.load(content, weights_only=True)
                continue
            file = entry["path_name"]
            if file not in storages:
                content = bytearray(self.read(f"data/{kind}/{file}"))
                raw = torch.frombuffer(content, dtype=torch.uint8) if content else torch.empty(0, dtype=torch.uint8)
                storages[file] = raw.clone().untyped_storage()
            found[name] = _tensor(storages[file], entry)
        return found


def _tensor(storage, entry):
    meta = entry["tensor_meta"]
    sizes, strides = ([n["as_int"] for n in meta[k]] for k in ("sizes", "strides"))
    t = torch.empty(0, dtype=_deserialize._DTYPES[meta["dtype"]])
    t = t.set_(storage, meta["storage_offset"]["as_int"], sizes, strides)
    if entry["is_param"]:
        return torch.nn.Parameter(t, requires_grad=meta["requires_grad"])
    return t


def load(f, *, extra_files=None, expected_opset_version=None):
    """Read a program from a .pt2 file that ``save`` or PyTorch wrote.

    extra_files: a dict, whose values are replaced by the contents of further files of these names.

    Raises:
        ValueError: for other files.
        NotImplementedError: for programs with other inputs or arguments than tensors and numbers.
    """
    with zipfile.ZipFile(f) as archive:
        reader = _Reader(archive)
        given = reader.json("models/model.json")
        state, constants = reader.tensors("weights"), reader.tensors("constants")
        for name in extra_files or ():
            extra_files[name] = reader.read(f"extra/{name}").decode()
        example = None
        if reader.has("data/sample_inputs/model.pt"):
            example = _example(reader.read("data/sample_inputs/model.pt"))
    return _program(given, state, constants, example)


def _example(content):
    """Return the example's arguments; None if they hold objects of classes that are not read from files."""
    try:
        return torch.load(io.BytesIO(content), weights_only=True)
    except Exception as error:
        if "weights_only" in str(error) or "Weights only" in str(error):
            return None
        raise


def _program(given, state, constants, example):
    module = given["graph_module"]
    signature = _deserialize.signature(module["signature"])
    graph_reader = _deserialize.GraphReader(given)
    graph = graph_reader.read([s.arg.name for s in signature.input_specs])
    calls, env = _deserialize.calls(module["module_call_graph"]), graph_reader.env
    ranges = {}
    for text, r in given["range_constraints"].items():
        low, high = (_deserialize.int_oo if n is None else n for n in (r["min_val"], r["max_val"]))
        low = -_deserialize.int_oo if r["min_val"] is None else low
        ranges[_deserialize._expressions.read(text, graph_reader.symbols)] = _deserialize.ValueRanges(low, high)
    inputs = [s for s in signature.input_specs if s.kind is _deserialize.InputKind.USER_INPUT]
    names = [s.arg.name for s in inputs]
    fakes = [graph_reader.nodes[n].meta["val"] for n in names]
    guards = guards_of(env, names, fakes)
    guards.sources = [f"L[{n!r}]" for n in names]
    for text in given.get("guards_code", ()):
        guards.add(_SOURCE.sub(lambda m: _name_of(m[1], names), text))
    return ExportedProgram(
        torch.nn.Module(),
        graph,
        signature,
        state,
        ranges,
        calls,
        example,
        constants,
        guards=guards,
        dialect=(given.get("verifiers") or ["TRAINING"])[0],
    )


def _name_of(path, names):
    """Return the name of an argument for its path, as in the name of its node: x_0_a for ['x'][0]['a']."""
    name = "_".join(re.findall(r"\w+", path)).lower()
    if name not in names:
        raise NotImplementedError(f"torch.export.load: a condition on {path}, which is no argument by its name")
    return name

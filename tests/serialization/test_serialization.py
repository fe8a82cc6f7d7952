"""torch.save and torch.load on their own: options, errors, hostile files, pickles and copies."""

import copy
import gzip
import io
import os
import pickle
import random
import struct
import sys
import zipfile
from collections import OrderedDict

import pytest
import torch

from mindtorch_proxy.runtime import serialization as ser
from mindtorch_proxy.runtime.serialization import archive, unpickler


def saved(obj, **options):
    b = io.BytesIO()
    torch.save(obj, b, **options)
    b.seek(0)
    return b


def load(data, **options):
    return torch.load(io.BytesIO(data) if isinstance(data, bytes) else data, **options)


class Plain:
    """A class that is not allowed by default."""

    def __init__(self, x=1):
        self.x = x

    def __eq__(self, other):
        return type(other) is Plain and self.x == other.x


class Sub(torch.Tensor):
    pass


# ------------------------------------------------------------ the container
def test_layout_of_the_archive(tmp_path):
    torch.save([torch.ones(3), torch.ones(100), torch.empty(0)], tmp_path / "a.b.pt")
    with zipfile.ZipFile(tmp_path / "a.b.pt") as z:
        assert z.testzip() is None
        names = [i.filename for i in z.infolist()]
        assert names == [
            f"a.b/{n}"
            for n in (
                "data.pkl",
                ".format_version",
                ".storage_alignment",
                "byteorder",
                "data/0",
                "data/1",
                "data/2",
                "version",
                ".data/serialization_id",
            )
        ]
        assert z.read("a.b/version") == b"3\n" and z.read("a.b/byteorder") == sys.byteorder.encode()
    with open(tmp_path / "a.b.pt", "rb") as f:
        r = archive.Reader(f)
        assert all(r.offset(n) % 64 == 0 for n in r.records)
    assert zipfile.ZipFile(saved(1)).namelist()[0] == "archive/data.pkl"


def test_zip64_fields(monkeypatch, tmp_path, request):
    monkeypatch.setattr(archive, "LIMIT", 500)
    value = [torch.arange(200), torch.arange(5), torch.empty(0), torch.arange(300.0)]
    torch.save(value, tmp_path / "f.pt")
    assert zipfile.ZipFile(tmp_path / "f.pt").testzip() is None
    for back in (torch.load(tmp_path / "f.pt"), torch.load(tmp_path / "f.pt", mmap=True)):
        assert all(a.tolist() == b.tolist() for a, b in zip(value, back))
    if os.environ.get("MINDTORCH_ORACLE_PYTHON"):
        import subprocess

        env = {k: v for k, v in os.environ.items() if not k.startswith(("MINDTORCH", "PYTHON"))}
        text = f"import torch; print([t.sum().item() for t in torch.load({str(tmp_path / 'f.pt')!r})])"
        out = subprocess.run(
            [os.environ["MINDTORCH_ORACLE_PYTHON"], "-c", text], capture_output=True, text=True, env=env, timeout=60
        )
        assert out.stdout.strip() == "[19900, 10, 0.0, 44850.0]", out.stderr


def test_checksums_can_be_left_out():
    assert torch.serialization.get_crc32_options() is True
    torch.serialization.set_crc32_options(False)
    try:
        data = saved(torch.arange(10))
    finally:
        torch.serialization.set_crc32_options(True)
    assert {i.CRC for i in zipfile.ZipFile(data).infolist()} == {0}
    data.seek(0)
    assert load(data).tolist() == list(range(10))


def test_compressed_records_and_streams():
    source = zipfile.ZipFile(saved({"a": torch.arange(1000)}))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as z:
        for i in source.infolist():
            z.writestr(i.filename, source.read(i))
    assert load(packed.getvalue())["a"].tolist() == list(range(1000))

    class Dribble(io.RawIOBase):  # takes a few bytes a call, and can do nothing else
        def __init__(self):
            self.data = b""

        def write(self, b):
            self.data += bytes(b[:7])
            return min(len(b), 7)

    out = Dribble()
    torch.save(torch.arange(5), out)
    assert load(out.data).tolist() == [0, 1, 2, 3, 4]
    squeezed = io.BytesIO()
    with gzip.open(squeezed, "wb") as f:
        torch.save(torch.arange(5), f)
    assert load(gzip.open(io.BytesIO(squeezed.getvalue()))).tolist() == [0, 1, 2, 3, 4]


def test_byte_order():
    value = {
        "i": torch.arange(5, dtype=torch.int32),
        "c": torch.tensor([1 + 2j, -3j]),
        "b": torch.tensor([True, False]),
    }
    z = zipfile.ZipFile(saved(value))
    for record in (True, False):
        b = io.BytesIO()
        with zipfile.ZipFile(b, "w") as out:
            for i in z.infolist():
                data = z.read(i)
                unit = {"archive/data/0": 4, "archive/data/1": 4, "archive/data/2": 1}.get(i.filename)
                if unit:
                    data = b"".join(data[j : j + unit][::-1] for j in range(0, len(data), unit))
                if i.filename == "archive/byteorder":
                    if not record:
                        continue
                    data = b"big"
                out.writestr(i.filename, data)
        torch.serialization.set_default_load_endianness(None if record else torch.serialization.LoadEndianness.BIG)
        try:
            back = load(b.getvalue())
        finally:
            torch.serialization.set_default_load_endianness(None)
        assert all(back[k].tolist() == value[k].tolist() for k in value)
    with pytest.raises(TypeError):
        torch.serialization.set_default_load_endianness("big")


# ------------------------------------------------------------ options
def test_map_location():
    data = saved(torch.arange(3)).getvalue()
    seen = []
    for where in (
        None,
        "cpu",
        torch.device("cpu"),
        {"cpu": "cpu"},
        {"cuda:0": "cpu"},
        lambda s, tag: seen.append((tag, s.nbytes())),
        lambda s, tag: s,
    ):
        assert load(data, map_location=where).tolist() == [0, 1, 2]
    assert seen == [("cpu", 24)]
    for where in ("meta", torch.device("meta"), {"cpu": "meta"}):
        t = load(data, map_location=where)
        assert t.device.type == "meta" and t.shape == (3,)
    assert load(data, map_location="meta").untyped_storage()._checkpoint_offset % 64 == 0
    with pytest.raises(RuntimeError, match=r"torch.cuda.is_available\(\) is False"):
        load(data, map_location="cuda")
    with pytest.raises(RuntimeError, match="tagged with foo"):
        load(data, map_location="foo")


def test_mmap(tmp_path):
    path = tmp_path / "m.pt"
    base = torch.arange(1000)
    torch.save({"a": base, "b": base[10:20]}, path)
    r = torch.load(path, mmap=True)
    assert (
        r["b"].tolist() == list(range(10, 20))
        and r["b"].untyped_storage().data_ptr() == r["a"].untyped_storage().data_ptr()
    )
    r["a"][0] = 99  # private: the file does not see it
    assert torch.load(path)["a"][0] == 0
    with torch.serialization.set_default_mmap_options(__import__("mmap").MAP_SHARED):
        torch.load(path, mmap=True)["a"][0] = 7
    assert torch.load(path)["a"][0] == 7
    with pytest.raises(ValueError, match="file path"):
        torch.load(saved(1), mmap=True)
    torch.save(base, path, _use_new_zipfile_serialization=False)
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        torch.load(path, mmap=True)
    with pytest.raises(ValueError, match="MAP_PRIVATE or mmap.MAP_SHARED"):
        torch.serialization.set_default_mmap_options(77)


@pytest.mark.parametrize("options", [{}, {"_use_new_zipfile_serialization": False}])
def test_tensors_share_their_storage_after_loading_as_before(options):
    x = torch.arange(6.0)
    a, b, c, other = load(saved([x, x[2:], x.view(2, 3).t(), x.clone()], **options))
    assert a.data_ptr() == c.data_ptr() == b.data_ptr() - 8 != other.data_ptr()
    a.fill_(7)
    assert b.tolist() == [7] * 4 and c.tolist() == [[7, 7]] * 3 and other.tolist() == [*range(6)]


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("change", [lambda data: data[:-4], lambda data: data + b"\0" * 4, lambda data: b""])
def test_records_of_another_size_than_their_tensor(change, mmap, tmp_path):
    path = tmp_path / "changed"
    with zipfile.ZipFile(saved(torch.arange(6.0))) as whole, zipfile.ZipFile(path, "w") as changed:
        for name in whole.namelist():
            data = whole.read(name)
            changed.writestr(name, change(data) if name.endswith("data/0") else data)
    with pytest.raises(RuntimeError, match="not (have )?24"):
        torch.load(path, mmap=mmap)


def test_register_package():
    log = []
    before = list(ser._package_registry)
    try:
        torch.serialization.register_package(
            1, lambda s: "mine", lambda s, tag: log.append(tag) or (s if tag == "mine" else None)
        )
        data = saved(torch.ones(2)).getvalue()
    finally:
        keep = ser._package_registry[:]
        ser._package_registry[:] = before
    with pytest.raises(RuntimeError, match="tagged with mine"):
        load(data)
    ser._package_registry[:] = keep
    try:
        assert load(data).tolist() == [1, 1] and log == ["mine"]
    finally:
        ser._package_registry[:] = before


def test_skip_data():
    with torch.serialization.skip_data():
        data = saved(torch.ones(1000)).getvalue()
        with pytest.raises(RuntimeError, match="_use_new_zipfile_serialization=False"):
            saved(1, _use_new_zipfile_serialization=False)
    assert len(data) > 4000 and load(data).tolist() == [0] * 1000
    with torch.serialization.skip_data():
        assert load(saved(torch.ones(3))).shape == (3,)


def test_pickle_module_and_protocol():
    value = {"a": torch.ones(2), "b": Plain(3)}
    assert load(saved(value, pickle_module=pickle, pickle_protocol=4), weights_only=False)["b"] == Plain(3)
    assert load(saved({"a": 1}), pickle_module=pickle) == {"a": 1}
    with pytest.raises(RuntimeError, match="explicit pickle_module"):
        load(saved(1), pickle_module=pickle, weights_only=True)


def test_environment_decides(monkeypatch):
    data = saved(Plain()).getvalue()
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    with pytest.warns(UserWarning, match="forcing weights_only=False"):
        assert load(data) == Plain()
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(RuntimeError, match="both were set"):
        load(data)
    monkeypatch.delenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    with pytest.raises(pickle.UnpicklingError):
        load(data, weights_only=False)


# ------------------------------------------------------------ errors
@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda: torch.load("/nonexistent.pt"), FileNotFoundError, ""),
        (lambda: torch.load("/tmp"), IsADirectoryError, ""),
        (lambda: torch.load(3), AttributeError, "You can only torch.load from a file that is seekable"),
        (lambda: torch.save(1, None), AttributeError, "expected 'f' to be string, path"),
        (lambda: load(b""), EOFError, ""),
        (lambda: load(b"hello world"), KeyError, "101"),
        (lambda: load(b"abc"), IndexError, "pop from empty list"),
        (lambda: load(b"import os"), pickle.UnpicklingError, "Weights only load failed"),
        (
            lambda: load(b"PK\3\4asdf"),
            RuntimeError,
            "PytorchStreamReader failed reading zip archive: not a ZIP archive",
        ),
        (
            lambda: load(b"PK\3\4asdfasdfasdfasdfasdf"),
            RuntimeError,
            "PytorchStreamReader failed reading zip archive: failed finding central directory",
        ),
        (lambda: load(pickle.dumps({"a": 1}, 2)), RuntimeError, "Invalid magic number; corrupt file?"),
        (
            lambda: load(saved(torch.ones(4), _use_new_zipfile_serialization=False).getvalue()[:-5]),
            RuntimeError,
            "unexpected EOF",
        ),
        (
            lambda: saved([(x := torch.ones(4)), x.view(torch.int32)]),
            RuntimeError,
            "view the same data as different types",
        ),
        (
            lambda: torch.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(b"x")),
            ValueError,
            "Expected input to be a checkpoint",
        ),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_a_failed_save_leaves_the_file(tmp_path):
    torch.save(1, tmp_path / "f.pt")
    with pytest.raises(Exception, match="pickle"):
        torch.save(lambda: 1, tmp_path / "f.pt")
    assert torch.load(tmp_path / "f.pt") == 1


# ------------------------------------------------------------ weights_only
def test_allowing_globals():
    data = saved([Plain(5), os.getcwd]).getvalue()
    assert sorted(torch.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data))) == sorted(
        [f"{__name__}.Plain", "posix.getcwd"]
    )
    data = saved(Plain(5)).getvalue()
    with pytest.raises(
        pickle.UnpicklingError, match=rf"GLOBAL {__name__}.Plain was not an allowed global(.|\n)*add_safe_globals"
    ):
        load(data)
    with torch.serialization.safe_globals([Plain]):
        assert torch.serialization.get_safe_globals() == [Plain] and load(data) == Plain(5)
        assert torch.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data)) == []
    assert torch.serialization.get_safe_globals() == []
    with torch.serialization.safe_globals([(Plain, f"{__name__}.Plain")]):
        assert load(data) == Plain(5)
    torch.serialization.add_safe_globals([Plain])
    assert load(data) == Plain(5)
    torch.serialization.clear_safe_globals()
    with pytest.raises(pickle.UnpicklingError):
        load(data)


GOOD = b"\x80\x02"
HOSTILE = {
    "os.system": GOOD + b"cposix\nsystem\nX\x02\x00\x00\x00id\x85R.",
    "nt": GOOD + b"cnt\nsystem\n.",
    "eval": GOOD + b"c__builtin__\neval\nX\x01\x00\x00\x001\x85R.",
    "getattr": GOOD + b"cbuiltins\ngetattr\n.",
    "call of a result": GOOD + b"]X\x01\x00\x00\x00a\x85R.",
    "new of a string": GOOD + b"X\x01\x00\x00\x00a)\x81.",
    "state of a class": GOOD + b"ctorch\nTensor\n}X\x03\x00\x00\x00fooK\x01sb.",
    "state of a function": GOOD + b"ctorch._utils\n_rebuild_tensor_v2\nN}X\x0c\x00\x00\x00__defaults__)s\x86b.",
    "append to a tuple": GOOD + b")K\x01a.",
    "items of a list": GOOD + b"]K\x01K\x02s.",
    "inst": GOOD + b"(iposix\nsystem\n.",
    "obj": GOOD + b"(cposix\nsystem\nX\x02\x00\x00\x00ido.",
    "stack global": b"\x80\x04\x8c\x05posix\x8c\x06system\x93.",
    "extension": GOOD + b"\x82\x01.",
    "module id": GOOD + b"(X\x06\x00\x00\x00modulectorch\nTensor\nNNtQ.",
    "text id": GOOD + b"Pstorage\n.",
    "no stop": GOOD + b"K\x01",
    "empty stack": GOOD + b"0.",
    "pop of nothing": GOOD + b"R.",
    "negative storage": GOOD
    + b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuJ\xff\xff\xff\xfftQ.",
    "huge storage": GOOD
    + b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuJ\xff\xff\xff\x7ftQ.",
    "strange storage": GOOD + b"(X\x07\x00\x00\x00storageK\x01X\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x01tQ.",
    "path in a key": GOOD
    + b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x04\x00\x00\x00/../X\x03\x00\x00\x00cpuK\x01tQ.",
}


@pytest.mark.parametrize("module", ["sys", "os", "posix", "nt"])
def test_no_program_opens_modules_of_the_system_to_files(module):
    pkl = GOOD + f"c{module}\nsystem\n(X\x01\x00\x00\x00xtR.".encode()
    with (
        torch.serialization.safe_globals([(print, f"{module}.system")]),
        pytest.raises(pickle.UnpicklingError, match=f"whose module {module} is blocked"),
    ):
        load(forge(pkl))


def forge(pkl):
    b = io.BytesIO()
    out = archive.Writer(b)
    out.record("data.pkl", pkl)
    out.record("data/0", b"\0" * 4)
    out.close()
    return b.getvalue()


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pickles(name, monkeypatch):
    monkeypatch.setattr(os, "system", lambda *a: pytest.fail("code ran"))
    before = dict(vars(torch.Tensor))
    with (
        pytest.raises((RuntimeError, pickle.UnpicklingError, EOFError, IndexError)),
        pytest.warns() if name == "stack global" else open(os.devnull),
    ):
        load(forge(HOSTILE[name]))
    with (
        pytest.raises((RuntimeError, pickle.UnpicklingError, EOFError, IndexError)),
        pytest.warns() if name == "stack global" else open(os.devnull),
    ):
        load(b"".join(pickle.dumps(x, 2) for x in (ser.MAGIC_NUMBER, 1001, {})) + HOSTILE[name])
    assert dict(vars(torch.Tensor)) == before
    assert ser._rebuild_tensor_v2.__defaults__ == (None,)


@pytest.mark.parametrize(
    "offset, size, stride",
    [
        (100, (2,), (1,)),
        (0, (7,), (1,)),
        (0, (2,), (-1,)),
        (-1, (2,), (1,)),
        (0, (-2,), (1,)),
        (0, (2, 2), (1,)),
        (0, (2**40, 2**40), (1, 1)),
        (0, (2,), (2**62,)),
        (0, (1.5,), (1,)),
    ],
)
def test_tensors_outside_their_storage(offset, size, stride):
    storage = torch.arange(6.0)._typed_storage()
    with pytest.raises(RuntimeError):
        torch._utils._rebuild_tensor_v2(storage, offset, size, stride, False, OrderedDict())


@pytest.mark.parametrize("new", [True, False])
def test_truncated_and_damaged_files(new):
    good = saved(
        {"a": torch.arange(6.0).view(2, 3), "b": [1, "x", None]}, _use_new_zipfile_serialization=new
    ).getvalue()
    expected = (
        RuntimeError,
        pickle.UnpicklingError,
        EOFError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        OverflowError,
        struct.error,
    )  # as PyTorch's
    for n in range(0, len(good), 3):
        with pytest.raises(expected):
            load(good[:n])
    rng = random.Random(0)
    for _ in range(300):
        bad = bytearray(good)
        for _ in range(rng.randint(1, 4)):
            bad[rng.randrange(len(bad))] = rng.randrange(256)
        try:
            load(bytes(bad))
        except expected:
            pass


def test_torchscript_archives_are_refused():
    b = io.BytesIO()
    out = archive.Writer(b)
    out.record("data.pkl", GOOD + b"N.")
    out.record("constants.pkl", GOOD + b"N.")
    out.close()
    with pytest.raises(RuntimeError, match="TorchScript"):
        load(b.getvalue())
    with pytest.raises(NotImplementedError, match="TorchScript"):
        load(b.getvalue(), weights_only=False)


# ------------------------------------------------------------ pickles and copies
def test_pickled_names():
    data = saved(
        [torch.ones(2), torch.ones(2, dtype=torch.uint16), torch.Size([1]), torch.device("cpu"), torch.strided]
    )
    globals_ = unpickler.globals_in(zipfile.ZipFile(data).read("archive/data.pkl"))
    assert globals_ == {
        "torch._utils._rebuild_tensor_v2",
        "torch.FloatStorage",
        "collections.OrderedDict",
        "torch.uint16",
        "torch.Size",
        "torch._utils._rebuild_tensor_v3",
        "torch.storage.UntypedStorage",
        "torch.device",
        "torch.serialization._get_layout",
    }


def test_plain_pickles():
    t = torch.arange(6.0).view(2, 3).t()
    for protocol in (2, 4, 5):
        back = pickle.loads(pickle.dumps(t, protocol))
        assert back.tolist() == t.tolist() and back.stride() == t.stride()
    s = torch.ones(2).as_subclass(Sub)
    s.note = [1]
    back = pickle.loads(pickle.dumps(s))
    assert type(back) is Sub and back.note == [1] and back.tolist() == [1, 1]
    assert pickle.loads(pickle.dumps(torch.ones(2).requires_grad_())).requires_grad


def test_copies():
    a = torch.arange(4.0)
    b = a[1:]
    c, d = copy.deepcopy([a, b])
    c[1] = 9
    assert d[0] == 9 and a[1] == 1
    assert copy.copy(a).data_ptr() == a.data_ptr()
    a = torch.ones(2, requires_grad=True)
    a.grad = torch.ones(2)
    a.note = [1]
    b = copy.deepcopy(a)
    assert (
        b.requires_grad
        and b.grad.tolist() == [1, 1]
        and b.grad is not a.grad
        and b.note == [1]
        and b.note is not a.note
    )
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(a * 2)
    assert copy.deepcopy(torch.ones(3, 4).t()).stride() == (1, 4)
    assert copy.deepcopy(torch.ones(2, device="meta")).device.type == "meta"
    with pytest.raises(RuntimeError, match="new_empty"):
        copy.deepcopy(torch.ones(2).as_subclass(Sub))


def test_legacy_setstate():
    t = torch.empty(0)
    t.__setstate__((torch.arange(6.0)._typed_storage(), 1, (2, 2), (2, 1)))
    assert t.tolist() == [[1, 2], [3, 4]]


def test_flatten_and_exception_wrapper():
    from torch._utils import (
        ExceptionWrapper,
        KeyErrorMessage,
        _flatten_dense_tensors,
        _take_tensors,
        _unflatten_dense_tensors,
    )

    parts = [torch.ones(2, 2), torch.arange(3.0), torch.empty(0, 5)]
    flat = _flatten_dense_tensors(parts)
    assert flat.tolist() == [1, 1, 1, 1, 0, 1, 2]
    assert [t.tolist() for t in _unflatten_dense_tensors(flat, parts)] == [t.tolist() for t in parts]
    assert [len(g) for g in _take_tensors(parts[:2], 16)] == [1, 1]
    for error in (ValueError("a"), KeyError("b")):
        try:
            raise error
        except Exception:
            w = ExceptionWrapper(where="in worker 0")
        with pytest.raises(type(error), match="Caught .* in worker 0.(.|\n)*Original Traceback"):
            w.reraise()
    assert repr(KeyErrorMessage("x\ny")) == "x\ny"
    assert struct.calcsize("q") == 8


def test_records_of_a_file(tmp_path):
    torch.save({"a": torch.arange(4.0)}, tmp_path / "f.pt")
    reader = torch.PyTorchFileReader(str(tmp_path / "f.pt"))
    assert {"data.pkl", "data/0", ".data/serialization_id"} <= set(reader.get_all_records()) and not reader.has_record(
        "data/1"
    )
    assert reader.get_record("data/0") == torch.arange(4.0).numpy().tobytes() and reader.get_record_size("data/0") == 16
    storage = reader.get_storage_from_record("data/0", 4, torch.float32)
    assert storage.shape == (0,) and storage.untyped_storage().tolist() == list(reader.get_record("data/0"))
    with pytest.raises(RuntimeError, match="failed locating file data/1"):
        reader.get_record("data/1")


@pytest.mark.parametrize("archive", [True, False])
def test_an_empty_storage_of_several_types(archive):
    empty = torch.UntypedStorage(0)
    given = [
        torch.tensor([], dtype=d).set_(torch.TypedStorage(wrap_storage=empty, dtype=d))
        for d in (torch.float64, torch.float32, torch.bool)
    ]
    file = io.BytesIO()
    torch.save(given, file, _use_new_zipfile_serialization=archive)
    file.seek(0)
    assert [t.dtype for t in torch.load(file)] == [t.dtype for t in given]

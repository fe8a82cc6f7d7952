"""torch.save."""

import io
import os
import pickle
import sys

from .archive import Writer
from .config import _serialization_tls, save_config
from .files import _is_path, _open_file_like, check_dill_version, dump
from .legacy import legacy_save
from .storages import Storages

DEFAULT_PROTOCOL = 2


def save(
    obj,
    f,
    pickle_module=pickle,
    pickle_protocol=DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization=True,
    _disable_byteorder_record=False,
):
    """Save an object to a path or a binary stream, in PyTorch's zip format (or its old one)."""
    check_dill_version(pickle_module)
    if not (_is_path(f) or hasattr(f, "write")):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    if (
        _is_path(f)
        and _use_new_zipfile_serialization
        and not os.path.isdir(parent := os.path.dirname(os.path.abspath(os.fspath(f))))
    ):
        raise RuntimeError(f"Parent directory {parent} does not exist.")
    storages = Storages()
    if not _use_new_zipfile_serialization:
        if _serialization_tls.skip_data:
            raise RuntimeError("Cannot use skip_data=True with _use_new_zipfile_serialization=False")
        with _open_file_like(f, "wb") as file:
            legacy_save(obj, file, pickle_module, pickle_protocol, storages)
        return
    data = io.BytesIO()

    def persistent_id(o):
        found = storages.describe(o)
        return found and ("storage", found[0], str(found[1]), *found[2:])

    dump(obj, data, pickle_module, pickle_protocol, persistent_id)
    stem = os.path.basename(os.fspath(f)).rpartition(".")[0] or os.path.basename(os.fspath(f)) if _is_path(f) else ""
    with _open_file_like(f, "wb") as file:
        out = Writer(
            file,
            stem if stem and stem.isascii() else "archive",
            save_config.storage_alignment,
            save_config.compute_crc32,
        )
        out.record("data.pkl", data.getbuffer())
        out.record(".format_version", b"1")
        out.record(".storage_alignment", b"%d" % save_config.storage_alignment)
        if not _disable_byteorder_record:
            out.record("byteorder", sys.byteorder.encode())
        for index, storage, _ in storages:
            if storage.device.type != "meta":
                out.record(f"data/{index}", storage.cpu()._array(), _serialization_tls.skip_data)
        out.close()

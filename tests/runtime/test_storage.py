"""Storages: who may grow."""

import io

import pytest
import torch

NOT_RESIZABLE = "Trying to resize storage that is not resizable"


def test_memory_of_others_does_not_grow(tmp_path):
    (tmp_path / "file").write_bytes(bytes(64))
    torch.save(torch.ones(4), tmp_path / "tensor.pt")
    file = io.BytesIO((tmp_path / "tensor.pt").read_bytes())
    own = torch.UntypedStorage(8)
    borrowed = [
        own[2:6],
        torch.UntypedStorage.from_file(str(tmp_path / "file"), False, 64),
        torch.load(file).untyped_storage(),
        torch.load(tmp_path / "tensor.pt", mmap=True).untyped_storage(),
    ]
    for storage in borrowed:
        assert not storage.resizable() and not torch.TypedStorage(wrap_storage=storage, dtype=torch.uint8).resizable()
        for nbytes in (2, 1 << 20):
            with pytest.raises(RuntimeError, match=NOT_RESIZABLE):
                storage.resize_(nbytes)
        assert storage.clone().resizable()
    assert own.resizable() and own.resize_(20).nbytes() == 20

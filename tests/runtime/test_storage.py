"""Storages: who may grow."""

import io

import numpy as np
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


@pytest.mark.parametrize(
    "make",
    [
        torch.from_numpy,
        torch.as_tensor,
        torch.asarray,
        torch.from_dlpack,
        lambda a: torch.frombuffer(a, dtype=torch.float64),
        lambda a: torch.from_numpy(np.ones((4, 2)))[:, 0],
        lambda a: torch.from_numpy(np.ones((4, 2))[:, 0]),
        lambda a: (t := torch.ones(4, dtype=torch.float64), t.numpy())[0],
    ],
)
def test_a_tensor_over_an_array_does_not_grow(make):
    t = make(np.arange(4.0))
    assert not t.untyped_storage().resizable()
    for change in (
        lambda: t.resize_(100),
        lambda: t.resize_as_(torch.ones(100)),
        lambda: t.set_(t.untyped_storage(), 0, (100,), (1,)),
    ):
        with pytest.raises(RuntimeError, match=NOT_RESIZABLE):
            change()
    assert t.resize_(2).shape == (2,) and t.resize_(4).tolist() == make(np.arange(4.0)).tolist()
    assert torch.tensor(np.arange(4.0)).resize_(100).shape == t.clone().resize_(100).shape

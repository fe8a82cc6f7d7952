"""The Ascend column of the table, proved from the installed wheel without hardware."""

import time

import torch

from mindtorch_proxy.backends.ascend import bindings, table
from mindtorch_proxy.runtime import pyboost

# operators whose primitive has no Ascend kernel and for which nothing stands in yet: a list that may only shrink
UNSUPPORTED = set((__import__("pathlib").Path(__file__).parent / "ascend_unsupported.txt").read_text().split())


def test_every_binding_exists_on_ascend_with_the_arity_used():
    wrong = [(op, prim, note) for op, prim, kind, note in bindings.table() if kind == "pyboost" and note]
    assert not wrong


def test_what_ascend_lacks_is_listed():
    lacking = {op for op, _, kind, _ in bindings.table() if kind == "unsupported"}
    assert lacking - UNSUPPORTED == set(), "new operators without an Ascend kernel"
    if tuple(map(int, pyboost.version().split(".")[:2])) < (2, 8):  # the list is that of the oldest version; later ones have more kernels
        assert UNSUPPORTED - lacking == set(), "these have one now: take them off the list"


def test_inplace_primitives_exist():
    assert not [p for p in table.INPLACE.values() if not bindings.exists(p)]


def test_no_npu_is_known_in_milliseconds():
    torch.npu.is_available()
    start = time.perf_counter()
    assert torch.npu.is_available() is False
    assert time.perf_counter() - start < 0.05

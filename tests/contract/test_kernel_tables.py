"""Tests the dtypes in the kernel tables."""

from itertools import combinations

import pytest

from mindtorch_proxy.backends.cpu import table
from mindtorch_proxy.backends.host import ALL, DTYPES, dtype_set, phrase, words
from mindtorch_proxy.runtime import dtypes
from mindtorch_proxy.runtime.registry import operators


def test_a_word_that_is_no_dtype_fails_where_it_stands():
    with pytest.raises(ValueError, match="no dtype: f33 fd"):
        table.numpy("abs", "no reason", abs, dtypes="f32 f33 fd")


def test_names_are_those_of_dtypes():
    assert dtype_set("i64 bool") == {dtypes.int64, dtypes.bool_}
    assert words(dtype_set("f64 bf16 i8")) == "i8 bf16 f64"
    assert dtype_set(words(DTYPES.values())) == set(DTYPES.values())


def test_groups_are_named_where_they_are_whole():
    assert phrase(dtype_set(ALL)) == "all"
    assert phrase(dtype_set(ALL) - dtype_set("f32 f64")) == "all but f32 f64"
    assert phrase(dtype_set("u64 u32 u16 i64 i32 i16 i8 u8 bool f32")) == "bool, all integers, f32"
    assert phrase(dtype_set("u8 i8 f64 f32 bf16 f16 c64")) == "u8 i8, all floats, c64"


@pytest.mark.parametrize("rows", [table.kernels, table.quick_kernels])
def test_the_order_of_rows_decides_nothing(rows):
    """Two kernels of one kind for the same arguments have no dtype in common."""
    for op in operators():
        for a, b in combinations([k for k in rows(op) if k.when is None], 2):
            if a.kind == b.kind and bool(a.above) == bool(b.above):
                assert not a.dtypes & b.dtypes, op.full

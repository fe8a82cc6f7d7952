"""Values and weights of an ONNX model: dtypes, shapes, tensors."""

import ctypes

import onnx_ir as ir
import torch

DTYPES = {
    getattr(torch, name): ir.DataType[onnx]
    for name, onnx in {
        "bool": "BOOL",
        "uint8": "UINT8",
        "uint16": "UINT16",
        "uint32": "UINT32",
        "uint64": "UINT64",
        "int8": "INT8",
        "int16": "INT16",
        "int32": "INT32",
        "int64": "INT64",
        "float16": "FLOAT16",
        "bfloat16": "BFLOAT16",
        "float32": "FLOAT",
        "float64": "DOUBLE",
        "complex64": "COMPLEX64",
        "complex128": "COMPLEX128",
        "float8_e4m3fn": "FLOAT8E4M3FN",
        "float8_e4m3fnuz": "FLOAT8E4M3FNUZ",
        "float8_e5m2": "FLOAT8E5M2",
        "float8_e5m2fnuz": "FLOAT8E5M2FNUZ",
    }.items()
}
# floats that NumPy lacks, and the integers of their size
_AS_INTEGERS = {
    d: (torch.uint8, torch.uint16)[d.itemsize - 1]
    for d in DTYPES
    if d.is_floating_point and d.itemsize < 4 and d is not torch.float16
}


def is_foreign(dtype):
    """Whether NumPy has no such dtype."""
    return dtype in _AS_INTEGERS


def bits_of(tensor):
    """Return the bits of a tensor of a dtype that NumPy lacks, as an array of integers."""
    return tensor.detach().contiguous().view(_AS_INTEGERS[tensor.dtype]).numpy(force=True)


def torch_dtype_to_onnx_dtype(dtype):
    """Return ONNX's number for a dtype."""
    return DTYPES[dtype]


class TorchTensor(ir.Tensor):
    """A weight of an ONNX model that reads its values from a torch.Tensor when they are needed."""

    def __init__(self, tensor, name=None):
        super().__init__(tensor, dtype=DTYPES[tensor.dtype], name=name)

    def numpy(self):
        """Return the values as an array; dtypes that NumPy lacks have those of ml_dtypes."""
        if is_foreign(self.raw.dtype):
            return bits_of(self.raw).view(self.dtype.numpy())
        return self.raw.numpy(force=True)

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        return array if dtype is None else array.astype(dtype)

    def _bytes(self):
        whole = self.raw.detach().cpu().contiguous()
        size = whole.element_size() * whole.numel()
        return whole, (ctypes.c_ubyte * size).from_address(whole.data_ptr()) if size else b""

    def tobytes(self):
        """Return the values' bytes, without a copy as an array."""
        _, data = self._bytes()
        return bytes(data)

    def tofile(self, file):
        """Write the values' bytes to a file."""
        _, data = self._bytes()
        return file.write(data)


def describe(value, example):
    """Give an ONNX value the shape and dtype of an example: a tensor, or a number for what is a size or a condition.

    A complex tensor is one of real and imaginary parts, which are the last dimension of two. A dtype that is known
    already stays.
    """
    if isinstance(example, torch.Tensor):
        shape = [size if isinstance(size, int) else str(size) for size in example.shape]
        if value.dtype is None:
            dtype = example.dtype
            if dtype.is_complex:
                dtype, shape = dtype.to_real(), [*shape, 2]
            value.dtype = DTYPES[dtype]
        value.shape = ir.Shape(shape)
        return
    for kinds, dtype in (
        ((bool, torch.SymBool), ir.DataType.BOOL),
        ((int, torch.SymInt), ir.DataType.INT64),
        ((float, torch.SymFloat), ir.DataType.FLOAT),
    ):
        if isinstance(example, kinds):
            value.dtype, value.shape = dtype, ir.Shape([])
            return


class Value(ir.Value):
    """A value of the graph under construction, with Python's operators, which the functions of onnxscript use."""

    def __init__(self, opset, name=None):
        super().__init__(name=name)
        self._opset = opset

    @property
    def rank(self):
        """The number of dimensions, or None where it is unknown."""
        return None if self.shape is None else len(self.shape)

    def __mod__(self, other):
        if self.dtype is not None and self.dtype.is_floating_point():
            return self._opset.Mod(self, other, fmod=1)
        return self._opset.Mod(self, other)

    def __ne__(self, other):
        return self._opset.Not(self._opset.Equal(self, other))

    __hash__ = ir.Value.__hash__

    def __neg__(self):
        return self._opset.Neg(self)


def _binary(name, reflected):
    def operator(self, other):
        apply = getattr(self._opset, name)
        return apply(other, self) if reflected else apply(self, other)

    return operator


for _method, _name in {
    "add": "Add",
    "sub": "Sub",
    "mul": "Mul",
    "truediv": "Div",
    "pow": "Pow",
    "matmul": "MatMul",
    "and": "And",
    "or": "Or",
}.items():
    setattr(Value, f"__{_method}__", _binary(_name, False))
    setattr(Value, f"__r{_method}__", _binary(_name, True))
for _method, _name in {"lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual"}.items():
    setattr(Value, f"__{_method}__", _binary(_name, False))

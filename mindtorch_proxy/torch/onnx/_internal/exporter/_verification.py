"""Differences between what a module computes and what its ONNX model computes."""

import dataclasses

import torch
from torch.utils import _pytree as pytree

_BINS = [0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 1000000.0]


@dataclasses.dataclass
class VerificationInfo:
    """How far a result of the ONNX model is from the module's: greatest differences and their histograms."""

    name: str
    max_abs_diff: float
    max_rel_diff: float
    abs_diff_hist: tuple
    rel_diff_hist: tuple
    expected_dtype: torch.dtype
    actual_dtype: torch.dtype

    @classmethod
    def from_tensors(cls, name, expected, actual):
        """Return the differences of two tensors or numbers."""
        expected, actual = (t if isinstance(t, torch.Tensor) else torch.tensor(t) for t in (expected, actual))
        wide = torch.complex128 if expected.is_complex() or actual.is_complex() else torch.float64
        a, b = expected.to(wide), actual.to(wide)
        difference = (a - b).abs().float()
        relative = (difference / (a.abs().float() + 1e-7)).float()
        bins = torch.tensor(_BINS)
        return cls(
            name,
            difference.max().item() if difference.numel() else 0.0,
            relative.max().item() if relative.numel() else 0.0,
            torch.histogram(difference, bins=bins),
            torch.histogram(relative, bins=bins),
            expected.dtype,
            actual.dtype,
        )

    def asdict(self):
        """Return the fields as plain numbers, lists and strings."""
        plain = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        for name in ("abs_diff_hist", "rel_diff_hist"):
            plain[name] = [t.tolist() for t in plain[name]]
        for name in ("expected_dtype", "actual_dtype"):
            plain[name] = str(plain[name])
        return plain


def verify_onnx_program(onnx_program, args=None, kwargs=None, compare_intermediates=False):
    """Return a list with the VerificationInfo of each output, for arguments or for the example of the export.

    Raises:
        ValueError: if neither arguments nor an exported program with an example are there.
        NotImplementedError: for compare_intermediates.
    """
    if compare_intermediates:
        raise NotImplementedError("verify_onnx_program: values inside the graph are not compared")
    program = onnx_program.exported_program
    if program is None:
        raise ValueError("The ONNX program does not contain an exported_program. Please provide one to verify it.")
    if args is None and kwargs is None:
        if program.example_inputs is None:
            raise ValueError("No example inputs provided and the exported_program does not contain example inputs.")
        args, kwargs = program.example_inputs
    args, kwargs = args or (), kwargs or {}
    expected = pytree.tree_leaves(program.module()(*args, **kwargs))
    found = onnx_program(*args, **kwargs)
    names = [value.name for value in onnx_program.model.graph.outputs]
    return [VerificationInfo.from_tensors(*row) for row in zip(names, expected, found, strict=True)]

"""torch.utils' names for devices from outside, and its C backtrace."""

import pytest
import torch


def test_generated_methods(python):
    out = python(
        "-m",
        "mindtorch_proxy",
        "-c",
        "import torch\n"
        "torch.utils.rename_privateuse1_backend('foo')\n"
        "torch.utils.generate_methods_for_privateuse1_backend(for_storage=False)\n"
        "print(torch.ones(1).is_foo, hasattr(torch.nn.Module, 'foo'), hasattr(torch.Tensor, 'foo'))\n"
        "try: torch.utils.generate_methods_for_privateuse1_backend()\n"
        "except RuntimeError as e: print('already been registered' in str(e))\n",
    )
    assert out.split() == ["False", "True", "True", "True"]


def test_storages_have_none():
    with pytest.raises(NotImplementedError, match="methods of storages"):
        torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)


def test_c_backtrace():
    lines = torch.utils.get_cpp_backtrace(0, 8).splitlines()
    assert 1 < len(lines) <= 8 and lines[0].startswith("frame #0: ")

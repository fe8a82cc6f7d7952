"""The emulator's rules give what CANN's documents promise, whatever computes them: here our own torch does."""

import importlib.util
from pathlib import Path

import pytest
import torch


def load():
    spec = importlib.util.spec_from_file_location("emulator_rules", Path(__file__).with_name("emulator") / "rules.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


rules = load()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
def test_norms_compute_half_types_in_float32(dtype):
    x = (torch.rand(3, 64, generator=torch.Generator().manual_seed(0)) * 300).to(
        dtype
    )  # squares that float16 cannot hold
    gamma = torch.linspace(0.5, 2, 64).to(dtype)
    y, rstd = rules.rms_norm(x, gamma, 1e-6)
    exact = 1 / (x.double().square().mean(1, keepdim=True) + 1e-6).sqrt()
    assert (y.dtype, rstd.dtype, rstd.shape) == (dtype, torch.float32, (3, 1))
    torch.testing.assert_close(rstd, exact.float())
    torch.testing.assert_close(y, (x.double() * exact * gamma.double()).to(dtype))
    dx, dgamma = rules.rms_norm_grad(torch.ones_like(x), x, rstd, gamma)
    torch.testing.assert_close(dgamma, (x.double() * exact).sum(0).float())
    assert dx.shape == x.shape and dx.isfinite().all()

"""The package functorch, as PyTorch brings it: the transforms of torch.func, and modules as functions of their parameters."""

import torch
from torch import vmap
from torch._functorch.eager_transforms import functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp
from torch._functorch.make_functional import (
    FunctionalModule,
    FunctionalModuleWithBuffers,
    combine_state_for_ensemble,
    make_functional,
    make_functional_with_buffers,
)
from torch.fx.experimental.proxy_tensor import make_fx

__version__ = torch.__version__

"""functorch.experimental: transforms that PyTorch's package keeps here."""

from torch._functorch.apis import chunk_vmap
from torch._functorch.eager_transforms import functionalize, hessian, jacfwd, jvp
from torch._functorch.functional_call import replace_all_batch_norm_modules_

__all__ = ["chunk_vmap", "functionalize", "hessian", "jacfwd", "jvp", "replace_all_batch_norm_modules_"]

"""Function transforms: vmap is implemented by batching rules, derivatives by autograd."""

"""Function transforms: vmap by batching rules, derivatives by autograd."""

"""Every entry of PyTorch's own list of overridable functions asks a class with __torch_function__ with the object that
the real torch asks it with.
"""

import overridden
import pytest
import torch

# what is asked of a class here and in PyTorch, where they differ
OTHERS = {
    # slots that the runtime itself reads
    **dict.fromkeys(("Tensor._grad.__get__", "Tensor._grad_fn.__get__")),
    # PyTorch's parser asks a tensor that is given as a number before it asks for the function
    **dict.fromkeys(("torch.histogramdd", "torch.mean", "torch.sum", "Tensor.mean", "Tensor.sum")),
    # an overload for accelerators alone; another name of one function; a function without a kernel here
    **dict.fromkeys(("torch.addmm", "torch.baddbmm", "torch.bmm", "torch.dsmm", "torch.hsmm")),
}


@pytest.mark.parametrize("group", overridden.GROUPS)
def test_overridden(group, answers):
    problems = []
    for name, args, theirs in answers("overridden", group):
        if theirs[:1] == ["raises"] or not theirs or name in OTHERS:
            continue
        try:
            overridden.resolve(torch, name)
        except AttributeError:
            continue  # names that this package lacks say so
        ours = overridden.ask(torch, name, args)
        if not overridden.alike(ours, theirs):
            problems.append(f"{name}: {ours}, expected {theirs}")
    assert not problems, "\n".join(problems)

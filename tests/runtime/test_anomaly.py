"""Anomaly mode shows the line of the program that made a node, however the call was made."""

import warnings

import torch


def test_the_trace_ends_at_the_program_s_own_line():
    x = torch.tensor([1.0], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.detect_anomaly():
            made = {
                "operator": x * 1,  # operator
                "method": x.sqrt(),  # method
                "function": torch.softmax(x, 0),  # function
                "view": x.view(1, 1),  # view
                "in place": (x * 1).exp_(),  # in place
            }
    for how, y in made.items():
        assert y.grad_fn.trace.rstrip().endswith(f"# {how}"), (how, y.grad_fn.trace[-300:])

"""What a person sees of torch.nn's classes; test_classes.py runs it in both torches."""

import inspect
import json
import re
import warnings

REQUIRED = {
    "in_features": 4,
    "out_features": 4,
    "in1_features": 4,
    "in2_features": 4,
    "n_classes": 10,
    "num_classes": 10,
    "cutoffs": [2],
    "in_channels": 4,
    "out_channels": 4,
    "num_channels": 4,
    "num_groups": 2,
    "num_features": 4,
    "num_embeddings": 4,
    "embedding_dim": 4,
    "embed_dim": 4,
    "num_heads": 2,
    "d_model": 4,
    "nhead": 2,
    "num_layers": 1,
    "input_size": 4,
    "hidden_size": 4,
    "bias": True,
    "num_chunks": 1,
    "mode": "LSTM",
    "kernel_size": 2,
    "output_size": 2,
    "norm_type": 2,
    "normalized_shape": 4,
    "padding": 1,
    "value": 1.0,
    "threshold": 1.0,
    "groups": 2,
    "size": 2,
    "upscale_factor": 2,
    "downscale_factor": 2,
    "dim": 1,
    "unflattened_size": (2, 2),
}
ARGUMENTS = {  # what the signature does not say
    "GRU": {"input_size": 4, "hidden_size": 4},
    "LSTM": {"input_size": 4, "hidden_size": 4},
    "RNN": {"input_size": 4, "hidden_size": 4},
    "FractionalMaxPool2d": {"kernel_size": 2, "output_size": 2},
    "FractionalMaxPool3d": {"kernel_size": 2, "output_size": 2},
}


def parameters(function, annotations):
    """[name, kind, default, annotation] of each parameter, and the annotation of the result."""

    def written(value):
        # "Iterable[Module]", however it is written: as a string, or with the modules' names
        return re.sub(r"['\"]|\b[\w.]+\.(?=\w)", "", inspect.formatannotation(value)) if annotations else ""

    signature = inspect.signature(function)
    rows = [
        [p.name, str(p.kind), re.sub(" at 0x[0-9a-f]+", "", repr(p.default)), written(p.annotation)]
        for p in signature.parameters.values()
    ]
    return [*rows, written(signature.return_annotation)]


def sample(nn, cls):
    """A module of the class."""
    special = {
        "encoder_layer": lambda: nn.TransformerEncoderLayer(4, 2),
        "decoder_layer": lambda: nn.TransformerDecoderLayer(4, 2),
        "module": nn.ReLU,
    }
    arguments = ARGUMENTS.get(cls.__name__)
    if arguments is None:
        needed = [
            p.name
            for p in inspect.signature(cls).parameters.values()
            if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
        ]
        arguments = {name: special[name]() if name in special else REQUIRED[name] for name in needed}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cls(**arguments)


def describe(torch):
    """Signatures, bases, constants and names of each class."""
    nn, table = torch.nn, {}
    for name in dir(nn):
        cls = getattr(nn, name)
        if not (isinstance(cls, type) and issubclass(cls, nn.Module)):
            continue
        module = sample(nn, cls)
        methods = {n: f for n, f in inspect.getmembers(cls, inspect.isfunction) if n[0] != "_" and n != "forward"}
        table[name] = {
            "init": parameters(cls, True),
            "forward": parameters(cls.forward, True),
            "methods": {n: parameters(f, False) for n, f in methods.items()},
            "bases": [c.__qualname__ for c in cls.__mro__],
            "constants": getattr(cls, "__constants__", None),
            "names": sorted({*dir(cls), *dir(module)}),
            "state": {key: type(value).__name__ for key, value in vars(module).items()},
            "repr": repr(module),
        }
    return table


if __name__ == "__main__":
    import torch

    print(json.dumps(describe(torch)))

"""Recurrent layers; the recurrences themselves are operators (runtime/ops/recurrent.py)."""

import math
import numbers
import warnings
import weakref

import torch
import torch._VF as _VF
from torch import Tensor
from mindtorch_proxy.runtime.ops.recurrent import MODES as _MODES, step as _cell

from .. import init
from .module import Module
from .utils import _optional_parameters

__all__ = ["RNNBase", "RNN", "LSTM", "GRU", "RNNCellBase", "RNNCell", "LSTMCell", "GRUCell"]


def _apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    return tensor.index_select(dim, permutation)


def apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    """Deprecated: use tensor.index_select(dim, permutation)."""
    warnings.warn(
        "`apply_permutation` is deprecated, please use `tensor.index_select(dim, permutation)` instead",
        FutureWarning,
        stacklevel=2,
    )
    return _apply_permutation(tensor, permutation, dim)


def _require(kind, **values):
    for name, value in values.items():
        if not isinstance(value, kind):
            raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")


def _state_size(layer, input, batch_sizes, features):
    batch = input.size(0 if layer.batch_first else 1) if batch_sizes is None else int(batch_sizes[0])
    return layer.num_layers * (1 + layer.bidirectional), batch, features


def _initial_states(layer, input, batch_sizes):
    """Return zeros for h, or for (h, c) of an LSTM."""
    h = input.new_zeros(layer.get_expected_hidden_size(input, batch_sizes))
    return (h, input.new_zeros(layer.get_expected_cell_size(input, batch_sizes))) if layer.mode == "LSTM" else h


def _batch_states(layer, hx, batched):
    """Check the given states, and add a batch dimension of one if the input has no batch."""
    kind, dims = ("batched 3-D", 3) if batched else ("unbatched 2-D", 2)
    if layer.mode == "LSTM":
        if any(h.dim() != dims for h in hx):
            raise RuntimeError(
                f"For {kind} input, hx and cx should also be {dims}-D but got ({hx[0].dim()}-D, "
                f"{hx[1].dim()}-D) tensors"
            )
        return hx if batched else tuple(h.unsqueeze(1) for h in hx)
    if hx.dim() != dims:
        raise RuntimeError(f"For {kind} input, hx should also be {dims}-D but got {hx.dim()}-D tensor")
    return hx if batched else hx.unsqueeze(1)


def _references(weights):
    return [None if weight is None else weakref.ref(weight) for weight in weights]


def _unroll(layer, input, hx):
    """Run all steps of all layers and return (output, last states); shared by RNN, LSTM and GRU."""
    PackedSequence = torch.nn.utils.rnn.PackedSequence  # imported late: nn.utils depends on these modules
    packed, batched = input if isinstance(input, PackedSequence) else None, True
    sizes = sorted_indices = unsorted_indices = None
    if packed is not None:
        input, sizes, sorted_indices, unsorted_indices = packed
    else:
        if input.dim() not in (2, 3):
            name = "RNN" if layer.mode.startswith("RNN") else layer.mode
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {input.dim()}D instead")
        batched = input.dim() == 3
        if not batched:
            input = input.unsqueeze(0 if layer.batch_first else 1)
        if hx is not None:
            hx = _batch_states(layer, hx, batched)
    layer._update_flat_weights()
    hx = _initial_states(layer, input, sizes) if hx is None else layer.permute_hidden(hx, sorted_indices)
    layer.check_forward_args(input, hx, sizes)
    pair, operator = layer.mode == "LSTM", getattr(_VF, layer.mode.lower())
    settings = (
        layer._flat_weights,
        layer.bias,
        layer.num_layers,
        float(layer.dropout),
        layer.training,
        layer.bidirectional,
    )
    output, *states = (
        operator(input, hx, *settings, layer.batch_first) if packed is None else operator(input, sizes, hx, *settings)
    )
    if not batched:
        output, states = output.squeeze(0 if layer.batch_first else 1), [s.squeeze(1) for s in states]
    states = layer.permute_hidden(tuple(states) if pair else states[0], unsorted_indices)
    return (output if packed is None else PackedSequence(output, sizes, sorted_indices, unsorted_indices)), states


class RNNBase(Module):
    """Base of RNN, LSTM and GRU: stacked layers in one or two directions, with their weights.

    input_size, hidden_size and num_layers must be positive, dropout must be in [0, 1] and proj_size must be smaller
    than hidden_size; otherwise ValueError is raised.
    """

    __constants__ = [
        "mode",
        "input_size",
        "hidden_size",
        "num_layers",
        "bias",
        "batch_first",
        "dropout",
        "bidirectional",
        "proj_size",
    ]

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device=None,
        dtype=None,
    ) -> None:
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        if not isinstance(dropout, numbers.Number) or not 0 <= dropout <= 1 or isinstance(dropout, bool):
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}",
                stacklevel=2,
            )
        _require(bool, bias=bias, batch_first=batch_first)
        _require(int, input_size=input_size, hidden_size=hidden_size)
        for name in ("input_size", "hidden_size", "num_layers"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if proj_size >= hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if mode not in _MODES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        gates, output = _MODES[mode][0] * hidden_size, proj_size or hidden_size
        self._all_weights = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse")[: 1 + bidirectional]:
                shapes = {
                    "weight_ih": (gates, output * (1 + bidirectional) if layer else input_size),
                    "weight_hh": (gates, output),
                }
                if bias:
                    shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                shapes = {f"{name}_l{layer}{suffix}": shape for name, shape in shapes.items()}
                _optional_parameters(self, {"device": device, "dtype": dtype}, **shapes)
                self._all_weights.append(list(shapes))
        self._flat_weights_names = [name for names in self._all_weights for name in names]
        self._init_flat_weights()
        self.reset_parameters()

    @property
    def all_weights(self):
        """A list with the parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    # The weights in one list, from which forward takes them. As in PyTorch a program may give another list, which holds
    # until a weight becomes another tensor than it was when the list was last made.

    def _init_flat_weights(self):
        self._flat_weights = [getattr(self, name, None) for name in self._flat_weights_names]
        self._flat_weight_refs = _references(self._flat_weights)

    def _weights_have_changed(self):
        for ref, name in zip(self._flat_weight_refs, self._flat_weights_names, strict=True):
            weight = getattr(self, name, None)
            if weight is not None and ref is not None and ref() is not weight:
                return True
        return False

    def _update_flat_weights(self):
        if self._weights_have_changed():
            self._init_flat_weights()

    def __setattr__(self, name, value):
        names = self.__dict__.get("_flat_weights_names", ())
        if name in names and "_flat_weights" in self.__dict__:
            self._flat_weights[names.index(name)] = value
        super().__setattr__(name, value)

    def _apply(self, fn, recurse=True):
        result = super()._apply(fn, recurse)
        self._init_flat_weights()
        return result

    def _replicate_for_data_parallel(self):
        replica = super()._replicate_for_data_parallel()
        replica._flat_weights = [*replica._flat_weights]
        return replica

    def flatten_parameters(self) -> None:
        """Do nothing: here the weights need not share one block of memory."""

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Check the dtype, the number of dimensions and the number of features of the input.

        A dtype other than the weights' raises ValueError outside autocast; the other errors are RuntimeError.
        """
        dtype = getattr(self, self._all_weights[0][0]).dtype
        if input.dtype != dtype and not torch.is_autocast_enabled(input.device.type):
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({dtype}). Convert input: "
                f"input.to({dtype}), or convert model: model.to({input.dtype})"
            )
        dims = 3 if batch_sizes is None else 2
        if input.dim() != dims:
            raise RuntimeError(f"input must have {dims} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """Return the shape that the hidden state must have."""
        return _state_size(self, input, batch_sizes, self.proj_size or self.hidden_size)

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: tuple[int, int, int], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """Raise RuntimeError unless the state has the expected shape."""
        if hx.size() != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Tensor, hidden: Tensor, batch_sizes: Tensor | None) -> None:
        """Check the input and the states; raise on a mismatch."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Tensor, permutation: Tensor | None):
        """Return the states with the sequences permuted, or unchanged if permutation is None."""
        return hx if permutation is None else _apply_permutation(hx, permutation)

    def extra_repr(self) -> str:
        usual = {
            "proj_size": 0,
            "num_layers": 1,
            "bias": True,
            "batch_first": False,
            "dropout": 0,
            "bidirectional": False,
        }
        return f"{self.input_size}, {self.hidden_size}" + "".join(
            f", {name}={getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value
        )

    def __getstate__(self):
        self._update_flat_weights()
        state = {**super().__getstate__()}
        del state["_flat_weight_refs"]
        return state

    def __setstate__(self, state):
        super().__setstate__(state)
        self.__dict__.setdefault("proj_size", 0)
        self.__dict__.setdefault("_flat_weights_names", [name for names in self._all_weights for name in names])
        if "_flat_weights" in self.__dict__:
            self._flat_weight_refs = _references(self._flat_weights)
        else:
            self._init_flat_weights()


class RNN(RNNBase):
    """Elman recurrent layers: h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu instead of tanh.

    RNN(input_size, hidden_size, num_layers=1, nonlinearity="tanh", bias=True, batch_first=False, dropout=0.0,
    bidirectional=False)

    An input (L, N, input_size) gives (output of each step, last h). RNNBase describes the other arguments.
    """

    def __init__(self, *args, **kwargs):
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            nonlinearity, args = args[3], args[:3] + args[4:]
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{nonlinearity.upper()}", *args, **kwargs)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        return _unroll(self, input, hx)


class LSTM(RNNBase):
    """Long short-term memory layers: c' = f c + i g and h' = o tanh(c').

    i, f and o are sigmoid gates of x and h, and g is their tanh.

    LSTM(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
    proj_size=0)

    An input (L, N, input_size) gives (output of each step, (last h, last c)). A proj_size above 0 projects h to that
    size.
    """

    def __init__(self, *args, **kwargs):
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """Return the shape that the cell state must have."""
        return _state_size(self, input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input: Tensor, hidden: tuple[Tensor, Tensor], batch_sizes: Tensor | None) -> None:
        self.check_input(input, batch_sizes)
        self.check_hidden_size(
            hidden[0], self.get_expected_hidden_size(input, batch_sizes), "Expected hidden[0] size {}, got {}"
        )
        self.check_hidden_size(
            hidden[1], self.get_expected_cell_size(input, batch_sizes), "Expected hidden[1] size {}, got {}"
        )

    def permute_hidden(self, hx: tuple[Tensor, Tensor], permutation: Tensor | None) -> tuple[Tensor, Tensor]:
        return hx if permutation is None else tuple(_apply_permutation(h, permutation) for h in hx)

    def forward(self, input, hx=None):
        return _unroll(self, input, hx)


class GRU(RNNBase):
    """Gated recurrent unit layers: h' = (1 - z) n + z h, where n = tanh(W_in x + b_in + r (W_hn h + b_hn)).

    r and z are sigmoid gates of x and h.

    GRU(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False)

    An input (L, N, input_size) gives (output of each step, last h).
    """

    def __init__(self, *args, **kwargs):
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)

    def forward(self, input, hx=None):
        return _unroll(self, input, hx)


class RNNCellBase(Module):
    """Base of the cells, which compute a single step."""

    __constants__ = ["input_size", "hidden_size", "bias"]

    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device=None, dtype=None) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        _optional_parameters(
            self,
            {"device": device, "dtype": dtype},
            weight_ih=(rows, input_size),
            weight_hh=(rows, hidden_size),
            bias_ih=(rows,) if bias else None,
            bias_hh=(rows,) if bias else None,
        )
        self.reset_parameters()

    def extra_repr(self) -> str:
        usual = {"bias": True, "nonlinearity": "tanh"}
        return f"{self.input_size}, {self.hidden_size}" + "".join(
            f", {name}={self.__dict__[name]}"
            for name, value in usual.items()
            if self.__dict__.get(name, value) != value
        )

    def reset_parameters(self) -> None:
        """Draw all weights uniformly from [-1 / sqrt(hidden_size), 1 / sqrt(hidden_size)]."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)


def _check_sizes(cell, input, states):
    if input.size(1) != cell.input_size:
        raise RuntimeError(f"input has inconsistent input_size: got {input.size(1)} expected {cell.input_size}")
    for i, h in enumerate(states):
        if h.size(0) != input.size(0):
            raise RuntimeError(f"Input batch size {input.size(0)} doesn't match hidden{i} batch size {h.size(0)}")
        if h.size(1) != cell.hidden_size:
            raise RuntimeError(f"hidden{i} has inconsistent hidden_size: got {h.size(1)}, expected {cell.hidden_size}")


def _step(cell, mode, input, states, names):
    """Compute the cell's new states; `names` are used in errors about the given states."""
    for what, value in (("input", input), *zip(names, states or ())):
        if value.dim() not in (1, 2):
            raise ValueError(f"{type(cell).__name__}: Expected {what} to be 1D or 2D, got {value.dim()}D instead")
    batched = input.dim() == 2
    input = input if batched else input.unsqueeze(0)
    if states is None:
        states = [input.new_zeros(input.size(0), cell.hidden_size)] * len(names)
    elif not batched:
        states = [s.unsqueeze(0) for s in states]
    _check_sizes(cell, input, states)
    states = _cell(mode, input, states, cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh)
    return states if batched else tuple(s.squeeze(0) for s in states)


class RNNCell(RNNCellBase):
    """One step of an RNN: h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu instead of tanh.

    An input (N, input_size) and a state (N, hidden_size) give a new state (N, hidden_size).
    """

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device=None, dtype=None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=1, device=device, dtype=dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return _step(self, f"RNN_{self.nonlinearity.upper()}", input, None if hx is None else (hx,), ("hidden",))[0]


class LSTMCell(RNNCellBase):
    """One step of an LSTM: an input (N, input_size) and states (h, c) give new states (h, c).

    The states have the shape (N, hidden_size). The weights of the gates are stacked in the order i, f, g, o.
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device=None, dtype=None) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=4, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        return _step(self, "LSTM", input, hx, ("hx[0]", "hx[1]"))


class GRUCell(RNNCellBase):
    """One step of a GRU: an input (N, input_size) and a state (N, hidden_size) give a new state.

    The weights of the gates are stacked in the order r, z, n.
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device=None, dtype=None) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=3, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return _step(self, "GRU", input, None if hx is None else (hx,), ("hidden",))[0]

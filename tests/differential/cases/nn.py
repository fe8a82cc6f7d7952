"""Programs over torch.nn: each gives the same here as in PyTorch. run_cases.py of tests/oracle runs them, seeded."""

import copy
import pickle

WIDER = {"case_convolutions_over_long_inputs": {"float32": (2e-5, 1e-5), "float64": (1e-10, 1e-11)}}  # sums of hundreds


def outcome(f):
    """What f returns, or the error that it raises."""
    try:
        result = f()
    except Exception as e:
        return [type(e).__name__, str(e)]
    return ["ok", repr(result) if hasattr(result, "named_modules") else result]


def case_hooks(torch):
    nn, log = torch.nn, []
    m = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    m.register_full_backward_hook(
        lambda m, gi, go: log.append(["full", [g if g is None else list(g.shape) for g in gi], len(go)])
    )
    m[0].register_full_backward_pre_hook(lambda m, go: log.append(["pre", len(go)]))
    m[2].register_full_backward_hook(lambda m, gi, go: (gi[0] * 2,))
    handle = m[1].register_forward_hook(
        lambda m, a, k, o: log.append(["forward", len(a), k]), with_kwargs=True, always_call=True
    )
    m[1].register_forward_pre_hook(lambda m, a, k: ((a[0] + 1,), k), with_kwargs=True, prepend=True)
    m[1].register_forward_pre_hook(lambda m, a: log.append("second"))
    x = torch.ones(2, 2, requires_grad=True)
    y = m(x)
    y.sum().backward()

    def boom(m, a):
        raise RuntimeError("x")

    m[1].register_forward_pre_hook(boom)
    log.append(outcome(lambda: m(x)))
    handle.remove()
    log.append(len(m[1]._forward_hooks_with_kwargs))
    b = nn.Linear(2, 2)
    b.register_backward_hook(lambda m, gi, go: log.append(["regular", len(gi), len(go)]))
    b(x).sum().backward()
    log.append(outcome(lambda: b.register_full_backward_hook(lambda *a: None)))
    return [log, y, x.grad]


def case_global_hooks(torch):
    hooks, log = torch.nn.modules.module, []
    handles = [
        hooks.register_module_forward_hook(lambda m, a, o: log.append(type(m).__name__)),
        hooks.register_module_forward_pre_hook(lambda m, a: log.append("pre")),
        hooks.register_module_parameter_registration_hook(lambda m, n, p: log.append(n)),
        hooks.register_module_buffer_registration_hook(lambda m, n, p: log.append(n)),
        hooks.register_module_module_registration_hook(lambda m, n, p: log.append(n)),
        hooks.register_module_full_backward_hook(lambda m, gi, go: log.append("full")),
    ]
    m = torch.nn.Sequential(torch.nn.BatchNorm1d(2))
    m.q = torch.nn.Parameter(torch.ones(1))
    m.register_buffer("b", torch.ones(1))
    m.b = torch.zeros(1)
    m(torch.randn(3, 2, requires_grad=True)).sum().backward()
    for handle in handles:
        handle.remove()
    m(torch.randn(3, 2))
    return log


def case_errors_of_modules(torch):
    nn = torch.nn
    m = nn.Module()
    m.p, m.l = nn.Parameter(torch.ones(1)), nn.Linear(1, 1)
    m.register_buffer("b", torch.ones(1))

    class Early(nn.Module):
        def __init__(self, value):
            self.x = value

    return [
        outcome(f)
        for f in (
            lambda: setattr(m, "p", 1),
            lambda: setattr(m, "l", 1),
            lambda: setattr(m, "b", 1),
            lambda: m.register_buffer("l", None),
            lambda: m.register_buffer("a.b", None),
            lambda: m.register_buffer("", None),
            lambda: m.register_buffer(1, None),
            lambda: m.register_buffer("x", 3),
            lambda: m.register_parameter("x", torch.ones(1)),
            lambda: m.register_parameter("b", None),
            lambda: m.add_module("x", 3),
            lambda: m.add_module("p", None),
            lambda: m.add_module("a.b", None),
            lambda: m.add_module(3, None),
            lambda: Early(nn.Linear(1, 1)),
            lambda: Early(nn.Parameter(torch.ones(1))),
            lambda: m.nope,
            lambda: m.get_submodule("l.q"),
            lambda: m.get_submodule("p"),
            lambda: m.get_parameter("b"),
            lambda: m.get_buffer("p"),
            lambda: nn.Module(3),
            lambda: nn.Module(a=3),
            lambda: m.train(3),
            lambda: m.to(torch.int64),
            lambda: m.load_state_dict(3),
            lambda: m.set_submodule("", m),
            lambda: m.set_submodule("q", m, strict=True),
            lambda: delattr(m, "z"),
            lambda: m(1),
            lambda: nn.Linear(2, 2).load_state_dict({"weight": torch.ones(3, 2), "bias": 3}),
            lambda: nn.Linear(2, 2).load_state_dict(
                {"weight": torch.ones(3, 2), "q": torch.ones(1), "x.y": torch.ones(1)}
            ),
        )
    ]


def case_errors_of_layers(torch):
    nn, one = torch.nn, torch.ones
    return [
        outcome(f)
        for f in (
            lambda: nn.Conv2d(3, 4, 3, groups=2),
            lambda: nn.Conv2d(3, 4, 3, padding="same", stride=2),
            lambda: nn.Conv2d(4, 4, 3, groups=0),
            lambda: nn.ConvTranspose2d(3, 4, 3, padding_mode="reflect"),
            lambda: nn.BatchNorm2d(3)(one(2, 3)),
            lambda: nn.BatchNorm1d(3)(one(3)),
            lambda: nn.InstanceNorm1d(3)(one(3)),
            lambda: nn.InstanceNorm1d(3, affine=True)(one(2, 4, 5)),
            lambda: nn.GroupNorm(2, 3),
            lambda: nn.Dropout(2),
            lambda: nn.MultiheadAttention(3, 2),
            lambda: nn.MultiheadAttention(0, 2),
            lambda: nn.Hardtanh(1, 0),
            lambda: nn.Unflatten(0, [1, "a"]),
            lambda: nn.HuberLoss(delta="a"),
            lambda: nn.MultiMarginLoss(p=3),
            lambda: nn.TripletMarginLoss(margin=0),
            lambda: nn.FractionalMaxPool2d(2),
            lambda: nn.LSTM(2, 3)(one(4)),
            lambda: nn.LSTM(2, 3)(one(4, 1, 3)),
            lambda: nn.LSTM(2, 3)(one(4, 1, 2), (one(1, 1, 3), one(1, 2, 3))),
            lambda: nn.GRU(2, 3)(one(4, 1, 2), one(2, 3)),
            lambda: nn.LSTM(2, 3)(one(4, 2), (one(1, 2, 3), one(1, 1))),
            lambda: nn.RNN(2, 3, nonlinearity="a"),
            lambda: nn.GRU(2, 3, proj_size=1),
            lambda: nn.LSTM(2.5, 3),
            lambda: nn.LSTM(2, 3, bias=1),
            lambda: nn.LSTM(2, 3)(one(4, 1, 2, dtype=torch.float64)),
            lambda: nn.LSTMCell(2, 3)(one(1, 1, 2)),
            lambda: nn.GRUCell(2, 3)(one(2, 2), one(3, 3)),
            lambda: nn.AdaptiveLogSoftmaxWithLoss(3, 5, [2, 2]),
            lambda: nn.AdaptiveLogSoftmaxWithLoss(3, 5, [2])(one(2, 3), torch.tensor([1, 7])),
            lambda: nn.Sequential(nn.ReLU())[3],
            lambda: nn.Sequential(nn.ReLU()) + [1],
            lambda: nn.Sequential(nn.ReLU()) * 0,
            lambda: nn.ModuleList([nn.ReLU()])[2],
            lambda: nn.ModuleList(3),
            lambda: nn.ModuleDict([(1, 2, 3)]),
            lambda: nn.ParameterList()(),
            lambda: nn.ParameterDict()["x"],
            lambda: nn.CircularPad2d(1)(one(2, 2)),
            lambda: nn.Softmax2d()(one(2)),
            lambda: nn.LazyConv2d(3, 2)(one(2, 2)),
            lambda: list(nn.ConvTranspose2d(1, 1, 2, stride=2)(one(1, 1, 3, 3), output_size=(7, 7)).shape),
            lambda: nn.ConvTranspose2d(1, 1, 2, stride=2)(one(1, 1, 3, 3), output_size=(9, 9)),
            lambda: nn.Bilinear(0, 2, 3),
        )
    ]


def case_state_dict(torch):
    nn = torch.nn

    class Extra(nn.Linear):
        def get_extra_state(self):
            return {"k": 1}

        def set_extra_state(self, state):
            self.got = state

    m, other = (nn.Sequential(Extra(2, 2), nn.BatchNorm1d(2)) for _ in range(2))
    sd = m.state_dict()
    r = [list(sd), dict(sd._metadata), str(other.load_state_dict(sd)), other[0].got]
    del sd["0._extra_state"]
    r.append(outcome(lambda: other.load_state_dict(sd)))
    old = {k: v for k, v in nn.BatchNorm1d(2).state_dict().items() if "num" not in k}  # as saved before version 2
    r.append(str(nn.BatchNorm1d(2).load_state_dict(old)))
    m.register_state_dict_pre_hook(lambda m, prefix, keep: r.append([prefix, keep]))
    m._register_state_dict_hook(lambda m, s, prefix, local: {"a": 1})
    r.append(m.state_dict())
    linear = nn.Linear(2, 2)
    linear.register_load_state_dict_pre_hook(lambda m, sd, *a: sd.update(weight=torch.zeros(2, 2)))
    linear.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
    r += [str(linear.load_state_dict({})), linear.weight, linear.state_dict(keep_vars=True)["weight"] is linear.weight]
    empty = nn.Linear(2, 2, device="meta")
    r += [
        str(empty.load_state_dict({"weight": torch.ones(2, 2), "bias": torch.ones(2)}, assign=True)),
        empty.weight,
        type(empty.weight).__name__,
    ]
    keys = {"module.a": 1, "module.b.c": 2, "x": 3}
    nn.modules.utils.consume_prefix_in_state_dict_if_present(keys, "module.")
    return r + [list(nn.Linear(2, 2).state_dict(prefix="q.")), keys]


def case_kinds_of_attributes(torch):
    nn = torch.nn
    m = nn.Module()
    m.a, m.b = nn.Buffer(torch.ones(2)), nn.Buffer(torch.ones(1), persistent=False)
    r = [list(m.state_dict()), [k for k, _ in m.named_buffers()], isinstance(m.a, nn.Buffer), type(m.a).__name__]
    m.a = torch.zeros(3)
    r.append(m.a)
    m.a = None
    r.append(list(m.state_dict()))
    m.a = nn.Parameter(torch.ones(1))
    r += [list(m._buffers), list(m._parameters)]
    m.q = nn.Linear(1, 1)
    m.q = None
    m.z = 5
    m.z = nn.ReLU()
    r += [list(m._modules), "z" in m.__dict__]
    del m.z
    return r + [hasattr(m, "z"), [k for k in dir(m) if k in ("a", "b", "q", "z")]]


def case_sequences_of_modules(torch):
    nn, r = torch.nn, []
    s = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.GELU())
    del s[0]
    s += nn.Sequential(nn.ELU())
    s = s * 2
    s *= 2
    r += [repr(s), len(s), repr(s.pop(1)), list(s._modules)]
    s[0] = nn.SELU()
    del s[1:4]
    r += [repr(s[-1]), repr(s), repr(s[1:]), repr(2 * nn.Sequential(nn.ReLU()))]
    layers = nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1), nn.ReLU()])
    r += [repr(layers), repr(layers[:2]), repr(layers + [nn.ReLU()])]
    layers.insert(1, nn.ELU())
    del layers[0:2]
    layers += list(layers)
    return r + [repr(layers), repr(layers.pop(0)), repr(nn.ModuleList())]


def case_dictionaries(torch):
    nn = torch.nn
    d = nn.ModuleDict([["a", nn.ReLU()]])
    d["b"] = nn.ELU()
    r = [list(d), len(d), "a" in d, repr(d.pop("a")), repr(d), repr(list(d.items())), repr(list(d.values()))]
    d.clear()
    p = nn.ParameterList([torch.ones(2, 3), nn.Parameter(torch.ones(1)), 5])
    p.append(torch.ones(2))
    r += [repr(d), repr(p), len(p), repr(p[1:3]), [k for k, _ in p.named_parameters()]]
    q = nn.ParameterDict({"b": torch.ones(1), "a": torch.ones(2), "n": 3})
    return r + [
        repr(q),
        list(q),
        q.pop("b"),
        q.popitem(),
        q.get("z", 3),
        repr(q | {"x": torch.ones(1)}),
        repr(q.copy()),
        list(reversed(q)),
        q.setdefault("k", torch.ones(1)),
        repr(nn.ParameterDict().fromkeys(["a", "b"], 1)),
    ]


def recurrent(torch, cls, **kw):
    """Outputs, gradients and packed runs of a recurrent layer in all its shapes."""
    nn, r = torch.nn, []
    x = torch.randn(5, 5, 3, requires_grad=True)
    for bidirectional, batch_first, layers in ((False, False, 1), (True, False, 2), (False, True, 2), (True, True, 1)):
        m = cls(
            3,
            4,
            layers,
            bidirectional=bidirectional,
            batch_first=batch_first,
            dropout=0.3 * (layers == 2),
            bias=layers == 1,
            **kw,
        )
        torch.manual_seed(1)
        output, state = m(x)
        (output * torch.linspace(0, 1, output.numel()).view_as(output)).sum().backward()
        m.eval()
        packed = nn.utils.rnn.pack_padded_sequence(
            x, torch.tensor([2, 5, 1, 3, 3]), batch_first=batch_first, enforce_sorted=False
        )
        o, h = m(packed)
        r += [
            output,
            state,
            [p.grad for p in m.parameters()],
            x.grad,
            m(x[0]),
            list(o),
            h,
            m(packed, h)[1],
            repr(m),
            copy.deepcopy(m)(x)[0],
            nn.utils.rnn.pad_packed_sequence(o, batch_first=batch_first, padding_value=-1.0, total_length=6),
        ]
    return r


def case_lstm(torch):
    return recurrent(torch, torch.nn.LSTM)


def case_lstm_with_projection(torch):
    return recurrent(torch, torch.nn.LSTM, proj_size=2)


def case_gru(torch):
    return recurrent(torch, torch.nn.GRU)


def case_rnn_relu(torch):
    return recurrent(torch, torch.nn.RNN, nonlinearity="relu")


def recurrent_gradients(torch, cls, states, **kw):
    """All gradients, of outputs and of last states, and the gradients of these, in float64; packed as well."""
    r, pack = [], torch.nn.utils.rnn.pack_padded_sequence
    for bidirectional, bias in ((False, True), (True, False)):
        m = cls(3, 4, bidirectional=bidirectional, bias=bias, **kw).double()
        width = kw.get("proj_size") or 4
        x = (torch.rand(5, 4, 3, dtype=torch.float64) - 0.5).requires_grad_()
        given = [
            (torch.rand(1 + bidirectional, 4, w, dtype=torch.float64) - 0.5).requires_grad_()
            for w in (width, 4)[:states]
        ]
        leaves = [x, *given, *m.parameters()]
        for lengths in (None, [3, 5, 1, 3]):
            packed = x if lengths is None else pack(x, torch.tensor(lengths), enforce_sorted=False)
            output, last = m(packed, tuple(given) if states == 2 else given[0])
            output, last = output if lengths is None else output.data, last if states == 2 else (last,)
            loss = (output * torch.linspace(-1, 2, output.numel(), dtype=torch.float64).view_as(output)).sum() + sum(
                t.square().sum() for t in last
            )
            grads = torch.autograd.grad(loss, leaves, create_graph=True)
            plain = torch.autograd.grad(loss, leaves, retain_graph=True)
            of_states = torch.autograd.grad(last[-1].sum(), given[-1], retain_graph=True)
            r += [
                output,
                last,
                grads,
                plain,
                of_states,
                torch.autograd.grad(sum(g.square().sum() for g in grads), leaves),
            ]
    return r


def case_lstm_gradients(torch):
    return recurrent_gradients(torch, torch.nn.LSTM, 2)


def case_lstm_gradients_with_projection(torch):
    return recurrent_gradients(torch, torch.nn.LSTM, 2, proj_size=2)


def case_gru_gradients(torch):
    return recurrent_gradients(torch, torch.nn.GRU, 1)


def case_rnn_gradients(torch):
    return [recurrent_gradients(torch, torch.nn.RNN, 1, nonlinearity=n) for n in ("tanh", "relu")]


def case_recurrent_layers_under_autocast(torch):
    nn, r = torch.nn, []
    # oneDNN's LSTM in bfloat16 is not there for every processor: tests/ops/test_nn.py
    for layer in (nn.GRU, nn.RNN, nn.LSTMCell, nn.GRUCell, nn.RNNCell):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found = layer(3, 4)(torch.randn(2, 3))
        found = found[0] if isinstance(found, tuple) else found
        r.append([str(found.dtype), list(found.shape)])
    return r


def case_recurrent_cells(torch):
    nn, r, x = torch.nn, [], torch.randn(2, 3)
    for cell in (nn.LSTMCell, nn.GRUCell, nn.RNNCell):
        m = cell(3, 4)
        r += [m(x), m(x[0]), m(x, m(x)), repr(m), repr(cell(3, 4, bias=False))]
        state = m(x, m(x))
        (state[0] * state[1] if isinstance(state, tuple) else state).square().sum().backward()
        r.append([p.grad for p in m.parameters()])
    return r


def case_sequences(torch):
    rnn, one = torch.nn.utils.rnn, torch.ones
    packed = rnn.pack_sequence([one(3, 2), one(2, 2)])
    return [
        rnn.unpack_sequence(rnn.pack_sequence([one(2, 2), one(3, 2)], enforce_sorted=False)),
        rnn.pad_sequence([one(1), one(3)], padding_side="left"),
        packed.to(torch.float64).data,
        packed.double().data,
        packed.cpu() is packed,
        packed.is_cuda,
        rnn.invert_permutation(torch.tensor([2, 0, 1])),
        outcome(lambda: rnn.pack_padded_sequence(one(3, 2, 1), [2, 3]))[0],
        outcome(lambda: rnn.pack_padded_sequence(one(3, 2, 1), [3, 0])),
        outcome(lambda: rnn.pad_sequence([])),
    ]


def transformer(torch, **kw):
    m, first = torch.nn.Transformer(8, 2, 2, 2, 16, **kw), kw.get("batch_first", False)
    src = torch.randn(3, 5, 8) if first else torch.randn(5, 3, 8)
    tgt = src[:, :4] if first else src[:4]
    pad = torch.tensor([[0, 0, 0, 0, 0], [0, 0, 0, 1, 1], [0, 1, 1, 1, 1]], dtype=torch.bool)
    torch.manual_seed(1)
    r = [
        m(
            src,
            tgt,
            tgt_mask=m.generate_square_subsequent_mask(4),
            src_key_padding_mask=pad,
            memory_key_padding_mask=pad,
        ),
        list(m.state_dict()),
        repr(m),
    ]
    m.eval()
    r.append(m(src, tgt))
    with torch.no_grad():
        layer = m.encoder.layers[0]
        return r + [
            m.encoder(src, src_key_padding_mask=pad),
            m.encoder(src),
            layer(src),
            layer.self_attn(src, src, src, average_attn_weights=False),
        ]


def case_transformer(torch):
    return transformer(torch)


def case_transformer_batch_first(torch):
    return transformer(torch, batch_first=True)


def case_batch_norm_of_large_inputs(torch):
    """Statistics of a mean far from 0, channels of one plane and of several pieces, with and without parameters."""
    r = []
    for shape in ((3, 5, 70, 71), (2, 3, 4096), (40, 33, 8, 8)):
        for affine in (True, False):
            x = (torch.randn(shape) * 2 + 3).requires_grad_()
            m = (
                torch.nn.BatchNorm1d(shape[1], affine=affine)
                if len(shape) == 3
                else torch.nn.BatchNorm2d(shape[1], affine=affine)
            )
            y = m(x)
            (y * torch.linspace(0, 1, y.numel()).reshape(shape)).mean().backward()
            r += [
                y.detach().reshape(-1)[::97].clone(),
                x.grad.reshape(-1)[::97].clone(),
                m.running_mean[:50].clone(),
                m.running_var[:50].clone(),
            ]
            r += [m.weight.grad[:50].clone(), m.bias.grad[:50].clone()] if affine else []
            r.append(m.eval()(x.detach()).reshape(-1)[::97].clone())
    return r


def case_convolution_gradients_of_all_strides_and_paddings(torch):
    """With stride 1 and small weights the input's gradient is a convolution."""
    r = []
    F = torch.nn.functional
    for stride, padding, dilation, groups in (
        (1, 1, 1, 1),
        (1, 0, 2, 1),
        (1, 3, 1, 1),
        (1, (2, 0), (1, 2), 1),
        (2, 1, 1, 1),
        (1, 1, 1, 2),
    ):
        x, w = (
            torch.randint(-3, 4, size).float().requires_grad_() for size in ((2, 4, 30, 29), (6, 4 // groups, 3, 3))
        )
        y = F.conv2d(x, w, None, stride, padding, dilation, groups)
        y.square().sum().backward()
        r += [y.detach(), x.grad, w.grad]
    whole = lambda *size: torch.randint(-3, 4, size).float()
    r.append(F.conv_transpose1d(whole(2, 6, 40), whole(6, 3, 5), whole(3), 1, 2))
    return r + [F.conv_transpose2d(whole(1, 3, 9, 9), whole(3, 2, 3, 3), None, 1, p) for p in (0, 1, 2)]


def case_transformer_norm_first(torch):
    return transformer(torch, batch_first=True, norm_first=True, activation="gelu", bias=False)


def case_attention_of_other_sizes(torch):
    m = torch.nn.MultiheadAttention(4, 2, kdim=3, vdim=5, add_bias_kv=True, add_zero_attn=True, batch_first=True)
    return [m(torch.ones(2, 3, 4), torch.ones(2, 6, 3), torch.ones(2, 6, 5)), list(m.state_dict())]


def case_parameters_and_lazy_modules(torch):
    nn = torch.nn
    p = nn.Parameter(torch.arange(2.0))
    lazy = nn.LazyLinear(3)
    r = [
        repr(p),
        type(copy.deepcopy(p)).__name__,
        copy.deepcopy(p),
        repr(pickle.loads(pickle.dumps(nn.Linear(2, 2)))),
        repr(lazy),
        repr(lazy.weight),
    ]
    other = copy.deepcopy(lazy)
    lazy(torch.ones(2, 5))
    r += [repr(lazy), type(lazy).__name__, list(other.state_dict())]
    other.load_state_dict(lazy.state_dict())
    norm = nn.LazyBatchNorm1d()
    norm(torch.ones(2, 3))
    return r + [other.weight.shape, other(torch.ones(1, 5)), repr(other), repr(norm), type(norm).__name__]


def case_parametrizations(torch):
    nn = torch.nn
    parametrize = nn.utils.parametrize

    class Symmetric(nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).T

        def right_inverse(self, x):
            return x.triu()

    class Row(nn.Module):
        def forward(self, x):
            return x[0]

    m = nn.Linear(3, 3)
    parametrize.register_parametrization(m, "weight", Symmetric())
    r = [
        m.weight,
        list(m.state_dict()),
        repr(m),
        type(m).__name__,
        parametrize.is_parametrized(m),
        parametrize.is_parametrized(m, "bias"),
    ]
    m.weight = torch.arange(9.0).view(3, 3)
    r += [
        m.weight,
        copy.deepcopy(m).weight,
        outcome(lambda: pickle.dumps(m))[0],
        outcome(lambda: parametrize.register_parametrization(m, "weight", Row()))[0],
        outcome(lambda: parametrize.register_parametrization(m, "z", Symmetric()))[0],
    ]
    with parametrize.cached():
        r.append(m.weight is m.weight)
    parametrize.remove_parametrizations(m, "weight")
    return r + [m.weight, repr(m), list(m.state_dict())]


def case_orthogonal(torch):
    r = []
    for how in ("matrix_exp", "cayley", "householder"):
        for trivial in (True, False):
            m = torch.nn.utils.parametrizations.orthogonal(
                torch.nn.Linear(4, 3), orthogonal_map=how, use_trivialization=trivial
            )
            r += [m.weight @ m.weight.T, list(m.state_dict())]
    return r


def case_state_dicts_of_spectral_norm_of_every_version(torch):
    nn = torch.nn
    m = nn.utils.spectral_norm(nn.Linear(3, 5))
    for _ in range(3):
        m(torch.randn(2, 3))
    m.eval()
    state, x = m.state_dict(), torch.randn(2, 3)
    found = [state._metadata, list(state)]

    def loaded(drop, weight, noted, strict=True):
        d = copy.deepcopy(state)
        for suffix in drop:
            del d["weight" + suffix]
        if weight:
            d["weight"] = m.weight.detach().clone()
        if not noted:
            del d._metadata[""]["spectral_norm"]
        fresh = nn.utils.spectral_norm(nn.Linear(3, 5)).eval()
        told = fresh.load_state_dict(d, strict=strict)
        return sorted(told.missing_keys), sorted(told.unexpected_keys), torch.allclose(fresh(x), m(x), atol=1e-5)

    for drop in ((), ("_v",), ("_u", "_v"), ("_orig",)):
        for weight in (False, True):
            for noted in (False, True):
                found.append(outcome(lambda: loaded(drop, weight, noted)))
                found.append(outcome(lambda: loaded(drop, weight, noted, strict=False)[:2]))
    return found


def case_weight_and_spectral_norm(torch):
    nn, utils = torch.nn, torch.nn.utils
    a = utils.parametrizations.weight_norm(nn.Conv1d(2, 3, 2), dim=1)
    r = [list(a.state_dict()), a.weight, a.parametrizations.weight.original0]
    a.load_state_dict({"bias": a.bias, "weight_g": torch.ones(1, 2, 1), "weight_v": torch.ones(3, 2, 2)})
    s = utils.parametrizations.spectral_norm(nn.Linear(4, 3))
    r += [a.weight, s.weight, list(s.state_dict())]
    s = utils.spectral_norm(nn.Linear(4, 3))
    r += [list(s.state_dict()), s(torch.ones(4)), s.weight]
    utils.remove_spectral_norm(s)
    w = utils.weight_norm(nn.Linear(4, 3))
    r += [list(s.state_dict()), s.weight, list(w.state_dict()), w(torch.ones(4))]
    utils.remove_weight_norm(w)
    return r + [
        list(w.state_dict()),
        w.weight,
        outcome(lambda: utils.remove_weight_norm(w)),
        outcome(lambda: utils.remove_spectral_norm(s)),
    ]


def case_clipping_and_vectors(torch):
    utils = torch.nn.utils
    ps = [torch.nn.Parameter(torch.randn(3)), torch.nn.Parameter(torch.randn(2, 2))]
    for p in ps:
        p.grad = torch.randn_like(p) * 5
    r = [
        utils.get_total_norm([p.grad for p in ps], 1),
        utils.clip_grad_norm_(iter(ps), 1.0),
        [p.grad.clone() for p in ps],
        utils.clip_grad_norm_(ps, 1.0, norm_type=float("inf")),
        utils.clip_grad_norm_([], 1.0),
    ]
    utils.clip_grad_value_(ps, 0.01)
    vector = utils.parameters_to_vector(ps)
    utils.vector_to_parameters(vector * 2, ps)
    r += [[p.grad for p in ps], vector, ps]
    ps[0].grad = torch.tensor([float("nan"), 1, 1])
    return r + [
        outcome(lambda: utils.clip_grad_norm_(ps, 1.0, error_if_nonfinite=True))[0],
        utils.skip_init(torch.nn.Linear, 2, 2).weight.shape,
    ]


def case_fusion(torch):
    nn, utils = torch.nn, torch.nn.utils
    conv, norm, linear, norm1 = (
        nn.Conv2d(2, 3, 2).eval(),
        nn.BatchNorm2d(3).eval(),
        nn.Linear(2, 3).eval(),
        nn.BatchNorm1d(3).eval(),
    )
    norm.running_mean.uniform_()
    norm.running_var.uniform_(0.5, 1)
    fused = utils.fuse_conv_bn_eval(conv, norm)
    return [fused.weight, fused.bias, fused(torch.ones(1, 2, 4, 4)), utils.fuse_linear_bn_eval(linear, norm1).weight]


def case_functional_call(torch):
    nn, call = torch.nn, torch.nn.utils.stateless._functional_call
    m, a = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)), nn.Linear(2, 2)
    tied, one = nn.Sequential(a, a), torch.ones(2, 2)
    return [
        call(m, {"0.weight": one, "0.bias": torch.zeros(2)}, torch.randn(3, 2)),
        [type(p).__name__ for p in m.parameters()],
        outcome(lambda: call(m, {"z": torch.ones(1)}, one, strict=True)),
        call(tied, {"0.weight": one}, torch.ones(1, 2)),
        outcome(lambda: call(tied, {"0.weight": one, "1.weight": torch.ones(2, 2)}, torch.ones(1, 2))),
    ]


def case_initial_values(torch):
    init, r = torch.nn.init, []
    for name, shape, kw in (
        ("uniform_", (3, 4), {"a": -1}),
        ("normal_", (3,), {}),
        ("trunc_normal_", (50,), {}),
        ("trunc_normal_", (50,), {"std": 0.02}),
        ("trunc_normal_", (40,), {"a": 2, "b": 5, "mean": 1.0}),
        ("trunc_normal_", (40,), {"a": -0.1, "b": 0.1}),
        ("constant_", (2,), {"val": 3}),
        ("ones_", (2,), {}),
        ("eye_", (2, 3), {}),
        ("dirac_", (4, 2, 3, 3), {"groups": 2}),
        ("xavier_uniform_", (3, 4, 2), {"gain": 2}),
        ("xavier_normal_", (3, 4), {}),
        ("kaiming_uniform_", (3, 4), {"mode": "fan_out", "nonlinearity": "relu"}),
        ("kaiming_normal_", (3, 4), {"a": 0.1}),
        ("orthogonal_", (3, 4), {"gain": 2}),
        ("orthogonal_", (5, 2, 2), {}),
        ("sparse_", (5, 3), {"sparsity": 0.4}),
        ("kaiming_uniform_", (0, 4), {}),
    ):
        torch.manual_seed(0)
        r.append(getattr(init, name)(torch.empty(*shape), **kw))
    gains = ("relu", "tanh", "linear", "conv2d", "selu", "sigmoid", "conv_transpose3d")
    return (
        r
        + [init.calculate_gain(n) for n in gains]
        + [init.calculate_gain("leaky_relu", 0.2)]
        + [
            outcome(f)
            for f in (
                lambda: init.calculate_gain("x"),
                lambda: init.calculate_gain("leaky_relu", True),
                lambda: init.xavier_uniform_(torch.ones(2)),
                lambda: init.kaiming_normal_(torch.ones(2, 2), mode="x"),
                lambda: init.eye_(torch.ones(2)),
                lambda: init.orthogonal_(torch.ones(2)),
            )
        ]
    )


def case_adaptive_softmax(torch):
    m = torch.nn.AdaptiveLogSoftmaxWithLoss(6, 10, [3, 6], div_value=2.0)
    x, t = torch.randn(7, 6), torch.tensor([0, 2, 3, 5, 6, 9, 1])
    return [m(x, t), m.log_prob(x), m.predict(x), repr(m), m(x[0], t[0])]


def case_cross_map_lrn(torch):
    r = []
    for size in (2, 3, 4, 5):
        x = torch.randn(2, 7, 3, 3, requires_grad=True)
        y = torch.nn.CrossMapLRN2d(size, alpha=0.5, k=2)(x)
        (y * y).sum().backward()
        r += [y, x.grad]
    return r


def case_bags_of_nothing_and_of_what_is_not_there(torch):
    bag, w = torch.nn.functional.embedding_bag, torch.arange(20.0).view(10, 2)
    found = [
        outcome(lambda: bag(torch.tensor([i]), w.to(d), mode=m))
        for i in ([-1, 1], [11, 8])
        for d in (torch.float32, torch.float64)
        for m in ("sum", "max")
    ]
    found += [
        outcome(lambda: bag(torch.tensor([[11, 8]]), w, padding_idx=0)),
        outcome(lambda: bag(torch.tensor([1]), w[0], torch.tensor([0]))),
    ]
    found.append(
        outcome(
            lambda: bag(torch.tensor([[1, 8]]), w, mode="sum", per_sample_weights=torch.ones(1, 2, dtype=torch.float64))
        )
    )
    nothing = torch.tensor([], dtype=torch.int64)
    for mode in ("sum", "mean", "max"):
        for at, offsets in ((nothing, torch.tensor([0, 0])), (nothing, nothing), (nothing.view(0, 3), None)):
            leaf = torch.ones(4, 3, requires_grad=True)
            out = bag(at, leaf, offsets, mode=mode)
            out.sum().backward()
            found += [out, leaf.grad]
    e = torch.nn.Embedding(0, 0, sparse=True)
    e(nothing).sum().backward()
    return [*found, e.weight.grad.is_sparse, e.weight.grad.shape]


def case_tangents_of_a_renormed_embedding(torch):
    from torch.autograd import forward_ad

    with forward_ad.dual_level():
        w = forward_ad.make_dual(torch.arange(16.0).view(4, 4), torch.ones(4, 4))
        out = torch.nn.functional.embedding(torch.tensor([[0, 1], [2, 2]]), w, max_norm=1.0)
        return list(forward_ad.unpack_dual(out))


def case_regular_backward_hooks_that_miss_gradients(torch):
    import warnings

    class Runs(torch.nn.Module):
        def __init__(self, f):
            super().__init__()
            self.forward = f

    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    programs = {
        "does not take as input a single Tensor or a tuple": (lambda m: (m[0].clone(), m[1].clone()), [a, b]),
        "does not return a single Tensor or a tuple": (lambda x, y: [x.clone(), y.clone()], a, b),
        "outputs are generated by different autograd Nodes": (lambda x, y: (x.clone(), y.clone()), a, b),
        "the forward contains multiple autograd Nodes": (lambda x: x.clone().clone(), a.exp()),
        "deprecated": (lambda x: x.clone(), a.exp()),
        "": (lambda x: x.clone(), torch.ones(2)),
    }
    found = []
    for text, (f, *args) in programs.items():
        m = Runs(f)
        m.register_backward_hook(lambda *given: None)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            m(*args)
        found.append([[w.category.__name__, text in str(w.message)] for w in caught])
    return found


def case_tensors_are_swapped_when_modules_load(torch):
    class Loads(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func.__name__ == "module_load":
                return torch.full((2, 2), 7.0)
            return super().__torch_function__(func, types, args, kwargs or {})

    before = torch.__future__.get_swap_module_params_on_conversion()
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        found = []
        for assign, weight in (
            (False, torch.ones(2, 2)),
            (True, torch.ones(2, 2).double()),
            (False, torch.ones(2, 2).as_subclass(Loads)),
        ):
            m = torch.nn.Linear(2, 2, bias=False)
            was = m.weight
            m.load_state_dict({"weight": weight}, assign=assign)
            found += [m.weight is was, type(m.weight).__name__, m.weight, m.weight.is_leaf]
    finally:
        torch.__future__.set_swap_module_params_on_conversion(before)
    x = torch.zeros(2)
    out = x.module_load(torch.ones(2, dtype=torch.float64))
    return [*found, out, x, out is x, outcome(lambda: torch.zeros(2, requires_grad=True).module_load(x))]


def case_pools_of_nothing_and_of_planes_of_one_pixel(torch):
    nn, F = torch.nn, torch.nn.functional
    found = [
        nn.AdaptiveAvgPool1d(5)(torch.ones(0, 10)),
        nn.AdaptiveAvgPool2d(5)(torch.ones(2, 0, 10, 10)),
        nn.AdaptiveAvgPool3d(5)(torch.ones(0, 4, 4, 4)),
    ]
    for shape, dims in (((1, 0, 9, 9), 2), ((0, 3, 9, 9), 2), ((1, 0, 9, 9, 9), 3), ((2, 3, 0, 9, 9), 3)):
        pool = (nn.FractionalMaxPool2d, nn.FractionalMaxPool3d)[dims - 2]
        found.append(outcome(lambda: pool(3, output_ratio=0.5)(torch.ones(shape)).shape))  # noqa: B023
    for samples in (
        torch.rand(0, 3, 2),
        torch.rand(2, 2, 2),
        torch.rand(2, 3, 3),
        torch.rand(3, 2),
        torch.rand(2, 3, 2).double(),
    ):
        found.append(
            outcome(lambda: F.fractional_max_pool2d(torch.ones(2, 3, 9, 9), 3, 1, _random_samples=samples).shape)
        )  # noqa: B023
    x = torch.arange(120.0).view(2, 3, 4, 5).contiguous(memory_format=torch.channels_last).requires_grad_()
    out = F.adaptive_avg_pool2d(x, 1)
    (out * torch.arange(6.0).view(2, 3, 1, 1)).sum().backward()
    volume = torch.arange(2.0 * 3 * 6 * 6 * 6).view(2, 3, 6, 6, 6).contiguous(memory_format=torch.channels_last_3d)
    found += [
        out,
        x.grad,
        F.adaptive_max_pool3d(volume, 2),
        F.max_pool3d(volume, 2),
        *F.max_pool3d(volume[0], 2, return_indices=True),
    ]
    one = torch.tensor([[1.0]])
    return found + [
        F.max_pool1d(one, 2, padding=1, dilation=2, ceil_mode=c, return_indices=True) for c in (False, True)
    ]


def case_bags_of_half_types_round_once(torch):
    w, at = torch.linspace(-3, 7, 4000).view(40, 100).to(torch.bfloat16), torch.arange(90) % 40
    return [torch.nn.functional.embedding_bag(at, w, torch.tensor([0, 60]), mode=m) for m in ("sum", "mean", "max")]


def case_empty_bags(torch):
    F, r, none = torch.nn.functional, [], torch.tensor([], dtype=torch.int64)
    for mode in ("sum", "mean", "max"):
        bag = torch.nn.EmbeddingBag(4, 3, mode=mode)
        y = bag(none, torch.tensor([0, 0]))
        y.sum().backward()
        r += [y.requires_grad, y, bag.weight.grad]
    for shape in ((0, 0), (0, 2), (3, 0)):
        layer = torch.nn.Embedding(*shape, sparse=True)
        layer(none).sum().backward()
        r.append((layer.weight.grad._indices().shape, layer.weight.grad._values().shape))
    double = torch.ones(2, dtype=torch.float64)
    return [
        *r,
        outcome(
            lambda: F.embedding_bag(
                torch.tensor([1, 2]), torch.ones(4, 3), torch.tensor([0]), mode="sum", per_sample_weights=double
            )
        ),
    ]


def case_functional_call_with_names_of_its_own(torch):
    """Tensors that a module does not have, None in the place of one, and what is refused; the module is as before."""
    found, x, w = [], torch.ones(1, 1), torch.tensor([[5.0]])

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.l1, self.foo, self.none = torch.nn.Linear(1, 1), 0.0, None
            self.register_buffer("buffer", torch.ones(1))

        def forward(self, x):
            return self.l1(x) + self.buffer + (self.extra if hasattr(self, "extra") else 0), len(
                list(self.parameters())
            )

    net = Net()
    with torch.no_grad():
        net.l1.weight.fill_(2), net.l1.bias.fill_(3)
    given = [
        {"l1.weight": w, "l1.bias": None},
        {"l1.weight": "a"},
        {"l1.weight": w, "foo": w},
        {"l1.weight": w, "l2.bias": w},
        {"l1.foo.bias": w},
    ]
    given += [{"foo.bias": w}, {"extra": w}, {"extra": torch.nn.Parameter(w)}, {"none": w}, {"l1": w}, {"": w}]
    for tensors in given:
        try:
            found.append(torch.func.functional_call(net, tensors, x))
        except Exception as e:
            found.append([type(e).__name__, str(e)])
        found.append(
            [sorted(dict(net.named_parameters())), hasattr(net, "extra"), net.l1.weight.item(), net.foo, net.none]
        )
    for made in (torch.jit.script(torch.nn.Linear(1, 1)), torch.jit.trace(torch.nn.Linear(1, 1), x)):
        try:
            torch.func.functional_call(made, {}, x)
        except RuntimeError as e:
            found.append(str(e))
    return found


def case_numbers_between_values_of_half_types(torch):
    """What is compared with a number of Python's is not rounded for it: 0.1 is no bfloat16."""
    found, F = [], torch.nn.functional
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        x = torch.tensor([0.1, 0.3, -0.3, 0.5, -0.1], dtype=dtype)
        for f in (
            lambda t: F.threshold(t, 0.1, 20.0),
            lambda t: F.hardshrink(t, 0.3),
            lambda t: F.softshrink(t, 0.3),
            lambda t: F.hardtanh(t, -0.3, 0.1),
        ):
            leaf = x.clone().requires_grad_()
            y = f(leaf)
            y.backward(torch.ones_like(y))
            found += [y, leaf.grad]
    return found


def case_weights_and_types_that_do_not_fit(torch):
    nn, F, x = torch.nn, torch.nn.functional, torch.ones
    logits, plain = F.binary_cross_entropy_with_logits, F.binary_cross_entropy
    calls = [
        lambda: logits(x(2), x(2), pos_weight=x(3)),
        lambda: logits(x(2), x(2), weight=x(3)),
        lambda: logits(x(4, 2), x(4, 2), x(4, 1), pos_weight=x(2)),
    ]
    calls += [
        lambda r=r, k=k: logits(x(2), x(2), reduction=r, **{k: x(4, 2)})
        for r in ("none", "mean")
        for k in ("weight", "pos_weight")
    ]
    calls += [
        lambda: plain(x(2) / 2, x(2), x(4, 2)),
        lambda: nn.Conv2d(1, 1, 1)(x(1, 1, 2, 2).double()),
        lambda: nn.Conv1d(1, 1, 1)(x(1, 1, 2).long()),
    ]
    calls += [
        lambda: nn.Conv1d(1, 1, 1, bias=False)(x(1, 1, 2).double()),
        lambda: nn.Conv1d(1, 1, 1)(x(1, 1, 2).half()),
    ]
    shapes = [(2,), (1, 0, 2, 2), (1, 0, 2, 2, 2)]
    pools = [
        nn.AdaptiveAvgPool1d,
        nn.AdaptiveAvgPool2d,
        nn.AdaptiveAvgPool3d,
        nn.AdaptiveMaxPool1d,
        nn.AdaptiveMaxPool2d,
        nn.AdaptiveMaxPool3d,
    ]
    calls += [lambda p=p, s=s: p(2)(x(s)) for p in pools for s in shapes] + [
        lambda: nn.AdaptiveAvgPool1d(None)(x(1, 1, 4))
    ]
    return [outcome(f) for f in calls]


def case_hooks_that_are_not_saved(torch):
    import io
    import warnings

    x = torch.ones(1, requires_grad=True)
    x.register_hook(len)
    y = torch.ones(1, requires_grad=True)
    y.register_hook(torch.utils.hooks.unserializable_hook(lambda g: g))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for t in (x, y):
            torch.save(t, io.BytesIO())
    module = torch.nn.Linear(1, 1)
    refused = [
        outcome(lambda f=f: f())
        for f in (module.ipu, module.xpu, module.get_extra_state, lambda: torch.nn.ParameterDict()[5])
    ]
    return [str(w.message) for w in seen], [r[0] for r in refused]


def case_what_reparametrizations_take(torch):
    nn, U = torch.nn, torch.nn.utils
    import torch.nn.utils.prune as prune

    m, parallel = nn.Linear(2, 2), nn.DataParallel(nn.Linear(1, 1))
    calls = [
        lambda: sorted(U.spectral_norm(nn.Linear(1, 1), name="bias").state_dict()),
        lambda: nn.Parameter(torch.ones(1), 1),
        lambda: nn.Parameter(None, None),
    ]
    calls += [
        lambda: prune.custom_from_mask(m, "weight", torch.ones(3)),
        lambda: prune.l1_unstructured(m, "bias", 1, importance_scores=torch.ones(3)),
    ]
    calls += [lambda: parallel.gather([torch.ones(1)], "cpu"), lambda: parallel.scatter((torch.ones(1),), {}, [])]
    return [outcome(f) for f in calls]


def case_losses_and_windows_of_nothing(torch):
    nn, x = torch.nn, torch.zeros
    ctc, none, one = nn.CTCLoss(), torch.tensor([], dtype=torch.int64), torch.tensor([1])
    calls = [lambda: ctc(x(2, 0, 2), x(0, 1).long(), none, none), lambda: ctc(x(0, 1, 2), x(1, 1).long(), one - 1, one)]
    calls += [lambda s=s: nn.Conv2d(1, 2, 1)(x(s)) for s in ((1, 1, 0, 2), (0, 1, 2, 2))]
    calls += [lambda root=root: torch.fx.symbolic_trace(root) for root in (5, len, nn.ReLU, ctc.eval().forward)]
    return [outcome(f) for f in calls]


def case_cumulative_statistics(torch):
    found = {}
    for name, make in {
        "BatchNorm1d": lambda: torch.nn.BatchNorm1d(3, momentum=None),
        "InstanceNorm1d": lambda: torch.nn.InstanceNorm1d(3, momentum=0.3, track_running_stats=True),
        "BatchNorm1d, momentum": lambda: torch.nn.BatchNorm1d(3, momentum=0.7),
    }.items():
        torch.manual_seed(0)
        m = make()
        for step in range(4):
            m(torch.randn(5, 3, 4) * (step + 1) + step)
            found[f"{name} {step}"] = m.running_mean.clone(), m.running_var.clone(), m.num_batches_tracked.clone()
        found[name] = m.eval()(torch.ones(2, 3, 4))
    return found


def case_clipping(torch):
    found = {}
    for gradient in (0.0, 0.5, float("inf"), float("nan")):
        for most in (0.0, 1.0, float("inf")):
            for kind in (1, 2.0, float("inf")):
                p, q = torch.zeros(3, requires_grad=True), torch.zeros(2, 2, requires_grad=True)
                p.grad, q.grad = torch.full((3,), gradient), torch.full((2, 2), -2 * gradient)
                norm = torch.nn.utils.clip_grad_norm_([p, q], most, kind)
                found[f"{gradient} {most} {kind}"] = norm, p.grad, q.grad
    return found


def case_order_of_hooks(torch):
    """Every kind of hook, of one module and of all, in front and behind, that returns something or nothing."""
    M, found = torch.nn.modules.module, {}
    kinds = {
        "pre": lambda m, f, **o: m.register_forward_pre_hook(f, **o),
        "forward": lambda m, f, **o: m.register_forward_hook(f, **o),
        "backward": lambda m, f, **o: m.register_full_backward_hook(f, **o),
        "backward pre": lambda m, f, **o: m.register_full_backward_pre_hook(f, **o),
    }
    everywhere = {
        "pre": M.register_module_forward_pre_hook,
        "forward": M.register_module_forward_hook,
        "backward": M.register_module_full_backward_hook,
        "backward pre": M.register_module_full_backward_pre_hook,
    }
    for prepends in ((), (1,), (0, 2), (2, 1), (0, 1, 2)):
        for changes in (False, True):
            module, events, handles = torch.nn.Linear(2, 2), [], []
            torch.nn.init.ones_(module.weight), torch.nn.init.zeros_(module.bias)

            def hook(name, kind, changes=changes, events=events):
                def run(m, *given):
                    events.append([name, [str(g)[:60] for g in given]])
                    if not changes:
                        return None
                    last = given[-1]
                    if kind == "backward":
                        last = given[0]
                    return tuple(t * 2 for t in last) if isinstance(last, tuple) else last * 2

                return run

            for kind, register in kinds.items():
                handles.append(everywhere[kind](hook(f"every {kind}", kind)))
                for i in range(3):
                    handles.append(register(module, hook(f"{kind} {i}", kind), prepend=i in prepends))
            x = torch.ones(1, 2, requires_grad=True)
            for removed in (None, 2, 5):
                if removed is not None:
                    handles[removed].remove()
                try:
                    out = module(x)
                    out.sum().backward()
                finally:
                    pass
                events.append([str(out.detach()), str(x.grad)])
            for h in handles:
                h.remove()
            found[f"{prepends} {changes}"] = [
                events,
                [
                    len(getattr(module, n))
                    for n in ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
                ],
            ]
    return found


def case_hooks_with_keywords_and_after_errors(torch):
    """with_kwargs, always_call and prepend in every combination, where forward succeeds and where it raises."""

    class Plus(torch.nn.Module):
        def forward(self, x, *, by=1.0, fail=False):
            if fail:
                raise ValueError("as asked")
            return x + by

    found, everywhere = {}, torch.nn.modules.module.register_module_forward_hook
    for keywords in (False, True):
        for always in (False, True):
            for prepend in (False, True):
                for fail in (False, True):
                    module, events = Plus(), []

                    def hook(name, result=None, events=events):
                        def run(m, *given):
                            events.append([name, [repr(g) for g in given]])
                            return result

                        return run

                    module.register_forward_hook(hook("first"))
                    module.register_forward_hook(
                        hook("second", torch.ones(1) * 7), with_kwargs=keywords, always_call=always, prepend=prepend
                    )
                    module.register_forward_pre_hook(
                        hook("before", ((torch.ones(1),), {"by": 3.0, "fail": fail}) if keywords else None),
                        with_kwargs=keywords,
                        prepend=prepend,
                    )
                    of_all = everywhere(hook("of all"), with_kwargs=keywords, always_call=always)
                    try:
                        events.append(repr(module(torch.zeros(1), by=2.0, fail=fail)))
                    except ValueError as e:
                        events.append(str(e))
                    of_all.remove()
                    found[f"{keywords} {always} {prepend} {fail}"] = events
    return found


def case_hooks_of_states(torch):
    """Hooks of saving and loading a state_dict: which run, in what order, with what, and what they change."""
    found = {}
    for changes in (False, True):
        m, events = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.BatchNorm1d(1)), []
        for i, part in enumerate((m, m[0])):
            part.register_state_dict_pre_hook(
                lambda mod, prefix, keep, i=i: events.append(["save before", i, prefix, keep])
            )
            part.register_state_dict_post_hook(
                lambda mod, state, prefix, meta, i=i: (
                    events.append(["save after", i, prefix, sorted(state)]),
                    changes and state.pop("0.bias", None),
                    None,
                )[2]
            )
            part.register_load_state_dict_pre_hook(
                lambda mod, state, prefix, meta, strict, missing, unexpected, errors, i=i: (
                    events.append(["load before", i, prefix, strict, sorted(state)]),
                    changes and state.setdefault("0.bias", torch.ones(1)),
                    None,
                )[2]
            )
            part.register_load_state_dict_post_hook(
                lambda mod, keys, i=i: (
                    events.append(["load after", i, repr(keys)]),
                    changes and keys.unexpected_keys.clear(),
                    None,
                )[2]
            )
        state = m.state_dict()
        result = m.load_state_dict({**state, "2.other": torch.ones(1)}, strict=False)
        found[changes] = [events, sorted(state), repr(result), m.state_dict()]
    return {str(k): v for k, v in found.items()}


def case_convolutions_over_long_inputs(torch):
    """Results and all gradients over strides, dilations, paddings and groups, where rows are long beside the kernel."""
    F, found = torch.nn.functional, {}
    for dtype in (torch.float64, torch.float32):
        for dims, sizes in ((1, (40,)), (2, (23, 30)), (3, (12, 13, 14))):
            for stride, dilation, padding, groups, transposed in (
                (1, 1, 0, 1, False),
                (1, 2, 0, 1, False),
                (1, 3, 2, 1, False),
                (1, 2, 1, 2, False),
                (2, 2, 1, 1, False),
                (2, 1, 3, 2, False),
                (1, 1, 0, 1, True),
                (1, 2, 1, 1, True),
                (1, 1, 4, 1, True),
                (1, 2, 5, 2, True),
                (2, 1, 1, 1, True),
                (2, 2, 3, 2, True),
            ):
                kernel = (3, 2, 3)[:dims]
                shape = (
                    (4, 2 // groups * 1 if not transposed else 2, *kernel)
                    if not transposed
                    else (2, 4 // groups, *kernel)
                )
                generator = torch.Generator().manual_seed(1)
                x = torch.rand(2, 2, *sizes, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()
                w = torch.rand(*shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()
                b = torch.rand(4, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()
                f = getattr(F, f"conv{'_transpose' * transposed}{dims}d")
                out = f(x, w, b, stride=stride, padding=padding, dilation=dilation, groups=groups)
                g = torch.rand(out.shape, generator=generator, dtype=torch.float64).to(dtype)
                grads = torch.autograd.grad(out, (x, w, b), g)
                found[f"{dtype} {dims} {stride} {dilation} {padding} {groups} {transposed}"] = [
                    tuple(out.shape),
                    out.mean(),
                    grads[0].std(),
                    *grads[1:],
                ]
    return found


def case_modules_and_sequences_in_less_usual_forms(torch):
    """What faults that were planted by chance showed to be compared nowhere."""
    nn, x = torch.nn, torch.arange(48.0).reshape(2, 3, 8).sin()
    norms = {}
    for tracked in (False, True):
        norm = nn.InstanceNorm1d(3, track_running_stats=tracked)
        norms[f"training, {tracked}"] = norm(x)
        norms[f"evaluation, {tracked}"] = norm.eval()(x)
    up = [nn.Upsample(scale_factor=1.7, mode="linear", recompute_scale_factor=again)(x) for again in (None, True)]
    kept = nn.ParameterDict({"a": nn.Parameter(torch.ones(2))})
    found = [kept.setdefault("a", nn.Parameter(torch.zeros(2))), kept.setdefault("b", nn.Parameter(torch.zeros(1)))]
    parts = [torch.ones(2), torch.ones(4) * 2, torch.ones(1) * 3]
    masked = torch.masked.sum(x, 1, mask=torch.tensor([[[True, False] * 4]]))
    return {
        "norms": norms,
        "upsampled": up,
        "setdefault": [p.tolist() for p in found] + sorted(kept),
        "padded": [nn.utils.rnn.pad_sequence(parts, padding_side=side) for side in ("right", "left")],
        "masked": masked,
    }


def case_recurrent_weights_in_one_list(torch):
    """A program may give the list, or write into it; it holds until a weight becomes another tensor."""
    torch.manual_seed(0)
    layer, x, sums = torch.nn.LSTM(3, 4, 2), torch.ones(2, 1, 3), []

    def run():
        sums.append(layer(x)[0].sum().detach())

    for weight in layer.parameters():
        torch.nn.init.constant_(weight, 0.5)
    layer._flat_weights = [w.detach() * 2 for w in layer._flat_weights]
    run()
    sums.append(copy.deepcopy(layer)(x)[0].sum().detach())
    layer.weight_ih_l0 = torch.nn.Parameter(torch.ones(16, 3))
    run()
    layer._flat_weights[0] = torch.zeros(16, 3)
    run()
    layer.double().float()
    run()
    zeros = {name: torch.zeros_like(w) for name, w in layer.named_parameters()}
    sums.append(torch.func.functional_call(layer, zeros, (x,))[0].sum().detach())
    return sums, layer._flat_weights_names, sorted(name for name in layer.__getstate__() if "flat" in name)

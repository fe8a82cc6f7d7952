"""What people's programs found, kind by kind: each case covers a kind, not the program that met it."""

import itertools
import math

NAN, INF = math.nan, math.inf
# functions of x, each elementwise or over pairs of x and z, its zeros
AT_EDGES = """
F.elu(x); F.elu(x, 0.3); F.celu(x, 0.7); F.selu(x); F.hardswish(x); F.hardsigmoid(x); F.hardtanh(x); F.relu6(x)
F.leaky_relu(x); F.prelu(x, x.new_tensor([0.2])); F.hardshrink(x); F.softshrink(x); F.threshold(x, 0.1, 2.0)
F.softplus(x); F.logsigmoid(x); F.softsign(x); F.tanhshrink(x); F.gelu(x); F.silu(x); F.mish(x); F.relu(x)
F.gelu(x, approximate="tanh"); x.clamp(-1, 1); x.clamp(min=0); torch.clamp(x, z, z + 1); torch.maximum(x, z)
torch.minimum(x, z); torch.fmax(x, z); torch.fmin(x, z); torch.fmax(z, x); torch.where(x > 0, x, x * 2)
torch.nan_to_num(x); x.abs(); x.sgn(); x.sign(); x**0; x**1; x**2; x**0.5; x**-1; torch.xlogy(x, z + 1)
torch.xlogy(z, x); torch.special.xlog1py(z, x); x.logit(); x.logit(0.1); torch.special.entr(x); x.frac(); x.trunc()
torch.copysign(x, z + 1); torch.atan2(x, z); torch.hypot(x, z); x.fmod(2); x.remainder(2); torch.sinc(x)
two.norm(dim=0); two.norm(1, 0); two.norm(3, 0); two.norm(INF, 0); two.norm(0, 0); two.amax(0); two.amin(0)
two.max(0)[0]; two.median(0)[0]; two.nanmedian(0)[0]; two.prod(0); two.cumprod(0)[1]; two.nansum(0); two.sort(0)[0]
two.logsumexp(0); two.logcumsumexp(0)[1]; two.softmax(0)[0]; two.log_softmax(0)[0]; two.cummax(0)[0][1]; two.std(0)
two.quantile(0.5, 0); two.nanquantile(0.5, 0); two.kthvalue(1, 0)[0]; two.topk(1, 0)[0]; two.t().renorm(2, 0, 1.0)
torch.logaddexp(x, z); torch.logaddexp2(x, z); F.binary_cross_entropy_with_logits(x, z); F.l1_loss(x, z)
F.smooth_l1_loss(x, z); F.huber_loss(x, z); F.mse_loss(x, z); F.soft_margin_loss(x, z + 1); F.poisson_nll_loss(x, z)
F.hinge_embedding_loss(x, z + 1); F.hinge_embedding_loss(x, z - 1); F.margin_ranking_loss(x, z, z + 1)
F.multi_margin_loss(two.t(), z.long()); F.multilabel_margin_loss(two.t(), torch.tensor([[0, -1]]))
F.triplet_margin_loss(x[None], z[None] + 1, z[None]); F.cosine_embedding_loss(x[None], z[None] + 1, z + 1)
F.kl_div(x, z, reduction="sum"); F.gaussian_nll_loss(x, z, z + 1); F.cross_entropy(two.t(), z.long())
x.exp(); x.exp2(); x.expm1(); x.log(); x.log2(); x.log10(); x.log1p(); x.sqrt(); x.rsqrt(); x.reciprocal(); x.sin()
x.tan(); x.asin(); x.acos(); x.atan(); x.sinh(); x.tanh(); x.asinh(); x.acosh(); x.atanh(); x.sigmoid(); x.erf()
x.erfinv(); x.lgamma(); x.i0(); torch.special.i1e(x); torch.special.ndtr(x); torch.lerp(z, x, 0.3); x.floor()
torch.addcdiv(z, z + 1, x); F.max_pool1d(two.t()[None], 2); F.lp_pool1d(two.t()[None].abs(), 2.0, 2); x / x
F.normalize(x[None]); F.cosine_similarity(x, z + 1, 0); F.pairwise_distance(x[None], z[None]); x.angle(); x.erfc()
torch.ldexp(x, z + 1); torch.float_power(x, 2); x.deg2rad(); torch.cdist(x[None], z[None]); torch.dist(x, z)
"""


def case_gradients_at_the_edges_of_every_function(torch):
    found, names = {}, {"torch": torch, "F": torch.nn.functional, "INF": INF}
    for text in filter(None, map(str.strip, AT_EDGES.replace("\n", ";").split(";"))):
        for value in (NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 3.0, -3.0, 0.5, -0.5, 6.0):
            x = torch.tensor([value], dtype=torch.float64, requires_grad=True)
            z = torch.zeros_like(x, requires_grad=False)
            y = eval(text, names | {"x": x, "z": z, "two": torch.stack([x, z])}).sum()
            g = torch.autograd.grad(y, x, allow_unused=True)[0] if y.requires_grad else None
            found[f"{text} at {value}"] = y.item(), g if g is None else g.item()
    return found


def case_points_of_grids_at_every_edge(torch):
    found, sample = {}, torch.nn.functional.grid_sample
    points = (NAN, 0), (0, NAN), (NAN, NAN), (INF, 0), (0.3, -INF), (0.1, 0.2), (1e30, 0), (-1, -1), (1, 1), (3.3, -2.7)
    for sizes, dtype in itertools.product(((5, 7), (3, 4, 5), (1, 1), (2, 1)), (torch.float32, torch.float64)):
        values = torch.linspace(0.5, 2, 2 * math.prod(sizes), dtype=dtype).reshape(1, 2, *sizes)
        modes = ("bilinear", "nearest", "bicubic")[: 5 - len(sizes)]
        for mode, padding, align in itertools.product(modes, ("zeros", "border", "reflection"), (False, True)):
            how = {"mode": mode, "padding_mode": padding, "align_corners": align}
            # the real one crashes where it writes gradients at positions that are no numbers
            safe = padding == "zeros" and mode != "bicubic"
            for group in (points, points[-4:]):
                x = values.clone().requires_grad_()
                grid = torch.tensor([(*p, 0.1)[: len(sizes)] for p in group], dtype=dtype)
                grid = grid.reshape(1, *[1] * (len(sizes) - 1), *grid.shape).requires_grad_()
                y = sample(x, grid, **how)
                whole = len(group) == 4 or safe
                found[f"{sizes} {dtype} {mode} {padding} {align} {len(group)}"] = (
                    y,
                    torch.autograd.grad(y.sum(), (x, grid)) if whole and mode != "bicubic" else None,
                )
    return found


def case_losses_of_sequences_with_blanks_among_their_targets(torch):
    found, f = {}, torch.nn.functional.ctc_loss
    scores = torch.linspace(-1, 1, 6 * 2 * 4, dtype=torch.float64).sin().view(6, 2, 4).log_softmax(2)
    for blank, targets in itertools.product((0, 3), itertools.product(range(4), repeat=3)):
        for lengths in ((3, 3), (2, 1), (0, 3)):
            x = scores.clone().requires_grad_()
            loss = f(x, torch.tensor([targets, targets[::-1]]), (6, 5), lengths, blank=blank, reduction="none")
            found[f"{blank} {targets} {lengths}"] = loss, torch.autograd.grad(loss.sum(), x)
    return found


def case_gradients_of_means_have_memory_of_their_own(torch):
    F = torch.nn.functional
    found = {}
    for name, f in {
        "mean": lambda x: x.mean(),
        "mean of rows": lambda x: x.mean(-1),
        "pool": lambda x: F.adaptive_avg_pool2d(x, 1),
        "pool of lines": lambda x: F.adaptive_avg_pool1d(x[0], 1),
        "pool of volumes": lambda x: F.adaptive_avg_pool3d(x, 1),
        "mean of three": lambda x: x.mean((1, 2, 3)),
        "std_mean": lambda x: torch.std_mean(x, 1)[1],
    }.items():
        x = torch.arange(24.0).view(1, 2, 3, 4).requires_grad_()
        hooked = x * 1
        hooked.register_hook(lambda g: g.mul_(2))
        (g,) = torch.autograd.grad(f(hooked).sum(), x)
        (plain,) = torch.autograd.grad(f(x).sum(), x)
        found[name] = g, plain.stride(), plain.view(-1).shape, plain.mul_(3)
    return found


def case_operands_that_no_gradient_needs_may_change(torch):
    found = {}

    def outcome(name, f, operands, changed, wanted):
        operands = {n: t.clone().requires_grad_(n in wanted) for n, t in operands.items()}
        result = f(**operands)
        result = result[0] if isinstance(result, tuple) else result
        try:
            with torch.no_grad():
                operands[changed].mul_(2)
            result.sum().backward()
            found[f"{name}: {sorted(wanted)}, {changed} changed"] = [operands[n].grad for n in sorted(wanted)]
        except RuntimeError as e:
            found[f"{name}: {sorted(wanted)}, {changed} changed"] = "modified by an inplace" in str(e)

    def every(name, f, operands, less=()):
        for changed in operands:
            for k in range(1, len(operands) + 1):
                for wanted in itertools.combinations(sorted(operands), k):
                    if (changed, *wanted) not in less:
                        outcome(name, f, operands, changed, set(wanted))

    torch.manual_seed(0)
    for name, gates in (("rnn_tanh", 1), ("lstm", 4), ("gru", 3)):
        weights = {"w_ih": torch.randn(3 * gates, 2), "w_hh": torch.randn(3 * gates, 3), "b_ih": torch.randn(3 * gates)}
        cell = getattr(torch, name + "_cell")

        def run(x, h, w_ih, w_hh, b_ih, cell=cell, name=name):
            state = (h, torch.ones(1, 3)) if name == "lstm" else h
            return cell(x, state, w_ih, w_hh, b_ih, torch.zeros_like(b_ih))

        operands = {"x": torch.randn(1, 2), "h": torch.randn(1, 3), **weights}
        if name == "gru":  # its state is read by the gates' gradients too: PyTorch has saved a difference of it
            operands = {n: t for n, t in operands.items() if n != "h"}
            every(name, lambda run=run, **given: run(h=torch.ones(1, 3), **given), operands)
        else:
            every(name, run, operands)
    square = torch.randn(3, 3)
    for name, f in {
        "as_strided": lambda x: x.as_strided((2, 2), (1, 2)),
        "trace": lambda x: torch.trace(x) * 1,
        "diag": lambda x: x.diag(),
        "diagonal_copy": lambda x: torch.diagonal_copy(x),
        "erfinv": lambda x: torch.erfinv(x / 100),
        "qr": lambda x: torch.linalg.qr(x)[1],
    }.items():
        every(name, f, {"x": square})
    every("addr", lambda x, u, v: torch.addr(x, u, v), {"x": square, "u": square[0], "v": square[1]})
    every("addbmm", lambda x, u, v: torch.addbmm(x, u, v), {"x": square, "u": square[None], "v": square[None] + 1})
    every("rms_norm", lambda x, w: torch.nn.functional.rms_norm(x, (3,), w), {"x": square, "w": square[0]})
    return found


def case_arguments_without_a_derivative_may_not_require_one(torch):
    F, found = torch.nn.functional, {}
    x, one = torch.randn(4, 3, requires_grad=True), torch.ones(3, requires_grad=True)
    for name, f in {
        "batch_norm": lambda: F.batch_norm(x, one, torch.ones(3), training=True),
        "instance_norm": lambda: F.instance_norm(x[None], torch.zeros(4), torch.ones(4, requires_grad=True)),
        "nll_loss": lambda: F.nll_loss(x, torch.tensor([0, 1, 2, 0]), one),
        "cross_entropy": lambda: F.cross_entropy(x, torch.tensor([0, 1, 2, 0]), one),
        "soft_margin_loss": lambda: F.soft_margin_loss(x, x),
    }.items():
        try:
            found[name] = f().shape
        except RuntimeError as e:
            found[name] = str(e)
    return found


def asked(torch):
    """Return a class with __torch_function__ and the list of names of the functions that it is asked."""
    seen = []

    class Asked(torch.Tensor):
        @classmethod
        def __torch_function__(cls, f, types, args=(), kwargs=None):
            seen.append(f.__name__)
            return super().__torch_function__(f, types, args, kwargs or {})

    return Asked, seen


def case_what_a_class_is_asked_by_the_syntax_of_operators(torch):
    kind, seen = asked(torch)
    found = {}
    numbers, flags = torch.ones(2).as_subclass(kind), torch.ones(2, dtype=torch.int64).as_subclass(kind)
    for text in """1 - a; 1 / a; 2 ** a; 1 // a; 1 % a; 1 + a; 2 * a; a - 1; a / 1; a ** 2; a // 2; a % 2; a @ a; -a; +a
        b & 1; 1 & b; b | b; b ^ 1; 1 ^ b; b << 1; b >> 1; 1 << b; ~b; a == 1; a != 1; a < 1; 1 > a; abs(a)
        len(a); a[0]; reversed(a); torch.result_type(a, 1); torch.as_tensor(a); f"{a.sum():.1f}"
        torch.ones(2) - a; torch.ones(2) @ a; bool(a[0]); float(a[0]); int(a[0]); 1 in a; a.is_conj()
        a[0].is_nonzero(); a.dim_order()
        repr(a) is None""".replace("\n", ";").split(";"):
        seen.clear()
        try:
            eval(text.strip(), {"a": numbers, "b": flags, "torch": torch})
            found[text.strip()] = list(seen)
        except TypeError:
            found[text.strip()] = ["TypeError", *seen]
    for name, operand in (("iadd", numbers), ("ipow", numbers), ("iand", flags), ("ilshift", flags), ("isub", numbers)):
        seen.clear()
        getattr(operand, f"__{name}__")(1)
        found[name] = list(seen)
    return {k: v for k, v in found.items() if "repr" not in k}


def case_instances_of_a_subclass_are_views(torch):
    def shown(t):
        base = t._base
        return [
            type(t).__name__,
            t.is_leaf,
            t.requires_grad,
            t.grad_fn and t.grad_fn.name(),
            base is not None and [type(base).__name__, base.shape],
            t._version,
        ]

    found = {}
    for kind in (type("Plain", (torch.Tensor,), {}), asked(torch)[0]):
        n = kind.__name__
        x, leaf = torch.ones(3), torch.ones(3, requires_grad=True)
        y = leaf * 2
        for name, t in {"plain": x, "leaf": leaf, "result": y, "view": y[:2], "view of a leaf": x[1:]}.items():
            found[f"{n} of a {name}"] = shown(t.as_subclass(kind))
        with torch.no_grad():
            found[f"{n} without gradients"] = shown(leaf.as_subclass(kind))
        written = y.as_subclass(kind)
        written.mul_(3)
        found[f"{n} written"] = shown(written), shown(y), torch.autograd.grad(y.sum(), leaf)[0]
        part = x.as_subclass(kind).requires_grad_()
        (part * 2).sum().backward()
        parameter = torch.nn.Parameter(x.as_subclass(kind))
        (parameter * 2).sum().backward()
        found[f"{n} gradients"] = [type(part.grad).__name__, type(parameter.grad).__name__, shown(part[:1])]
        try:
            leaf.as_subclass(kind).mul_(2)
        except RuntimeError as e:
            found[f"{n} of a leaf written"] = str(e)
    return found, len(torch.overrides.get_default_nowrap_functions())


def case_a_mask_beside_the_causal_one(torch):
    found, f = {}, torch.nn.functional.scaled_dot_product_attention
    torch.manual_seed(0)
    for shape in ((1, 2, 4, 8), (2, 4, 8), (1, 2, 4, 7), (1, 1, 2, 4, 8)):
        q = torch.randn(shape, dtype=torch.float64, requires_grad=True)
        for name, mask in {
            "bool": torch.ones(4, 4, dtype=torch.bool).tril(1),
            "float": torch.linspace(0, 1, 16, dtype=torch.float64).reshape(4, 4),
            "row": torch.zeros(1, 4, dtype=torch.float64),
        }.items():
            for dropout in (0.0, 0.5):
                try:
                    y = f(q, q, q, mask, dropout_p=dropout, is_causal=True)
                    found[f"{shape} {name} {dropout}"] = y, torch.autograd.grad(y.sum(), q)[0]
                except RuntimeError as e:
                    found[f"{shape} {name} {dropout}"] = str(e)
    return found


def case_optimizers_in_use_are_left_alone(torch):
    from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict

    found = {}
    for used in (False, True):
        model = torch.nn.Linear(2, 2)
        if used:
            model(torch.ones(1, 2)).sum().backward()
        optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
        state = get_optimizer_state_dict(model, optimizer)
        found[used] = len(optimizer.state), len(state["state"]), model.weight.grad is not None
    return found


def case_words_of_refusals(torch):
    F = torch.nn.functional
    x, n, c = torch.ones(2), torch.ones(2, dtype=torch.int64), torch.ones(2, dtype=torch.complex64)
    long = torch.ones(1, 1, 2, 2, dtype=torch.int64)
    found = {}
    for text in """c < 1; c >= c; torch.gt(c, 1); n.clamp_(0.5); n.int().clamp_(max=0.5); n.add_(0.5); n.clamp_(n * 0.5)
        torch.func.grad(torch.sum)(n); F.interpolate(long, size=4); F.interpolate(long, size=4, mode="bilinear")
        F.interpolate(long[0], size=4); F.pad(x, (-3, 0)); F.pad(torch.ones(1, 5), (-4, -4)); torch.histc(x * NAN)
        torch.histc(x * INF); F.embedding_bag(n - 1, torch.ones(2, 2), torch.tensor([1]))""".replace("\n", ";").split(
        ";"
    ):
        try:
            eval(text.strip(), {"torch": torch, "F": F, "x": x, "n": n, "c": c, "long": long, "NAN": NAN, "INF": INF})
            found[text.strip()] = None
        except Exception as e:
            found[text.strip()] = type(e).__name__, str(e)
    return found


def case_weight_norm_rounds_once(torch):
    v, g = torch.linspace(-3, 3, 600).reshape(6, 100), torch.linspace(0.5, 2, 6).reshape(6, 1)
    return [
        torch._weight_norm(v.bfloat16(), g.bfloat16(), 0).float(),
        torch._weight_norm(v.half(), g.half(), 0).float(),
    ]


def namespaces(torch):
    return {
        "torch": torch,
        "F": torch.nn.functional,
        "linalg": torch.linalg,
        "special": torch.special,
        "fft": torch.fft,
    }


# functions in each namespace, of both kinds, written by hand and generated
FUNCTIONS = """torch.relu torch.add torch.stack torch.einsum torch.stft torch.istft torch.tensor torch.from_numpy
torch.zeros torch.rand torch.where torch.lu torch.atleast_2d torch.svd_lowrank torch.detach torch.numel
torch.is_floating_point torch.promote_types torch.result_type torch.conv2d torch.add_ torch.relu_
torch.sparse_coo_tensor torch.from_dlpack torch.norm torch.split torch.meshgrid torch.cdist torch.unique
torch.tensordot torch.is_grad_enabled torch.rms_norm F.conv2d F.linear F.gelu F.softmax F.relu F.relu_
F.elu F.elu_ F.hardtanh_ F.avg_pool1d F.avg_pool2d F.max_pool2d F.layer_norm F.rms_norm F.one_hot
F.softplus F.logsigmoid F.pad F.scaled_dot_product_attention F.pixel_shuffle F.dropout F.embedding
F.cross_entropy F.interpolate F.bilinear F.prelu F.cosine_similarity F.normalize linalg.det linalg.norm
linalg.svd special.erf special.softmax fft.fft fft.rfftn""".split()


def case_kinds_of_functions(torch):
    """A builtin does not become a method of the class that it is an attribute of; a function of Python does."""
    import copy
    import inspect
    import pickle

    found, spaces = {}, namespaces(torch)
    for name in FUNCTIONS:
        space, _, inside = name.partition(".")
        f = getattr(spaces[space], inside, None)
        if f is None:
            found[name] = None
            continue
        held = type("Held", (), {"f": f})
        found[name] = type(f).__name__, inspect.isbuiltin(f), held().f is f, copy.deepcopy(f) is f, callable(f)
        if inspect.isbuiltin(f) and inside != "logsigmoid":
            found[f"{name}'s pickle"] = f.__name__, f.__module__, pickle.dumps(f, 2), pickle.loads(pickle.dumps(f)) is f
        found[f"{name}'s name"] = (
            torch.overrides.resolve_name(f) if inside not in ("lu", "istft", "from_dlpack") else None
        )
    return found


def case_functions_in_the_body_of_a_module_s_class(torch):
    F = torch.nn.functional

    class Block(torch.nn.Module):
        conv, act, lin, soft, hard, det = F.conv2d, torch.relu, F.linear, F.gelu, staticmethod(F.softmax), torch.det

        def forward(self, x):
            x = self.act(self.conv(x, torch.ones(1, 1, 2, 2)))
            return self.hard(self.soft(self.lin(x, torch.full((2, 2), 0.3))), -1), self.det(x)

    block = Block()
    x = torch.linspace(-1, 2, 9).reshape(1, 1, 3, 3).requires_grad_()
    first, second = block(x)
    (first.sum() + first[..., 0].sum() + second.sum()).backward()
    again = torch.func.vmap(torch.relu)(x.detach()), torch.compile(torch.relu, backend="eager")(x.detach())
    return [first, second, x.grad, again]


def case_attributes_that_programs_cannot_set(torch):
    found = {}
    for x in (torch.ones(2), torch.nn.Parameter(torch.ones(2)), torch.ones(2).to_sparse()):
        for name in """dtype device shape layout is_cuda is_leaf ndim grad_fn itemsize nbytes T is_sparse _version _base
        is_quantized output_nr is_nested is_mps is_meta""".split():
            for what, change in {"set": lambda: setattr(x, name, 1), "deleted": lambda: delattr(x, name)}.items():
                key = f"{type(x).__name__} {x.layout} {name} {what}"
                try:
                    change()
                    found[key] = "changed"
                except Exception as error:
                    found[key] = type(error).__name__
    return found


def case_scatter_of_a_part_of_the_source(torch):
    found, index, base = {}, torch.tensor([[0, 0]]), torch.zeros(2, 3)
    for name, f in {
        "scatter": lambda s: base.scatter(0, index, s),
        "scatter_add": lambda s: base.scatter_add(1, index, s),
        "scatter_reduce": lambda s: base.scatter_reduce(1, index, s, "sum"),
    }.items():
        for sizes in ((2, 3), (1, 2)):
            source = torch.ones(sizes, requires_grad=True)
            out = f(source)
            try:
                found[f"{name} {sizes}"] = out, torch.autograd.grad(out.sum(), source)[0]
            except RuntimeError as error:
                found[f"{name} {sizes}"] = out, str(error)
    return found


def case_numbers_and_tensors_where_one_is_wanted(torch):
    found, x, t = {}, torch.ones(1, 1, 2, 2), torch.tensor
    for text in """torch.isin(1, 1); torch.isin(t([1, 2, 3]), 2); torch.isin(2, t([1, 2]), invert=True)
    torch.isin(t([1, 2]), test_element=2); torch.isin(t([1, 2]), [1]); torch.isin(element=1, test_elements=t([1]))
    up(x, scale_factor=t(2.0)); up(x, scale_factor=[t(2.0), t(2.0)]); up(x, scale_factor=[2, t(2.0)])
    up(x, scale_factor="2"); up(x, scale_factor=t(2.0), recompute_scale_factor=True); up(x, size=t(4))
    up(x, size=[t(4), t(4)]); up(x, scale_factor=[True, 2])""".replace("\n", ";").split(";"):
        try:
            found[text.strip()] = eval(
                text.strip(), {"torch": torch, "x": x, "t": t, "up": torch.nn.functional.interpolate}
            )
        except Exception as error:
            found[text.strip()] = type(error).__name__, str(error)
    return found


def case_where_capturable_optimizers_may_step(torch):
    found = {}
    for name in "Adadelta Adam Adamax ASGD NAdam RAdam RMSprop Rprop AdamW".split():
        for foreach in (False, True):
            p = torch.nn.Parameter(torch.ones(1))
            p.grad = torch.ones(1)
            try:
                getattr(torch.optim, name)([p], capturable=True, foreach=foreach).step()
                found[f"{name} {foreach}"] = p.item()
            except Exception as error:
                found[f"{name} {foreach}"] = type(error).__name__, str(error)
    return found


class Irrep(tuple):
    """A tuple whose own methods may not be asked by whoever looks for tensors in it."""

    def __len__(self):
        raise NotImplementedError("len")

    def __iter__(self):
        raise NotImplementedError("iter")


class Table(dict):
    """A dict whose own methods may not be asked by whoever looks for tensors in it."""

    def items(self):
        raise NotImplementedError("items")

    def __iter__(self):
        raise NotImplementedError("iter")


def case_objects_of_the_program_in_a_compiled_module(torch):
    class Holder(torch.nn.Module):
        def __init__(self, value):
            super().__init__()
            self.value, self.weight = value, torch.nn.Parameter(torch.ones(2))

        def forward(self, x):
            return x * 2 + self.weight

    values = {"tuple": Irrep((1, 2)), "dict": Table(a=torch.ones(1)), "plain": [(1, {"a": 2})]}
    return {
        f"{name} {full}": torch.compile(Holder(value), fullgraph=full, backend="eager")(torch.ones(2))
        for name, value in values.items()
        for full in (True, False)
    }


def case_errors_of_scripted_code(torch):
    import re

    class Inner(torch.nn.Module):
        def forward(self, x):
            if x.sum() > 100:
                raise ValueError("big %d" % 3)
            return x + 1

    class Outer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x):
            assert x.shape[0] == 2, "two"
            y = self.inner(x)
            return y.view(7)

    outer = torch.jit.script(Outer())
    traced = torch.jit.trace(lambda x: x.view(3) + 1, torch.ones(3))
    found = {}
    calls = {
        "assert": lambda: outer(torch.ones(3)),
        "raise": lambda: outer(torch.full((2, 3), 1000.0)),
        "operator": lambda: outer(torch.ones(2, 3)),
        "traced": lambda: traced(torch.ones(4)),
        "nothing": lambda: outer.inner(torch.ones(1)),
    }
    for name, call in calls.items():
        try:
            found[name] = call()
        except Exception as error:
            text = re.sub(r'File ".*", line \d+', "File", str(error))
            marks = re.sub("~+", "~", text)  # how much of a statement is marked differs by a character
            lines = [line for line in marks.splitlines() if not re.search(r"\(\d+\): ", line)]  # those of a trace
            found[name] = type(error).__name__, issubclass(type(error), RuntimeError), lines, error.__cause__ is None
    return found


def case_rows_whose_keys_are_all_hidden(torch):
    """PyTorch's fused kernel of attention gives NaN there, which it uses in evaluation without gradients."""
    nn = torch.nn
    torch.manual_seed(0)
    x = torch.randn(2, 4, 8)
    padding, mask = torch.tensor([[False] * 4, [True] * 4]), torch.zeros(4, 4, dtype=torch.bool)
    mask[2] = True
    apart = torch.zeros(4, 4, 4, dtype=torch.bool)
    apart[1, 3] = True
    some = torch.tensor([[False, True, True, True], [False] * 4])
    given = {
        "padding": {"src_key_padding_mask": padding},
        "mask": {"src_mask": mask},
        "float": {"src_mask": torch.zeros(4, 4).masked_fill(mask, -INF)},
        "apart": {"src_mask": apart},
        "both": {"src_mask": mask, "src_key_padding_mask": some},
    }
    found = {}
    kinds = {}, {"norm_first": True}, {"activation": "gelu"}, {"activation": torch.nn.functional.silu}, {"bias": False}
    for kind, first, heads in itertools.product(kinds, (True, False), (2, 1)):
        layer = nn.TransformerEncoderLayer(8, heads, 16, dropout=0.0, batch_first=first, **kind)
        for name, masks in given.items():
            if name == "apart" and heads == 1:
                continue
            for mode in ("train", "eval", "frozen"):
                layer.train(mode == "train").requires_grad_(mode != "frozen")
                key = f"{sorted(kind)} {kind.get('activation')!s:.10} {first} {heads} {name} {mode}"
                out = layer(x if first else x.transpose(0, 1), **masks)
                found[key] = out.isnan().any(-1), out.nan_to_num().square().sum()
    attention = nn.MultiheadAttention(8, 2, batch_first=True).eval().requires_grad_(False)
    for weights in (True, False):
        found[f"attention {weights}"] = attention(x, x, x, key_padding_mask=padding, need_weights=weights)[0]
        found[f"attention mask {weights}"] = attention(x, x, x, attn_mask=mask, need_weights=weights)[0]
    return found


def case_outputs_of_recurrent_layers_may_be_written_to(torch):
    found = {}
    for kind, options in itertools.product(
        ("GRU", "RNN", "LSTM"),
        ({}, {"bidirectional": True}, {"num_layers": 2}, {"dtype": torch.float64}, {"dtype": torch.bfloat16}),
    ):
        torch.manual_seed(0)
        layer = getattr(torch.nn, kind)(3, 4, **options)
        x = torch.randn(5, 2, 3, dtype=options.get("dtype"))
        packed = torch.nn.utils.rnn.pack_padded_sequence(x, [5, 3])
        for part in ("output", "state", "packed"):
            out, state = layer(packed if part == "packed" else x)
            out = out.data if part == "packed" else out
            state = state[0] if isinstance(state, tuple) else state
            loss = (out * 1).sum() + (state * 1).sum()
            (state if part == "state" else out).relu_()
            try:
                loss.backward()
                gradient = layer.weight_ih_l0.grad
                found[f"{kind} {options} {part}"] = gradient.shape if x.dtype is torch.bfloat16 else gradient
                layer.zero_grad()
            except RuntimeError as error:
                found[f"{kind} {options} {part}"] = str(error)
    return found


def case_versions_of_parameters_after_steps(torch):
    found = {}
    for name, options in itertools.product(
        "SGD Adam AdamW RMSprop Adagrad Adadelta Adamax NAdam RAdam Rprop ASGD".split(),
        ({}, {"weight_decay": 0.1}, {"foreach": True}, {"foreach": False}),
    ):
        if name == "Rprop" and "weight_decay" in options:
            continue
        p = torch.nn.Parameter(torch.linspace(-1, 1, 5))
        optimizer = getattr(torch.optim, name)([p], lr=0.1, **options)
        for step in range(2):
            p.grad = torch.linspace(0.5, 1.5, 5)
            optimizer.step()
            found[f"{name} {options} {step}"] = p.detach().clone(), p._version, p.grad._version
    return found


def case_recurrent_layers_under_autocast(torch):
    found = {}
    dtypes = torch.float32, torch.bfloat16, torch.float16
    for kind, given, of_state in itertools.product(("GRU", "LSTM", "RNN"), dtypes, (None, *dtypes[:2])):
        torch.manual_seed(0)
        layer, cell = getattr(torch.nn, kind)(3, 4), getattr(torch.nn, kind + "Cell")(3, 4)
        x = torch.linspace(-1, 1, 30).reshape(5, 2, 3).to(given)
        state = None if of_state is None else torch.linspace(-1, 1, 8).reshape(1, 2, 4).to(of_state)
        state = (state, state) if kind == "LSTM" and state is not None else state
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out, last = layer(x, state)
            last = last[0] if isinstance(last, tuple) else last
            (out.float().sum() + last.float().sum()).backward()
            one = None if given is torch.float16 else cell(x[0])
        one = one[0] if isinstance(one, tuple) else one
        near = [round(v, 1) + 0.0 for v in (out.float().sum().item(), last.float().sum().item())]
        found[f"{kind} {given} {of_state}"] = out.dtype, last.dtype, layer.weight_ih_l0.grad.dtype, near[0] > 0
        found[f"{kind} {given} {of_state} cell"] = None if one is None else (one.dtype, one.shape)
    return found

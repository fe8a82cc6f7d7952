"""Models whose modules compute with integers: observers, rounding in training, conversion, states, errors."""

import copy
import io
import warnings

from cases_quantized import text

__warningregistry__ = {}


def model(torch, conv=False):
    """A small model between stubs."""
    nn, q, nnq = torch.nn, torch.ao.quantization, torch.ao.nn.quantized

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.quant, self.dequant, self.sum = q.QuantStub(), q.DeQuantStub(), nnq.FloatFunctional()
            self.a = nn.Conv2d(2, 4, 3, padding=1, stride=2) if conv else nn.Linear(8, 16)
            self.bn, self.relu = nn.BatchNorm2d(4) if conv else nn.Identity(), nn.ReLU()
            self.b = nn.Conv2d(4, 2, 1, groups=2, bias=False) if conv else nn.Linear(16, 4)

        def forward(self, x):
            x = self.relu(self.bn(self.a(self.quant(x))))
            return self.dequant(self.b(self.sum.add(x, x)))

    torch.manual_seed(3)
    return Model(), torch.randn(2, 2, 6, 6) if conv else torch.randn(5, 8)


def converted(torch, m, x, chains=(), exact=True):
    """What a prepared and converted model is and gives; exact: to the step of its integers, else near the model's of floating point."""
    q = torch.ao.quantization
    if chains:
        m = q.fuse_modules(m, chains)
    prepared = q.prepare(m)
    for i in range(3):
        prepared(x * (i + 1))
    c = q.convert(prepared)
    found = [c.quant.scale, c.quant.zero_point, c.a.scale, c.a.zero_point, c.b.scale, c.sum.scale, str(c.a.weight().qscheme())]
    # The strides of a convolution's unpacked weight follow the kernels that PyTorch takes for the processor: contiguous from oneDNN where it has
    # AVX-512 VNNI, channels last from FBGEMM where it has not.
    found.append(c.a.weight().int_repr().contiguous())
    found += [
        c(x) if exact else bool((c(x) - m(x)).abs().max() < 3 * c.b.scale),
        [k for k in c.state_dict()],
        [type(module).__name__ for module in c.modules()],
    ]
    file = io.BytesIO()
    torch.save(c.state_dict(), file)
    file.seek(0)
    fresh = q.convert(q.prepare(m))
    fresh.load_state_dict(torch.load(file, weights_only=False))
    return [*found, torch.equal(fresh(x), c(x)), torch.equal(copy.deepcopy(c)(x), c(x)), any(hasattr(module, "qconfig") for module in c.modules())]


def case_static(torch):
    warnings.simplefilter("ignore")
    q, found = torch.ao.quantization, []
    configs = [q.default_qconfig, q.default_per_channel_qconfig, *(q.get_default_qconfig(b) for b in ("x86", "fbgemm", "qnnpack"))]
    for config in configs:
        for conv, chains in ((False, ()), (False, [["a", "relu"]]), (True, [["a", "bn", "relu"]]), (True, [["a", "bn"]])):
            m, x = model(torch, conv)
            m.eval().qconfig = config
            if chains == [["a", "relu"]]:
                m.bn = torch.nn.Identity()
            found += converted(torch, m, x, chains, not conv or config is not configs[-1])  # qnnpack's kernels round some halves otherwise
    m, x = model(torch)
    m = torch.nn.Sequential(q.QuantWrapper(torch.nn.Sequential(m.a, m.relu, m.b))).eval()
    m.qconfig = q.default_qconfig
    return [*found, q.quantize(m, lambda m, x: m(x), (x,))(x), str(q.quantize(m, lambda m, x: m(x), (x,)))]


def case_dynamic(torch):
    warnings.simplefilter("ignore")
    nn, q = torch.nn, torch.ao.quantization
    torch.manual_seed(1)
    m, x, found = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Sequential(nn.Linear(16, 4, bias=False))).eval(), torch.randn(2, 3, 8), []
    specs = [None, {nn.Linear}, {"0"}, {"2": q.per_channel_dynamic_qconfig}, {nn.Linear: q.default_dynamic_qconfig}]
    for spec in specs:
        d = q.quantize_dynamic(m, spec)
        found += [str(d), d(x).detach(), [k for k in d.state_dict()], isinstance(d[0], torch.ao.nn.quantized.dynamic.Linear)]
    half = q.quantize_dynamic(m, dtype=torch.float16)
    found += [
        str(half),
        half(x).detach(),
        text(lambda: q.quantize_dynamic(m, dtype=torch.float64)),
        text(lambda: q.quantize_dynamic(m, {nn.Linear}, torch.float64)),
    ]
    d = q.quantize_dynamic(m)
    file = io.BytesIO()
    torch.save(d.state_dict(), file)
    file.seek(0)
    other = q.quantize_dynamic(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Sequential(nn.Linear(16, 4, bias=False))))
    found += [str(other.load_state_dict(torch.load(file, weights_only=False))), torch.equal(other(x), d(x)), torch.equal(copy.deepcopy(d)(x), d(x))]
    return [*found, d[0].weight().int_repr(), d[0].bias(), d[0].scale, d[0].zero_point, d[2][0].bias()]


def case_rounding_in_training(torch):
    warnings.simplefilter("ignore")
    q, found = torch.ao.quantization, []
    for config in (q.get_default_qat_qconfig("fbgemm"), q.get_default_qat_qconfig("qnnpack"), q.get_default_qat_qconfig("x86", 0), q.default_qat_qconfig):
        m, x = model(torch)
        m.train().qconfig = config
        m = q.prepare_qat(m)
        optimizer = torch.optim.SGD(m.parameters(), lr=0.1)
        for _ in range(3):
            loss = m(x).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        found += [m.a.weight_fake_quant.scale, m.a.activation_post_process.zero_point, [k for k in m.state_dict()], type(m.a).__name__]
        m.apply(q.disable_observer)
        c = q.convert(m.eval())
        found += [c.a.scale, c.b.zero_point, c.a.weight().int_repr().float(), type(c.a).__name__]
    return [*found, text(lambda: q.prepare_qat(model(torch)[0].eval()))]


def case_observers(torch):
    warnings.simplefilter("ignore")
    q, found = torch.ao.quantization, []
    observers = [
        q.HistogramObserver(), q.HistogramObserver(reduce_range=True, bins=256), q.HistogramObserver(dtype=torch.qint8, qscheme=torch.per_tensor_symmetric),
        q.MovingAveragePerChannelMinMaxObserver(), q.MovingAveragePerChannelMinMaxObserver(ch_axis=1, averaging_constant=0.5),
        q.PerChannelMinMaxObserver(), q.MinMaxObserver(quant_min=0, quant_max=200, reduce_range=True), q.FixedQParamsObserver(0.1, 3),
        q.MovingAverageMinMaxObserver(),
    ]  # fmt: skip
    for o in observers:
        torch.manual_seed(5)
        for size in (1, 3, 3, 0.5):
            o(torch.randn(4, 50) * size)
        found += [*o.calculate_qparams(), type(o).__name__]
    recorder = q.RecordingObserver()
    recorder(torch.ones(2))
    found += [recorder.get_tensor_value(), text(recorder.calculate_qparams), text(lambda: q.HistogramObserver(is_dynamic=True))]
    for f in (q.FakeQuantize(), q.FusedMovingAvgObsFakeQuantize(), q.default_per_channel_weight_fake_quant(), q.default_fixed_qparams_range_0to1_fake_quant()):
        torch.manual_seed(2)
        x = torch.randn(3, 4, requires_grad=True)
        f(x).sum().backward()
        found += [f(x).detach(), x.grad, f.scale, f.zero_point, [k for k in f.state_dict()], str(f)[:60]]
        f.apply(q.disable_fake_quant)
        found += [f(x) is x, f.calculate_qparams()[1].dtype]
    return [
        *found,
        str(q.default_qconfig),
        str(q.get_default_qat_qconfig()),
        text(lambda: q.get_default_qconfig("zz")),
        text(lambda: q.QConfig(q.MinMaxObserver(), 1)),
    ]


def case_what_is_refused(torch):
    """Chains that are no one operation, float input for a layer of integers, hooks that stay."""
    warnings.simplefilter("ignore")
    nn, q, nnq = torch.nn, torch.ao.quantization, torch.ao.nn.quantized
    seen = []
    m = nn.Sequential(nn.Linear(2, 2), nn.ReLU()).eval()
    m[0].register_forward_pre_hook(lambda module, args: seen.append("before"))
    m[1].register_forward_hook(lambda module, args, out: seen.append("after"))
    fused = q.fuse_modules(m, ["0", "1"])
    fused(torch.ones(1, 2))
    found = [seen, str(fused), text(lambda: q.fuse_modules(nn.Sequential(nn.ReLU(), nn.Linear(1, 1)), [["0", "1"]]))]
    found += [
        text(lambda: nnq.Linear(3, 2)(torch.ones(1, 3)))[0],
        str(nnq.Linear(3, 2)),
        text(lambda: nnq.FloatFunctional()(1)),
        text(lambda: q.prepare(nn.Linear(1, 1))),
    ]
    limits = torch.iinfo(torch.quint8), torch.iinfo(torch.qint32)
    return [*found, [(i.bits, i.min, i.max) for i in limits], text(lambda: limits[0].dtype), text(lambda: torch.iinfo(torch.int4))]

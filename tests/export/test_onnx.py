"""Models that were exported to ONNX give in onnxruntime what they give here."""

import io

import pytest
import torch
from torch import nn

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")
F = torch.nn.functional


class Of(nn.Module):
    """A module of a function, with modules that it uses."""

    def __init__(self, function, **modules):
        super().__init__()
        self.function = function
        for name, module in modules.items():
            setattr(self, name, module)

    def forward(self, *args):
        return self.function(self, *args)


class Attention(nn.Module):
    """Attention with a causal mask, rotary positions and several heads for a key."""

    def __init__(self):
        super().__init__()
        self.q, self.kv, self.out = nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 16)

    def forward(self, x):
        b, n, _ = x.shape
        q = self.q(x).view(b, n, 4, 4).transpose(1, 2)
        k, v = self.kv(x).view(b, n, 2, 8).transpose(1, 2).chunk(2, -1)
        angle = torch.arange(n, device=x.device)[:, None] * torch.tensor([1.0, 0.1])
        cos, sin = (torch.cat([t, t], -1) for t in (angle.cos(), angle.sin()))
        turn = lambda t: t * cos + torch.cat([-t[..., 2:], t[..., :2]], -1) * sin
        k, v = (t[:, :, None].expand(b, 2, 2, n, 4).reshape(b, 4, n, 4) for t in (turn(k), v))
        out = F.scaled_dot_product_attention(turn(q), k, v, is_causal=True)
        return self.out(out.transpose(1, 2).reshape(b, n, 16))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.out = nn.GRUCell(3, 5), nn.Linear(5, 2)

    def forward(self, x):
        state = x.new_zeros(x.shape[0], 5)
        for step in range(4):
            state = self.cell(x[:, step], state)
        return self.out(state), state


def image(*size):
    return torch.randn(*size, generator=torch.Generator().manual_seed(0))


MODELS = {
    "perceptron": (nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 3), nn.Softmax(-1)), [image(4, 8)]),
    "convolutions": (
        nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()),
        [image(2, 3, 16, 16)],
    ),
    "depthwise": (nn.Sequential(nn.Conv2d(8, 8, 3, groups=8), nn.SiLU(), nn.Conv2d(8, 4, 1)), [image(2, 8, 9, 9)]),
    "transposed": (nn.Sequential(nn.ConvTranspose2d(4, 3, 3, 2, 1, 1), nn.Sigmoid()), [image(1, 4, 5, 5)]),
    "one dimension": (
        nn.Sequential(nn.Conv1d(4, 6, 3, dilation=2), nn.LeakyReLU(), nn.AvgPool1d(2)),
        [image(2, 4, 20)],
    ),
    "norms": (nn.Sequential(nn.GroupNorm(2, 4), nn.InstanceNorm2d(4), nn.LayerNorm(6)), [image(2, 4, 6, 6)]),
    "root mean square": (nn.RMSNorm(6), [image(2, 6)]),
    "resized": (nn.Upsample(scale_factor=2, mode="bilinear"), [image(1, 2, 4, 5)]),
    "embeddings": (Of(lambda m, i: m.e(i).mean(1), e=nn.Embedding(10, 4)), [torch.tensor([[1, 2], [3, 9]])]),
    "encoder": (nn.TransformerEncoderLayer(16, 4, 32, 0.0, batch_first=True), [image(2, 5, 16)]),
    "attention": (Attention(), [image(2, 6, 16)]),
    "a recurrent cell": (Recurrent(), [image(2, 4, 3)]),
    "lstm": (Of(lambda m, x: m.l(x)[0], l=nn.LSTM(3, 4, 2, batch_first=True)), [image(2, 5, 3)]),
    "indices": (
        Of(lambda m, x, i: (x[i], x.gather(1, i[:, None]), x.index_copy(0, i, x * 2), x.index_add(0, i, x))),
        [image(3, 4), torch.tensor([2, 0, 1])],
    ),
    "masks": (
        Of(lambda m, x: (x.masked_fill(x > 0, -1.0), torch.where(x > 0.5, x, 0), x.tril(), x.clamp(-0.5, 0.5))),
        [image(4, 4)],
    ),
    "unlike dtypes": (
        Of(lambda m, x, i: (x + i, i / 2, i * 1.5, torch.cat([i, i + 1]), x > i, i.sin(), i // 2, x.double() * x)),
        [image(3), torch.tensor([1, 2, 3])],
    ),
    "reductions": (
        Of(lambda m, x: (x.amax(1), x.argmax(-1), x.std(0), x.logsumexp(1), x.cumsum(1), x.norm(dim=1), x.prod(0))),
        [image(3, 4)],
    ),
    "sums of bools": (
        Of(lambda m, x: ((x > 0).sum(1), (x > 0).sum(), (x > 0).to(torch.int32).cumsum(0), (x > 0).prod(1))),
        [image(3, 4)],
    ),
    "sorted": (Of(lambda m, x: (*x.topk(2), *x.sort(descending=True))), [image(3, 5)]),
    "products": (
        Of(lambda m, x, y: (torch.einsum("bij,bkj->bik", x, y), x @ y.mT, torch.baddbmm(x @ y.mT, x, y.mT))),
        [image(2, 3, 4), image(2, 3, 4) * 2],
    ),
}


def equal(program, model, args):
    expected = torch.utils._pytree.tree_leaves(model(*args))
    found = program(*args)
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        torch.testing.assert_close(a, b.detach(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_a_model(name):
    torch.manual_seed(0)
    model, args = MODELS[name]
    equal(torch.onnx.export(model.eval(), tuple(args), verbose=False), model, args)


def test_sizes_that_stay_symbols_have_the_program_s_names():
    model, shapes = Attention().eval(), {"x": {0: "batch", 1: "length"}}
    program = torch.onnx.export(
        model, (image(2, 6, 16),), dynamic_shapes=shapes, input_names=["tokens"], output_names=["states"], verbose=False
    )
    (given,) = program.model.graph.inputs
    assert given.name == "tokens" and [str(s) for s in given.shape] == ["batch", "length", "16"]
    assert program.model.graph.outputs[0].name == "states"
    equal(program, model, [image(3, 9, 16)])


def test_sizes_beside_floats():
    model = Of(lambda m, x: (x.sum(0) / x.shape[0], x * x.shape[1], x.mean(), x + torch.arange(x.shape[1])))
    shapes = (({0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC},),)
    equal(torch.onnx.export(model, (image(3, 4),), dynamic_shapes=shapes, verbose=False), model, [image(5, 7)])


def test_a_program_that_is_exported_already(tmp_path):
    model, args = MODELS["perceptron"]
    program = torch.onnx.export(torch.export.export(model, tuple(args)), f=tmp_path / "model.onnx", verbose=False)
    equal(program, model, args)
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    (found,) = session.run(None, {session.get_inputs()[0].name: args[0].numpy()})
    torch.testing.assert_close(torch.from_numpy(found), model(*args).detach(), rtol=1e-4, atol=1e-4)


def test_weights_can_be_replaced_and_left_out(tmp_path):
    model, args = nn.Linear(3, 2), (image(4, 3),)
    program = torch.onnx.export(model, args, verbose=False, optimize=False)
    other = nn.Linear(3, 2)
    program.apply_weights(other.state_dict())
    equal(program, other, args)
    program.save(tmp_path / "empty.onnx", include_initializers=False)
    program.save(tmp_path / "whole.onnx", external_data=True)
    assert (tmp_path / "whole.onnx.data").exists()
    assert set(program.model.graph.initializers) == {"weight", "bias"}
    with pytest.warns(UserWarning, match="Weight 'other' not found"):
        program.apply_weights({"other": torch.ones(1)})


def test_what_is_told_of_the_steps(capsys):
    torch.onnx.export(nn.Linear(3, 2), (image(4, 3),), f=(file := io.BytesIO()), verify=True)
    told = capsys.readouterr().out
    assert "[torch.onnx] Translate the graph into ONNX... ✅" in told and "max abs diff" in told and file.getvalue()


def test_an_operator_without_a_function_is_named():
    with pytest.raises(torch.onnx.OnnxExporterError, match="No ONNX function found for.*aten.lgamma"):
        torch.onnx.export(Of(lambda m, x: x.lgamma()), (image(3).abs(),), verbose=False)


def test_a_function_of_the_program_for_an_operator():
    from onnxscript.onnx_opset import opset18 as op

    table = {torch.ops.aten.lgamma.default: lambda x: op.Add(x, 1.0)}
    model, x = Of(lambda m, x: x.lgamma()), image(3).abs()
    program = torch.onnx.export(model, (x,), custom_translation_table=table, verbose=False)
    torch.testing.assert_close(program(x)[0], x + 1)


def test_while_a_model_is_exported():
    seen = []
    torch.onnx.export(Of(lambda m, x: seen.append(torch.onnx.is_in_onnx_export()) or x + 1), (image(3),), verbose=False)
    assert seen[0] and not torch.onnx.is_in_onnx_export()


def test_the_legacy_exporter_points_to_this_one():
    with pytest.raises(NotImplementedError, match="use dynamo=True"):
        torch.onnx.export(nn.Linear(3, 2), (image(4, 3),), dynamo=False)

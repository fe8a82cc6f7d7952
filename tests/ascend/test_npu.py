"""Device npu as its users see it: devices, memory, views, errors, random numbers, streams, serialization, torch_npu."""

import pytest

CASES = {
    "devices": (
        "x = torch.ones(2, device=0); print(x.device, torch.ones(2).npu().device, torch.ones(2).to('npu').is_npu, "
        "torch.accelerator.current_accelerator())",
        "npu:0 npu:0 True npu",
    ),
    "mixed devices are refused": (
        "try: torch.ones(2).npu() + torch.ones(2)\nexcept RuntimeError as e: print('two devices, "
        "npu:0 and cpu' in str(e))",
        "True",
    ),
    "numbers of the host meet any device": (
        "print((torch.ones(2).npu() * torch.tensor(3.0) + 1).tolist())",
        "[4.0, 4.0]",
    ),
    "indices of the host": (
        "x = torch.arange(6.0).npu(); print(x[torch.tensor([4, 0])].tolist(), x[torch.tensor([True, "
        "False] * 3)].tolist())",
        "[4.0, 0.0] [0.0, 2.0, 4.0]",
    ),
    "in place through a view": (
        "x = torch.zeros(3, 4).npu(); x.t()[1:3].add_(2); x[0, 0] = 5; x[1].mul_(3); print(x.tolist())",
        "[[5.0, 2.0, 2.0, 0.0], [0.0, 6.0, 6.0, 0.0], [0.0, 2.0, 2.0, 0.0]]",
    ),
    "index_put, index_fill, index_copy in place": (
        "x = torch.zeros(4).npu(); x[torch.tensor([1, 3]).npu()] = 2.0; x.index_fill_(0, torch.tensor([0]).npu(), 7); "
        "x.index_copy_(0, torch.tensor([2]).npu(), torch.ones(1).npu()); print(x.tolist())",
        "[7.0, 2.0, 1.0, 2.0]",
    ),
    "the host's later writes are not seen": (
        "h = torch.ones(2); x = h.npu(); h.fill_(9); y = x + h.npu(); h.fill_(0); print(y.tolist())",
        "[10.0, 10.0]",
    ),
    "empty": (
        "x = torch.empty(0, 3, device='npu'); print((x + 1).shape, x.sum().item(), torch.cat([x, torch.ones(1, "
        "3).npu()]).tolist())",
        "torch.Size([0, 3]) 0.0 [[1.0, 1.0, 1.0]]",
    ),
    "bfloat16": (
        "x = torch.tensor([1.5, 2.5], dtype=torch.bfloat16).npu(); print((x * 2).tolist(), x.cpu().dtype)",
        "[3.0, 5.0] torch.bfloat16",
    ),
    "a dtype that CANN lacks": (
        "try: torch.ones(2, 2, dtype=torch.float64, device='npu').log_softmax(0).exp() @ torch.ones(2, 2, "
        "dtype=torch.float64, device='npu')\n"
        "except NotImplementedError as e: print(e)",
        "mm: no kernel for dtype torch.float64 on device npu: CANN states no torch.float64 for Mm",
    ),
    "an operator that CANN has no kernel for": (
        "w, V = torch.linalg.eig(torch.tensor([[2.0, 1], [1, 2]]).npu()); print(sorted(round(x.real, "
        "4) for x in w.tolist()), V.device)",
        "[1.0, 3.0] npu:0",
    ),
    "float64 where CANN has it": (
        "print((torch.ones(2, dtype=torch.float64, device='npu').exp().sum() * 2).item())",
        "10.87312731383618",
    ),
    "complex": (
        "z = torch.complex(torch.ones(2), torch.arange(2.0)).npu(); z.real.add_(1); print((z * z).tolist(), "
        "z.imag.tolist())",
        "[(4+0j), (3+4j)] [0.0, 1.0]",
    ),
    "dtype views": (
        "x = torch.ones(2).npu(); print(x.view(torch.int32).tolist()); x.view(torch.int32).zero_(); print(x.tolist())",
        "[1065353216, 1065353216]\n[0.0, 0.0]",
    ),
    "random numbers are the CPU's": (
        "torch.manual_seed(3); a = torch.randn(4, device='npu'); torch.npu.manual_seed_all(3); b = torch.randn(4); "
        "print(torch.equal(a.cpu(), b)); s = torch.npu.get_rng_state(); c = torch.rand(2).tolist(); "
        "torch.npu.set_rng_state(s); print(torch.rand(2, device='npu').cpu().tolist() == c)",
        "True\nTrue",
    ),
    "pinned memory": (
        "x = torch.arange(3.0); p = x.pin_memory(); y = p.to('npu', non_blocking=True); print(p.is_pinned(), "
        "p[1:].is_pinned(), x.is_pinned(), y.tolist())",
        "True True False [0.0, 1.0, 2.0]",
    ),
    "DLPack": (
        "from torch.utils.dlpack import from_dlpack, to_dlpack\nx = torch.arange(6.0).npu().view(2, 3); "
        "y = from_dlpack(to_dlpack(x.t()[1:])); x.add_(1)\n"
        "print(y.tolist(), y.stride(), y.data_ptr() - x.data_ptr(), x.__dlpack_device__()[0], torch.from_dlpack(x, "
        "device='cpu').device)",
        "[[2.0, 5.0], [3.0, 6.0]] (1, 3) 4 12 cpu",
    ),
    "switches and legacy types": (
        "import warnings\nwith warnings.catch_warnings(record=True) as w:\n    warnings.simplefilter('always')\n"
        "    torch.npu.config.allow_internal_format = False; torch.npu.matmul.allow_hf32 = True; "
        "torch.npu.set_compile_mode(jit_compile=False)\n"
        "x = torch.npu.FloatTensor([1, 2]); x.record_stream(torch.npu.current_stream())\n"
        "print(len(w), torch.npu.matmul.allow_hf32, x.device, isinstance(x, torch.npu.FloatTensor), isinstance(x, "
        "torch.FloatTensor))",
        "1 False npu:0 True False",
    ),
    "storages": (
        "x = torch.arange(4.0).npu(); s = x.untyped_storage(); print(s.device, s.nbytes(), "
        "s.data_ptr() == x.data_ptr(), x[1:].data_ptr() - x.data_ptr())",
        "npu:0 16 True 4",
    ),
    "streams and events": (
        "s = torch.npu.Stream(); a, b = (torch.npu.Event(enable_timing=True) for _ in range(2))\n"
        "with torch.npu.stream(s):\n    a.record(); y = torch.ones(3).npu() + 1; b.record()\n"
        "torch.npu.current_stream().wait_stream(s); torch.npu.synchronize(); print(a.elapsed_time(b) >= 0, "
        "s.query(), y.tolist())",
        "True True [2.0, 2.0, 2.0]",
    ),
    "the environment stays as it is": (  # MindSpore appends to a variable each time that its device is set
        "import os; x = torch.ones(2).npu(); before = dict(os.environ); [torch.npu.memory_allocated() for _ in "
        "range(9)]; print(dict(os.environ) == before)",
        "True",
    ),
    "memory": (
        "x = torch.ones(1 << 18, device='npu'); a = torch.npu.memory_allocated(); free, "
        "total = torch.npu.mem_get_info(); del x\n"
        "print(a >= 1 << 20, torch.npu.memory_allocated() < a, torch.npu.max_memory_allocated() >= a, "
        "0 < free < total)",
        "True True True True",
    ),
    "autocast and scaler": (
        "m = torch.nn.Linear(4, 4).npu(); o = torch.optim.SGD(m.parameters(), 0.1); s = torch.amp.GradScaler('npu')\n"
        "with torch.autocast('npu', dtype=torch.float16):\n    y = m(torch.ones(2, 4, device='npu')); "
        "loss = y.float().sum()\n"
        "s.scale(loss).backward(); s.step(o); s.update(); print(y.dtype, m.weight.grad.device)",
        "torch.float16 npu:0",
    ),
    "it says that it is emulated": (
        "print(torch.npu.get_device_name(), torch.npu.get_device_properties(0).total_memory > 0)",
        "Ascend910B1 (emulated) True",
    ),
    "torch_npu": (
        "import torch_npu\nx = torch.randn(2, 8).npu(); y, r = torch_npu.npu_rms_norm(x, torch.ones(8).npu())\n"
        "print(torch.allclose(y, torch.nn.functional.rms_norm(x, (8,), eps=1e-6)), r.shape, "
        "torch_npu.npu_swiglu(x).shape, torch_npu.get_npu_format(x))\n"
        "q = torch.randn(1, 2, 5, 4).npu(); out = torch_npu.npu_fusion_attention(q, q, q, 2, 'BNSD', scale=0.5, "
        "sparse_mode=3)[0]\n"
        "print(torch.allclose(out, torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True, "
        "scale=0.5), atol=1e-6))",
        "True torch.Size([2, 1]) torch.Size([2, 4]) 2\nTrue",
    ),
    "torch_npu's gates and added norms": (
        "import torch_npu as n\nF = torch.nn.functional; torch.manual_seed(1); x, y, w = (torch.rand(s).npu() - 0.5 "
        "for s in ((3, 8), (3, 8), 8))\n"
        "a, _, b = n.npu_add_rms_norm(x, y, w); left, right = x.chunk(2, -1); g, h = n.npu_geglu(x, approximate=0)\n"
        "p, e, r = n.npu_moe_gating_top_k_softmax(x, k=2); z = n.npu_masked_softmax_with_rel_pos_bias(x, None, y, "
        "2.0)\n"
        "q, k = torch.rand(1, 2, 1, 4).npu(), torch.rand(1, 2, 5, 4).npu(); more = dict(num_heads=2, "
        "scale_value=0.5, input_layout='BNSD')\n"
        "pairs = [(a, F.rms_norm(x + y, (8,), w, 1e-6)), (b, x + y), (g, left * F.gelu(right)), (h, F.gelu(right)), "
        "(p, x.softmax(-1).topk(2)[0])]\n"
        "pairs += [(e.long(), x.topk(2)[1]), (z, (2 * x + y).softmax(-1))]\n"
        "pairs += [(n.npu_incre_flash_attention(q, k, k, **more), F.scaled_dot_product_attention(q, k, k, "
        "scale=0.5))]\n"
        "print([torch.allclose(s, t, atol=1e-5) for s, t in pairs], r.tolist(), e.dtype)",
        f"{[True] * 8} [[0, 3], [1, 4], [2, 5]] torch.int32",
    ),
    "torch_npu's operators": (
        "import torch_npu as n\nF = torch.nn.functional; torch.manual_seed(1); x = torch.randn(3, 4).npu(); "
        "i = torch.tensor([0, 2, 1]).npu()\n"
        "image, kernel = torch.randn(1, 2, 4, 4).npu(), torch.randn(2, 3, 2, 2).npu()\n"
        "same = lambda *pairs: print([torch.allclose(a.float(), b.float(), atol=1e-5) and a.shape == b.shape for a, "
        "b in pairs])\n"
        "same((n.fast_gelu(x), x * (1.702 * x).sigmoid()), (n.npu_mish(x), F.mish(x)), (n.npu_silu_(x.clone()), "
        "F.silu(x)),\n"
        " (n.one_(x.clone()), torch.ones_like(x)),\n"
        " (n.npu_max(x, 1)[0], x.amax(1)), (n.npu_min(x, 0, True)[1], x.argmin(0, True)), (n.npu_bmmV2(x, x.T, []), "
        "x @ x.T), (n.npu_transpose(x, (1, 0)), x.T),\n"
        " (n.npu_broadcast(x[:1], (3, 4)), x[:1].expand(3, 4)), (n.npu_reshape(x, (2, 6)), x.view(2, 6)), "
        "(n.npu_slice(x, [1, 0], [2, 3]), x[1:, :3]))\n"
        "same((n.npu_indexing(x, [0, 1], [3, 4], [2, 1]), x[::2, 1:]), (n.npu_indexing(x, [1, 1], [2, 2], [1, 1], "
        "begin_mask=1, end_mask=2), x[:2, 1:]),\n"
        " (n.npu_pad(x, [1, 0, 0, 2]), F.pad(x, [0, 2, 1, 0])), (n.npu_one_hot(i, -1, 3, 2, -1), F.one_hot(i, "
        "3) * 3 - 1),\n"
        " (n.npu_softmax_cross_entropy_with_logits(x, x.softmax(1)), F.cross_entropy(x, x.softmax(1), "
        "reduction='none')), (n.npu_layer_norm_eval(x, (4,)), F.layer_norm(x, (4,))),\n"
        " (n.npu_dropout_with_add_softmax(x, x, 0.5, 0.0, -1)[2], (1.5 * x).softmax(-1)), "
        "(n.npu_conv_transpose2d(image, kernel, None, [0, 0], [0, 0], [1, 1], [1, 1], 1), F.conv_transpose2d(image, "
        "kernel)),\n"
        " (n.npu_convolution(image, kernel.transpose(0, 1).contiguous(), None, [1, 1], [0, 0], [1, 1], 1), "
        "F.conv2d(image, kernel.transpose(0, 1))))\n"
        "bits = n.npu_sign_bits_pack(torch.tensor([1.0, -1, -1, 2, -1, -1, -1, -1, 0.0] + [-1.0] * 7).npu(), 1)\n"
        "print(bits.tolist(), n.npu_sign_bits_unpack(bits, 2, torch.float32).tolist()[1][:2], "
        "n.scatter_update(torch.zeros(2, 1, 3).npu(), i[1:], torch.ones(2, 1, 1).npu(), -1).tolist())\n"
        "boxes = torch.tensor([[0.0, 0, 10, 10], [5, 5, 15, 15]]).npu(); print([[round(v, "
        "4) for v in r] for r in n.npu_iou(boxes, boxes).tolist()], n.npu_iou(boxes, boxes[:1], 1).shape)\n"
        "middle = torch.tensor([[5.0, 10], [5, 10], [10, 10], [10, 10]]).npu()  # the same boxes, by centre and sides\n"
        "print([round(f(middle[:, :1], middle[:, 1:], True).item(), 4) for f in (n.npu_giou, n.npu_diou, n.npu_ciou)], "
        "round(n.npu_giou(boxes.T, boxes.T, False, True)[0, 1].item(), 4))",
        f"{[True] * 11}\n{[True] * 9}\n[[9, 1]] [1.0, -1.0] [[[0.0, 0.0, 1.0]], [[0.0, 1.0, 0.0]]]\n"
        "[[1.0, 0.1429], [0.1429, 1.0]] torch.Size([1, 2])\n[-0.0794, 0.0317, 0.0317] -0.0794",
    ),
    "what is loaded goes where it is asked to": (
        "import io; f = io.BytesIO(); x = torch.arange(6.0); torch.save([x, x[2:]], f); f.seek(0); a, "
        "b = torch.load(f, map_location='npu')\n"
        "b.add_(1); print(a.device, a.tolist())",
        "npu:0 [0.0, 1.0, 3.0, 4.0, 5.0, 6.0]",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_npu(name, together):
    assert together[name] == CASES[name][1]


@pytest.fixture(scope="module")
def together(npu, tmp_path_factory):
    """What each program prints; they run in one process, each in a namespace of its own."""
    path = tmp_path_factory.mktemp("npu") / "programs.py"
    path.write_text(
        f"import contextlib, io, json, traceback, torch\nfound = {{}}\nfor name, "
        f"program in { ({k: v[0] for k, v in CASES.items()})!r}.items():\n"
        "    out = io.StringIO()\n    with contextlib.redirect_stdout(out):\n        try:\n            exec(program, "
        "{'torch': torch})\n"
        "        except Exception:\n            traceback.print_exc(file=out)\n    found[name] = "
        "out.getvalue().strip()\nprint('FOUND' + json.dumps(found))\n"
    )
    import json

    return json.loads(next(line for line in npu(path).splitlines() if line.startswith("FOUND"))[5:])


def test_without_an_npu_torch_npu_is_not_there(python):
    program = """
import importlib.util, torch
print(importlib.util.find_spec("torch_npu"), hasattr(torch, "npu"), torch.accelerator.is_available())
print(torch.accelerator.device_count(), hasattr(torch.nn.Linear(1, 1), "npu"))
try: import torch.npu
except ModuleNotFoundError as e: print(e.name)
try: torch.ones(2, device="npu")
except RuntimeError as e: print("no Ascend NPU" in str(e))
"""
    assert python("-m", "mindtorch_proxy", "-c", program) == "None False False\n0 False\ntorch.npu\nTrue"


def test_the_cpu_stands_in_only_where_it_is_asked_to_and_is_counted(npu):
    program = """
import torch, mindtorch_proxy
x = torch.ones(2).npu()
print(x.device, torch.mm(*[torch.eye(2, dtype=torch.float64).npu()] * 2).tolist())
print("counted", sorted((k["op"], k["calls"]) for k in mindtorch_proxy.report()["kernels"] if k["kind"] == "fallback"))
"""
    assert npu("-c", program, MINDTORCH_NPU_FALLBACK="cpu") == "npu:0 [[1.0, 0.0], [0.0, 1.0]]\ncounted [('mm', 1)]"

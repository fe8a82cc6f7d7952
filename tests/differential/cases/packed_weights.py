"""Products with weights of eight and four bits, casts by name, and what tells of tensors beneath torch's documented
names.
"""

from attempts import answer
from comparing import STRICT

TOLERANCE = STRICT


def case_int8_weights(torch):
    found = []
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        for m, n, k in ((1, 32, 64), (4, 8, 16), (3, 64, 64), (5, 16, 32)):
            a, w = torch.randn(m, k).to(dtype), torch.randint(-128, 128, (n, k), dtype=torch.int8)
            found.append(torch._weight_int8pack_mm(a, w, torch.rand(n).to(dtype)) / 64)
    return found


def case_int8_weights_refused(torch):
    a, w, s = torch.randn(4, 16), torch.randint(-128, 128, (8, 16), dtype=torch.int8), torch.rand(8)
    mm, needs = torch._weight_int8pack_mm, torch.randn(4, 16, requires_grad=True)
    return [
        answer(lambda: mm(a.double(), w, s.double())),
        answer(lambda: mm(a.int(), w, s.int())),
        answer(lambda: mm(a.t(), w, s)),
        answer(lambda: mm(a, w.float(), s)),
        answer(lambda: mm(a, w, s.half())),
        answer(lambda: mm(a, w, s[:4])),
        answer(lambda: mm(a, w, s[None])),
        answer(lambda: mm(a[:, :8].contiguous(), w[:, ::2], s)),
        mm(needs, w, s).requires_grad,
        answer(lambda: mm(needs, w, s).sum().backward()),
        torch.ops.aten._weight_int8pack_mm(a, w, s).shape,
    ]


def case_int4_weights(torch):
    found = []
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        for m, n, k, group in (
            (1, 64, 64, 32),
            (5, 128, 128, 64),
            (33, 48, 256, 128),
            (4, 16, 256, 256),
            (6, 80, 64, 32),
        ):
            packed = torch._convert_weight_to_int4pack_for_cpu(torch.randint(0, 16, (n, k), dtype=torch.int32), 2)
            scales = torch.randn(k // group, n, 2).to(dtype)
            found += [
                list(packed.shape),
                str(packed.dtype),
                torch._weight_int4pack_mm_for_cpu(torch.randn(m, k).to(dtype), packed, group, scales) / k,
            ]
    return found


def case_int4_weights_unpacked(torch):
    weight = torch.randint(0, 16, (96, 64), dtype=torch.int32)
    packed, ones = torch._convert_weight_to_int4pack_for_cpu(weight, 2), torch.ones(2, 96, 2, dtype=torch.bfloat16)
    ones[:, :, 1] = 8
    return (
        torch._weight_int4pack_mm_for_cpu(torch.eye(64, dtype=torch.bfloat16), packed, 32, ones).t().to(torch.int32)
        - weight
    )


def case_int4_weights_refused(torch):
    w = torch.randint(0, 16, (64, 64), dtype=torch.int32)
    pack, mm, p = (
        torch._convert_weight_to_int4pack_for_cpu,
        torch._weight_int4pack_mm_for_cpu,
        torch._convert_weight_to_int4pack_for_cpu(w, 2),
    )
    a, s = torch.randn(4, 64), torch.rand(2, 64, 2)
    return [
        answer(lambda: pack(w.long(), 2)),
        answer(lambda: pack(w[:10], 2)),
        answer(lambda: pack(w[:, :5].contiguous(), 2)),
        answer(lambda: pack(w[0], 2)),
        answer(lambda: mm(a, p, 16, s)),
        answer(lambda: mm(a, w, 32, s)),
        answer(lambda: mm(a.double(), p, 32, s.double())),
        answer(lambda: mm(a, p, 32, s.half())),
        answer(lambda: mm(a, p, 32, s[:, :3])),
        answer(lambda: mm(a, p, 32, s[0])),
        answer(lambda: mm(a[:, ::2], p, 32, s)),
        answer(lambda: mm(a[:, :32].contiguous(), p, 32, s)),
        answer(lambda: torch._convert_weight_to_int4pack(w, 2))[0],
        answer(lambda: torch._weight_int4pack_mm(a, w, 32, s))[0],
    ]


def case_casts(torch):
    x = torch.tensor([1.5, -2.7, 100.0])
    names = "Char Double Float Half Int Long Short".split()
    return [getattr(torch, f"_cast_{n}")(x) for n in names] + [
        torch._cast_Byte(x.abs(), non_blocking=True),
        torch._cast_Float(x) is x,
        answer(lambda: torch._cast_Long("a")),
    ]


def case_shallow_copy_types(torch):
    x, matrix = torch.ones(2), torch.eye(2)
    kinds = [
        x,
        torch.ones(2, dtype=torch.int64),
        torch.ones(2, device="meta"),
        torch.quantize_per_tensor(x, 0.1, 0, torch.quint8),
        matrix.to_sparse(),
        matrix.to_sparse_csr(),
        matrix.to_sparse_csc(),
    ]
    return [torch._has_compatible_shallow_copy_type(a, b) for a in kinds for b in kinds] + [
        answer(lambda: torch._has_compatible_shallow_copy_type(x, 3))
    ]

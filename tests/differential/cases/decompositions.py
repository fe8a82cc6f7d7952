"""torch._decomp: what programs register, and tracing by it."""

from comparing import STRICT

TOLERANCE = STRICT

LIBRARIES = []  # a library's operators go with it


def case_tables_of_decompositions(torch):
    from torch import _decomp
    from torch._inductor import decomposition
    from torch.fx.experimental.proxy_tensor import make_fx

    lib = torch.library.Library("decomposed_here", "DEF")
    LIBRARIES.append(lib)
    lib.define("twice(Tensor x) -> Tensor")
    lib.define("twice.by(Tensor x, int n) -> Tensor")
    lib.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
    lib.impl("twice.by", lambda x, n: x * n, "CompositeExplicitAutograd")
    packet, table = torch.ops.decomposed_here.twice, {}
    own = _decomp.register_decomposition(packet, table)(lambda x, n=2: x + x)
    found = [sorted(str(op) for op in table), callable(own)]
    for make in (
        lambda: _decomp.register_decomposition([packet.default], table)(own),
        lambda: _decomp.register_decomposition(packet, type="other"),
        lambda: _decomp.get_decompositions([packet], type="other"),
    ):
        try:
            make()(own)
        except (RuntimeError, AssertionError) as error:
            found.append(type(error).__name__)
    _decomp.register_decomposition({"a": [packet.by]})(own)
    found.append([str(op) for op in _decomp.get_decompositions([packet])])
    _decomp.remove_decompositions(_decomp.decomposition_table, [packet])
    found.append(len(_decomp.get_decompositions([packet])))
    traced = make_fx(lambda x: packet(x) + 1, decomposition_table={packet.default: lambda x: x + x})(torch.ones(2))
    found.append([[str(n.target) for n in traced.graph.nodes], traced(torch.ones(2))])
    decomposition.register_decomposition([packet.default])(own)
    found.append(decomposition.decompositions[packet.default] is own)
    try:
        decomposition.register_decomposition([packet.default])(own)
    except RuntimeError as error:
        found.append(str(error))
    return found


def case_options_of_scaled_products(torch):
    F = torch.nn.functional
    return [{k: int(v.value) for k, v in c.__members__.items()} for c in (F.ScalingType, F.SwizzleType)] + [
        F.ScalingType.__module__
    ]

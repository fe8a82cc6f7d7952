"""Which operators a mode below autograd sees, forward and backward, of modules and functions.

PyTorch's names, overloads and arguments.
"""

from comparing import STRICT

TOLERANCE = STRICT

MODULES = """
nn.Linear(4, 3) | leaf(2, 4)
nn.Linear(4, 3) | leaf(2, 5, 4)
nn.Identity() | leaf(2, 3)
nn.Conv1d(3, 4, 3) | leaf(2, 3, 8)
nn.Conv2d(3, 4, 3, padding=1, stride=2) | leaf(2, 3, 8, 8)
nn.Conv2d(3, 4, 3, padding='same') | leaf(2, 3, 8, 8)
nn.Conv3d(2, 3, 2) | leaf(1, 2, 4, 4, 4)
nn.ConvTranspose1d(3, 4, 3) | leaf(2, 3, 8)
nn.ConvTranspose2d(3, 4, 3, stride=2) | leaf(2, 3, 5, 5)
nn.Conv2d(4, 4, 3, groups=2, bias=False) | leaf(2, 4, 8, 8)
nn.MaxPool2d(2) | leaf(2, 3, 8, 8)
nn.MaxPool2d(3, 2, 1, return_indices=True) | leaf(2, 3, 8, 8)
nn.MaxPool3d(2) | leaf(2, 3, 4, 4, 4)
nn.AvgPool2d(2) | leaf(2, 3, 8, 8)
nn.AvgPool3d(2) | leaf(2, 3, 4, 4, 4)
nn.AdaptiveMaxPool2d(2) | leaf(2, 3, 8, 8)
nn.AdaptiveMaxPool3d(2) | leaf(2, 3, 4, 4, 4)
nn.GroupNorm(2, 4) | leaf(2, 4, 5)
nn.GroupNorm(2, 4, affine=False) | leaf(2, 4, 5, 5)
nn.LayerNorm(4) | leaf(2, 3, 4)
nn.LayerNorm(4, bias=False) | leaf(2, 3, 4)
nn.LayerNorm((3, 4), elementwise_affine=False) | leaf(2, 3, 4)
nn.ReLU() | leaf(2, 3)
nn.ReLU6() | leaf(2, 3)
nn.ELU() | leaf(2, 3)
nn.CELU(0.5) | leaf(2, 3)
nn.GELU() | leaf(2, 3)
nn.GELU('tanh') | leaf(2, 3)
nn.SiLU() | leaf(2, 3)
nn.Sequential(nn.Linear(3, 3), nn.SiLU(inplace=True)) | leaf(2, 3)
nn.Sigmoid() | leaf(2, 3)
nn.Tanh() | leaf(2, 3)
nn.Softplus() | leaf(2, 3)
nn.Softshrink() | leaf(2, 3)
nn.Hardshrink() | leaf(2, 3)
nn.Tanhshrink() | leaf(2, 3)
nn.Hardtanh() | leaf(2, 3)
nn.Hardsigmoid() | leaf(2, 3)
nn.Hardswish() | leaf(2, 3)
nn.LeakyReLU() | leaf(2, 3)
nn.Threshold(0.1, 2.0) | leaf(2, 3)
nn.Dropout(0.3) | leaf(2, 3)
nn.Fold((4, 4), 2) | leaf(1, 4, 9)
nn.Unfold(2) | leaf(1, 2, 4, 4)
nn.Flatten() | leaf(2, 3, 4)
nn.Unflatten(1, (2, 2)) | leaf(2, 4)
nn.ZeroPad2d(1) | leaf(1, 2, 4, 4)
nn.ConstantPad1d(1, 2.0) | leaf(1, 2, 4)
nn.MSELoss() | leaf(2, 3), torch.randn(2, 3)
nn.SmoothL1Loss() | leaf(2, 3), torch.randn(2, 3)
nn.HuberLoss() | leaf(2, 3), torch.randn(2, 3)
nn.CrossEntropyLoss(weight=torch.ones(3), ignore_index=0) | leaf(2, 3), torch.tensor([0, 2])
nn.SoftMarginLoss() | leaf(2, 3), torch.ones(2, 3)
"""
FUNCTIONS = """
x+y; x+1; 1+x; x-y; x*y; x*2; x**0.5; 2**x; x%2; -x; abs(x); x[0]@y[0]; torch.dot(x[0],y[0]); x.sum(); x.sum(0)
x.sum((0,1),keepdim=True); x.cumsum(1); x.cummax(1)[0]; x.argmax(); x.argmax(1); x.all(); x.exp(); x.log(); x.log2()
x.log1p(); x.expm1(); x.sqrt(); x.sin(); x.sinh(); x.tanh(); x.sigmoid(); x.relu(); x.lgamma(); x.digamma(); x.floor()
x.ceil(); x.round(); x.round(decimals=1); x.trunc(); x.frac(); x.sign(); x.abs(); x.neg(); x.i0(); x.exp2(); x.atan2(y)
torch.fmod(x,2); torch.lerp(x,y,0.5); torch.addcmul(x,y,y); torch.logaddexp(x,y); torch.polygamma(1,x)
torch.where(x>0,x,0.); torch.where(x>0,1.,y); torch.where(x>0,1,0); torch.where(x>0); x.masked_fill(x>0,0.)
x.masked_fill(x>0,torch.tensor(1.)); x[0]; x[:,1]; x[:, 1:3]; x[..., None]; x[[0,1]]; x[torch.tensor([0,1])]
x[:, torch.tensor([0,1])]; x[::2]; x[None]; x.index_select(0,J); x.index_fill(0,J,1.); x.diagonal(); x.tril()
x.triu(1); x.flip(0); x.roll(1,0); torch.meshgrid(x[0],y[0],indexing='ij'); x.repeat(2,1); x.repeat_interleave(2,0)
x.tile(2); x.expand(2,3,4); x.expand_as(x); torch.broadcast_to(x,(2,3,4)); x.unfold(1,2,1); x.view(-1); x.view(4,3)
x.reshape(-1); x.flatten(); x.t(); x.T; x.mT; x.transpose(0,1); x.permute(1,0); x.movedim(0,1); x.swapaxes(0,1)
x.unsqueeze(0); x.contiguous(); x.t().contiguous(); x.clone(); x.detach(); x.split([1,2]); torch.cat([x,y])
torch.hstack([x,y]); torch.vstack([x,y]); torch.column_stack([x,y]); x.unflatten(1,(2,2)); x.ravel(); x.narrow(0,1,2)
x.select(0,1); x.to(torch.float64); x.double(); x.half(); x.float(); x.to('cpu'); x.type(torch.float64)
x.type_as(y.double()); x.long(); x.bool(); x.view_as(y); torch.zeros_like(x); torch.ones_like(x); torch.full_like(x,2)
torch.empty_like(x).fill_(1); torch.rand_like(x); torch.randn_like(x); torch.zeros(2); torch.ones(2,3)
torch.full((2,),1.5); torch.arange(5); torch.arange(1,5,2); torch.eye(3); torch.eye(2,3); torch.empty(2).zero_()
torch.rand(2); torch.randn(2,3); torch.randint(0,5,(2,)); torch.randperm(4); torch.tensor([1.,2.]); torch.tensor(1)
torch.normal(0.,1.,(2,)); x.new_zeros(2); x.new_ones(2); x.new_full((2,),3.); x.new_tensor([1.])
x.new_empty(2).zero_(); torch.bernoulli(torch.full((2,),.5)); torch.multinomial(torch.ones(3),2)
torch.tril_indices(3,3); torch.triu_indices(3,3); torch.as_tensor([1,2]); torch.hann_window(4); torch.bincount(J)
torch.histc(y); torch.nonzero(y>0); torch.isin(J,J); torch.isnan(x); torch.isinf(x); x.eq(y); x==1; x!=y; x<y; x>=0
x.logical_and(y); ~(x>0); (x>0)&(y>0); (x>0)|(y>0); J&1; J^J; x.tolist() and x; Z.add_(1); Z.add_(y); Z.mul_(2)
Z.mul_(y); Z.sub_(y); Z.div_(2); Z.pow_(2); Z.zero_(); Z.fill_(2); Z.copy_(y); Z.clamp_(0,1); Z.clamp_min_(0)
Z.relu_(); Z.exp_(); Z.sigmoid_(); Z.tanh_(); Z.masked_fill_(y>0,1.); Z.index_put_((J,),y[:2]); Z.addcmul_(y,y,value=2)
Z.neg_(); Z.abs_(); Z.sqrt_(); Z.t_(); Z.unsqueeze_(0); Z.squeeze_(); Z.transpose_(0,1); Z.normal_(); Z.uniform_()
Z.bernoulli_(.5); Z.detach_(); Z.tril_(); Z.floor_(); Z.fill_diagonal_(0); Z.resize_(2,3); Z.random_()
Z.exponential_(); Z.logical_not_(); Z.cumsum_(0); Z.data.mul_(2); F.softmax(x,1); F.dropout(x,0.5); F.relu(x)
F.gelu(x); F.silu(x); F.pad(x,(1,1)); F.layer_norm(x,(4,)); F.embedding(J,x); F.linear(x,y,y[:,0]); F.hardswish(x)
F.unfold(x[None,None],2); F.conv1d(x[None],y[:, :3][None].reshape(3,3,1)); F.leaky_relu(x,0.2); F.elu(x,.5); F.celu(x)
F.threshold(x,0,1); F.tanhshrink(x); torch.view_as_complex(x.view(3,2,2)); nn.utils.clip_grad_norm_([x],1.)
torch.bitwise_left_shift(J,1); torch.bitwise_and(J,J); torch.gcd(J,J); torch.fliplr(x); torch.ravel(x)
torch.swapdims(x,0,1); torch.celu(x); torch.unique_consecutive(J); torch.cummin(x,0)[0]; torch.vdot(x[0],y[0])
torch.nn.utils.parameters_to_vector([x,y])
"""


def described(a):
    """An argument as text: of a tensor shape and dtype."""
    if hasattr(a, "detach"):
        return f"{list(a.shape)}{str(a.dtype)[6:]}"
    if isinstance(a, (list, tuple)):
        return [described(b) for b in a]
    return {k: described(v) for k, v in sorted(a.items())} if isinstance(a, dict) else repr(a)


def tensors(o):
    """The tensors of a result."""
    if hasattr(o, "detach"):
        yield o
    elif isinstance(o, (list, tuple)):
        for part in o:
            yield from tensors(part)


def calls(torch, f):
    """What a mode sees of a function, and of its first result's gradient."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Log(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.calls = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.calls.append([str(func), described(list(args)), described(kwargs or {})])
            return func(*args, **(kwargs or {}))

    torch.manual_seed(0)
    with Log() as forward:
        out = f()
    results = [t for t in tensors(out) if t.requires_grad]
    if not results:
        return [forward.calls]
    root = next((t for t in results if t.is_floating_point()), results[0])
    with Log() as backward:
        torch.autograd.backward([root], [torch.ones_like(root.detach())])
    return [forward.calls, backward.calls]


def names(torch):
    """What the texts name."""
    leaf = lambda *shape: torch.randn(*shape).requires_grad_()
    rows = torch.tensor([0, 1])
    return {
        "torch": torch,
        "nn": torch.nn,
        "F": torch.nn.functional,
        "leaf": leaf,
        "J": rows,
        "Z": torch.randn(3, 4),
        "x": leaf(3, 4),
        "y": leaf(3, 4),
        "A": leaf(3, 3),
    }


def of_module(torch, text):
    """The calls of ``module | arguments``."""
    made, _, arguments = text.partition(" | ")
    space = names(torch)
    module, given = eval(made, space), eval(f"({arguments},)", space)
    return calls(torch, lambda: module(*given))


def of_function(torch, text):
    """The calls of an expression over x and y."""
    code, space = compile(text, text, "eval"), names(torch)
    return calls(torch, lambda: eval(code, space))


def functions():
    """The texts of FUNCTIONS."""
    return [text.strip() for line in FUNCTIONS.strip().split("\n") for text in line.split(";") if text.strip()]


def case_calls_of_modules(torch):
    return {text: of_module(torch, text) for text in MODULES.strip().split("\n")}


def case_calls_of_functions(torch):
    return {text: of_function(torch, text) for text in functions()}


def case_numbers_that_the_dispatcher_takes_for_words(torch):
    aten, x, y, t = (
        torch.ops.aten,
        torch.arange(30.0).view(5, 6).sin(),
        torch.arange(30.0).view(5, 6).cos(),
        torch.arange(5),
    )
    found = []
    for r in (0, 1, 2):
        found += [
            aten.l1_loss(x, y, r),
            aten.multi_margin_loss(x, t, 1, 1.0, None, r),
            aten.nll_loss_nd(x, t, None, r, -100),
        ]
        found += [
            aten.multilabel_margin_loss(x, t[:, None].expand(5, 6).contiguous(), r),
            aten.cdist(x, y, 2.0, r),
            aten.cross_entropy_loss(x, t, None, r),
        ]
    values, at = torch.nn.functional.max_pool2d(x[None, None, :4], 2, return_indices=True)
    found += [aten.max_unpool2d(values, at, [4, 6]), aten.nuclear_norm(x, True), aten.tensordot(x, y, [1], [1])]
    found += aten.fractional_max_pool2d(x[None, None], [2, 2], [2, 2], torch.full((1, 1, 2), 0.3))
    return [
        *found,
        aten.stft(x, 4, None, None, torch.ones(4), False, None, True).abs(),
        aten.cross_entropy_loss(x, t, label_smoothing=0.2),
    ]

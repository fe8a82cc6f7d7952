"""Hooks of nodes and modules that return what they may not, memory formats that are ambiguous, convolutions of nothing, refused parametrizations."""


def _told(f):
    try:
        return f()
    except Exception as e:
        return type(e).__name__, str(e).split("\n")[0][:160]


def case_what_hooks_of_nodes_may_return(torch):
    def run(method, hook):
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        getattr(y.grad_fn, method)(hook)
        y.sum().backward()
        return x.grad

    post = [lambda gi, go: (), lambda gi, go: (*gi, gi[0]), lambda gi, go: gi[0], lambda gi, go: None, lambda gi, go: [gi[0]]]
    pre = [lambda go: (), lambda go: (*go, go[0]), lambda go: go[0], lambda go: None, lambda go: (go[0] * 2,)]
    return [_told(lambda h=h: run("register_hook", h)) for h in post] + [_told(lambda h=h: run("register_prehook", h)) for h in pre]


def case_what_hooks_of_modules_may_return(torch):
    def run(method, hook):
        m, x = torch.nn.Sigmoid(), torch.ones(3, requires_grad=True)
        getattr(m, method)(hook)
        m(x).sum().backward()
        return x.grad

    both = ("register_backward_hook", "register_full_backward_hook")
    hooks = [lambda m, gi, go: (), lambda m, gi, go: (*gi, gi[0]), lambda m, gi, go: (gi[0] * 2,), lambda m, gi, go: gi[0]]
    pre = [lambda m, go: (), lambda m, go: (*go, go[0]), lambda m, go: (go[0] * 2,), lambda m, go: go[0]]
    found = [_told(lambda n=n, h=h: run(n, h)) for n in both for h in hooks]
    return found + [_told(lambda h=h: run("register_full_backward_pre_hook", h)) for h in pre]


def case_formats_that_strides_leave_open(torch):
    last, rows = torch.channels_last, torch.contiguous_format
    one = torch.ones(2, 1, 4, 5)
    return [
        t.stride()
        for t in (
            torch.ones(2, 3).T.to(memory_format=rows),
            torch.ones(2, 3, 4, 5).transpose(1, 2).to(memory_format=rows),
            torch.ones(2, 3, 4, 5).to(memory_format=last).to(memory_format=rows),
            one.to(memory_format=last),
            one.contiguous(memory_format=last),
            one.to(memory_format=last).clone(),
            torch.ones(2, 3, 1, 1).to(memory_format=last),
            torch.nn.Conv2d(1, 8, 3).to(memory_format=last)(torch.ones(2, 1, 6, 6)),
        )
    ]


def case_convolutions_of_no_image(torch):
    nn, found = torch.nn, []
    for m, shape in (
        (nn.Conv2d(4, 4, 3, stride=2, padding=1, groups=4), (0, 4, 4, 4)),
        (nn.Conv1d(4, 4, 3), (0, 4, 4)),
        (nn.Conv3d(4, 4, 3), (0, 4, 4, 4, 4)),
        (nn.ConvTranspose2d(4, 4, 3), (0, 4, 4, 4)),
    ):
        x = torch.randn(shape, requires_grad=True)
        y = m(x)
        y.sum().backward()
        found += [y.shape, x.grad, m.weight.grad, m.bias.grad]
    return found


def case_nothing_to_pack(torch):
    return [_told(lambda s=s: torch.nn.utils.rnn.pack_padded_sequence(torch.randn(s), torch.zeros(s[1], dtype=torch.int64))) for s in ((0, 0), (0, 3), (2, 1))]


def case_refused_parametrizations(torch):
    parametrize = torch.nn.utils.parametrize

    class Changed(torch.nn.Module):
        def __init__(self, there=None, back=None):
            super().__init__()
            self.there = there or (lambda x: x)
            if back:
                self.right_inverse = back

        def forward(self, x):
            return self.there(x)

    changes = [{"there": lambda x: x[:-1]}, {"there": lambda x: x.bool()}, {"there": lambda x: (x, x)}]
    changes += [{"back": lambda x: x[:-1]}, {"back": lambda x: x.bool()}, {"back": lambda x: (x, x)}]
    plain, taken = torch.nn.Linear(3, 4), torch.nn.Linear(3, 4)
    parametrize.register_parametrization(taken, "weight", Changed())
    return [_told(lambda m=m, c=c: parametrize.register_parametrization(m, "weight", Changed(**c))) for m in (plain, taken) for c in changes]

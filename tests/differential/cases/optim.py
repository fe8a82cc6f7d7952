"""Programs over torch.optim: each gives the same here as in PyTorch. run_cases.py of tests/oracle runs them, seeded."""

import pickle
import warnings

OPTIMIZERS = {
    "SGD": (
        {"lr": 0.1},
        {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
        {"momentum": 0.9, "dampening": 0.5},
    ),
    "Adam": ({}, {"amsgrad": True, "weight_decay": 0.1, "maximize": True}),
    "AdamW": ({"lr": 0.1}, {"amsgrad": True}),
    "Adamax": ({"weight_decay": 0.1},),
    "NAdam": ({"decoupled_weight_decay": True, "weight_decay": 0.1},),
    "RAdam": ({"weight_decay": 0.1},),
    "Adagrad": ({"lr_decay": 0.1, "initial_accumulator_value": 0.1},),
    "Adadelta": ({"rho": 0.8, "weight_decay": 0.1},),
    "RMSprop": ({"centered": True, "momentum": 0.9}, {"weight_decay": 0.1}),
    "Rprop": ({"lr": 0.1},),
    "ASGD": ({"lr": 0.1, "t0": 2},),
    "Adafactor": ({"weight_decay": 0.1},),
}


def outcome(f):
    """What f returns, or the error that it raises."""
    try:
        return ["ok", repr(f())]
    except Exception as e:
        return [type(e).__name__, str(e)]


def steps(torch, name, options, dtype):
    """Parameters after steps with random gradients, with a save and load half way; the keys of the state."""
    cls, r = getattr(torch.optim, name), []
    params = [torch.nn.Parameter(torch.randn(*shape, dtype=dtype)) for shape in ((4, 3), (5,))]
    o = cls([{"params": params[:1]}, {"params": params[1:], "lr": 0.01}], **options)
    for i in range(6):
        o.zero_grad()
        for p in params:
            p.grad = torch.randn(p.shape, dtype=dtype)
        o.step()
        if i == 2:
            state, o = o.state_dict(), cls([{"params": params[:1]}, {"params": params[1:]}], **options)
            o.load_state_dict(state)
        r.append([p.detach().clone() for p in params])
    state = o.state_dict()["state"]
    return [r, repr(o), {k: sorted(v) for k, v in state.items()}]


def case_optimizers(torch):
    return {
        f"{name} {options}": steps(torch, name, options, torch.float32)
        for name, several in OPTIMIZERS.items()
        for options in several
    }


def case_optimizers_in_double(torch):
    return {name: steps(torch, name, several[0], torch.float64) for name, several in OPTIMIZERS.items()}


def parameters_of_all_kinds(torch):
    """Small and large ones, of several dtypes and strides."""
    values = [
        torch.randn(3, 4),
        torch.randn(()),
        torch.randn(0),
        torch.randn(50, 60),
        torch.randn(4, 3).double(),
        torch.randn(3, 4).t(),
    ]
    return [
        torch.nn.Parameter(v)
        for v in (*values, torch.randn(3, dtype=torch.complex64), torch.randn(5).bfloat16(), torch.randn(200, 200))
    ]


def case_sgd_over_parameters_of_all_kinds(torch):
    """Some have missed a step."""
    r = []
    several = (
        {"momentum": 0.9},
        {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
        {"momentum": 0.8, "dampening": 0.3, "maximize": True, "weight_decay": 0.1},
    )
    for options in (*several, {"momentum": 0.5, "lr": torch.tensor(0.1)}):
        params = [
            p for p in parameters_of_all_kinds(torch) if p.dtype is not torch.bfloat16
        ]  # a formula of three steps rounds otherwise there
        o = torch.optim.SGD(params, **{"lr": 0.1} | options)
        for i in range(4):
            for k, p in enumerate(params):
                p.grad = None if i == k else torch.randn_like(p)
            o.step()
        state = [[b, b.stride()] for b in (o.state[p]["momentum_buffer"] for p in params)]
        r.append([[p.detach() for p in params], [p._version > 0 for p in params[4:5]], state])
    return r


def case_adam_over_parameters_of_all_kinds(torch):
    """Some have missed a step."""
    r = []
    for cls, options in (
        ("Adam", {"weight_decay": 0.1, "maximize": True}),
        ("AdamW", {"lr": 0.1}),
        ("Adam", {"lr": torch.tensor(0.1)}),
    ):
        params = parameters_of_all_kinds(torch)
        o = getattr(torch.optim, cls)(params, **options)
        for i in range(4):
            for k, p in enumerate(params):
                p.grad = None if i == k else torch.randn_like(p)
            o.step()
        state = [
            [s["step"], s["exp_avg"], s["exp_avg_sq"], s["exp_avg"].stride()] for s in (o.state[p] for p in params)
        ]
        r.append([[p.detach() for p in params], [p._version > 0 for p in params[4:5]], state])
    return r


def case_lbfgs(torch):
    r = []
    for search in (None, "strong_wolfe"):
        x = torch.nn.Parameter(torch.tensor([-1.5, 2.0], dtype=torch.float64))
        o = torch.optim.LBFGS([x], lr=0.1 if search is None else 1, max_iter=8, line_search_fn=search)

        def closure():
            o.zero_grad()
            loss = (1 - x[0]) ** 2 + 5 * (x[1] - x[0] ** 2) ** 2
            loss.backward()
            return loss

        r += [[float(o.step(closure)) for _ in range(4)], x.detach(), sorted(o.state[x])]
    return r


def case_hooks_and_groups(torch):
    optim, log = torch.optim, []
    p = [torch.nn.Parameter(torch.ones(n)) for n in (2, 3)]
    o = optim.SGD([("a", p[0]), ("b", p[1])], lr=0.1, momentum=0.9)
    r = [o.state_dict(), repr(o)]
    o.register_step_pre_hook(lambda *a: log.append("pre"))
    o.register_step_post_hook(lambda *a: log.append("post"))
    o.register_state_dict_pre_hook(lambda o: log.append("save"))
    o.register_state_dict_post_hook(lambda o, s: log.append("saved"))
    o.register_load_state_dict_pre_hook(lambda o, s: log.append("load"))
    o.register_load_state_dict_post_hook(lambda o: log.append("loaded"))
    for q in p:
        q.grad = torch.ones_like(q)
    o.step()
    o.load_state_dict(o.state_dict())
    o.zero_grad(set_to_none=False)
    adam = optim.Adam(p)
    adam.step()
    return r + [log, [q.grad for q in p], pickle.loads(pickle.dumps(adam)).state_dict()["state"]]


def case_errors(torch):
    optim = torch.optim
    sched = optim.lr_scheduler
    p = [torch.nn.Parameter(torch.ones(n)) for n in (2, 3)]
    o = optim.SGD(p, lr=0.1)
    return [
        outcome(f)
        for f in (
            lambda: optim.SGD(p[0]),
            lambda: optim.SGD([]),
            lambda: optim.SGD([3]),
            lambda: optim.SGD([p[0] * 2]),
            lambda: optim.SGD([{"params": {p[0]}}]),
            lambda: optim.SGD([{"params": [p[0]]}, {"params": [p[0]]}]),
            lambda: optim.SGD([("a", p[0]), p[1]]),
            lambda: optim.SGD(p, lr=-1),
            lambda: optim.Adam(p, betas=(1.0, 0.9)),
            lambda: optim.Adam(p, eps=-1),
            lambda: optim.SGD(p, nesterov=True),
            lambda: o.add_param_group(3),
            lambda: optim.LBFGS([{"params": [p[0]]}, {"params": [p[1]]}]),
            lambda: o.load_state_dict({"state": {}, "param_groups": []}),
            lambda: o.load_state_dict({"state": {}, "param_groups": [{"params": [0]}]}),
            lambda: optim.Muon([p[0]]),
            lambda: sched.StepLR(3, 1),
            lambda: sched.LambdaLR(o, [len] * 3),
            lambda: sched.SequentialLR(o, [], []),
            lambda: sched.OneCycleLR(o, 1.0),
            lambda: sched.CyclicLR(o, 0.1, 0.2, mode="x"),
            lambda: sched.ReduceLROnPlateau(o, mode="x"),
            lambda: sched.ReduceLROnPlateau(o, factor=2.0),
            lambda: sched.CosineAnnealingWarmRestarts(o, 0),
            lambda: sched.LinearLR(o, start_factor=0),
        )
    ]


def case_schedules(torch):
    sched, r = torch.optim.lr_scheduler, {}
    for make in (
        lambda o: sched.LambdaLR(o, lambda e: 0.95**e),
        lambda o: sched.MultiplicativeLR(o, lambda e: 0.9),
        lambda o: sched.StepLR(o, 3),
        lambda o: sched.MultiStepLR(o, [2, 2, 7]),
        lambda o: sched.ConstantLR(o),
        lambda o: sched.LinearLR(o),
        lambda o: sched.ExponentialLR(o, 0.9),
        lambda o: sched.PolynomialLR(o, 8, 2.0),
        lambda o: sched.CosineAnnealingLR(o, 7, 0.01),
        lambda o: sched.CosineAnnealingWarmRestarts(o, 3, 2),
        lambda o: sched.CyclicLR(o, 0.01, 0.1, 3, 5, "triangular2"),
        lambda o: sched.OneCycleLR(o, [0.5, 0.2], 24, three_phase=True, pct_start=0.4),
        lambda o: sched.SequentialLR(o, [sched.LinearLR(o, 0.01, total_iters=5), sched.CosineAnnealingLR(o, 15)], [5]),
        lambda o: sched.ChainedScheduler([sched.ConstantLR(o, 0.1, 4), sched.ExponentialLR(o, 0.9)]),
        lambda o: torch.optim.swa_utils.SWALR(o, 0.02, 5),
        lambda o: sched.ReduceLROnPlateau(o, patience=1, factor=0.5),
    ):
        o = torch.optim.SGD(
            [{"params": [torch.nn.Parameter(torch.zeros(2))], "lr": lr} for lr in (0.1, 0.2)], momentum=0.9
        )
        s, rates = make(o), []
        for _ in range(20):
            rates.append([g["lr"] for g in o.param_groups] + [g["momentum"] for g in o.param_groups])
            o.step()
            s.step(*[1.0] if isinstance(s, sched.ReduceLROnPlateau) else [])
        r[type(s).__name__] = [rates, sorted(s.state_dict()), s.get_last_lr()]
    return r


def case_schedules_at_given_epochs(torch):
    sched, r = torch.optim.lr_scheduler, {}
    for make in (
        lambda o: sched.LambdaLR(o, lambda e: 0.95**e),
        lambda o: sched.MultiplicativeLR(o, lambda e: 0.9),
        lambda o: sched.StepLR(o, 3),
        lambda o: sched.MultiStepLR(o, [2, 2, 7]),
        lambda o: sched.ConstantLR(o, 0.25, 4),
        lambda o: sched.LinearLR(o, 0.25, 0.75, 4),
        lambda o: sched.ExponentialLR(o, 0.9),
        lambda o: sched.PolynomialLR(o, 8, 2.0),
        lambda o: sched.CosineAnnealingLR(o, 7, 0.01),
        lambda o: sched.CosineAnnealingWarmRestarts(o, 3, 2, 0.01),
        lambda o: sched.CyclicLR(o, 0.01, 0.1, 3, 5, "triangular2"),
        lambda o: sched.OneCycleLR(o, 0.5, 24),
    ):
        o = torch.optim.SGD(
            [{"params": [torch.nn.Parameter(torch.zeros(2))], "lr": lr} for lr in (0.1, 0.2)], momentum=0.9
        )
        s, rates = make(o), []
        for epoch in (1, 2, 3, 4, 5, 9, 6, 3, 8, 7, 0, 12, 14):
            o.step()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                s.step(epoch)
            rates.append([[g["lr"] for g in o.param_groups], s.last_epoch])
        r[type(s).__name__] = rates
    return r


def case_rates_in_tensors(torch):
    rate = torch.tensor(0.1)
    p = torch.nn.Parameter(torch.ones(2))
    o = torch.optim.Adam([p], lr=rate)
    s = torch.optim.lr_scheduler.ExponentialLR(o, 0.5)
    for _ in range(3):
        p.grad = torch.ones(2)
        o.step()
        s.step()
    return [rate, s.get_last_lr(), p]


def case_averaging(torch):
    nn, swa, r = torch.nn, torch.optim.swa_utils, []
    for options in ({}, {"avg_fn": swa.get_ema_avg_fn(0.9)}, {"multi_avg_fn": swa.get_ema_multi_avg_fn(0.9)}):
        m = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
        average = swa.AveragedModel(m, **options)
        for _ in range(4):
            with torch.no_grad():
                for p in m.parameters():
                    p.add_(torch.randn_like(p))
            m(torch.randn(4, 2))
            average.update_parameters(m)
        r += [
            list(average.parameters()),
            list(average.buffers()),
            average(torch.randn(3, 2)),
            list(average.state_dict()),
        ]
    swa.update_bn([torch.ones(4, 2), torch.zeros(4, 2)], m)
    return r + [list(m.buffers())]


def case_functions_over_lists(torch):
    import importlib
    import inspect

    numbers = {
        "lr": 0.1,
        "beta1": 0.9,
        "beta2": 0.99,
        "weight_decay": 0.1,
        "eps": 1e-6,
        "maximize": False,
        "momentum": 0.9,
        "dampening": 0,
        "nesterov": False,
    }
    numbers |= {
        "rho": 0.9,
        "lr_decay": 0.1,
        "lambd": 1e-3,
        "t0": 2.0,
        "alpha": 0.7,
        "momentum_decay": 0.004,
        "centered": True,
        "amsgrad": True,
    }
    numbers |= {"step_size_min": 1e-6, "step_size_max": 5, "etaminus": 0.5, "etaplus": 1.2}
    r = []
    for name in "adadelta adagrad adam adamax adamw asgd nadam radam rmsprop rprop sgd".split():
        f = getattr(importlib.import_module(f"torch.optim.{name}"), name)
        parameters = inspect.signature(f).parameters.values()
        params = [torch.arange(3.0) + i for i in range(2)]
        grads = [torch.ones(3) * (i + 1) - torch.arange(3.0) for i in range(2)]
        ones = ("state_steps", "mus", "mu_products", "etas")
        lists = {
            p.name: [torch.tensor(1.0) if p.name in ones else torch.zeros(3) + 0.1 * i for i in range(2)]
            for p in list(parameters)[2:]
            if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD
        }
        if name == "sgd":
            lists["momentum_buffer_list"] = [None, None]
        for _ in range(2):
            f(
                params,
                grads,
                **lists,
                **{p.name: numbers[p.name] for p in parameters if p.kind is p.KEYWORD_ONLY or p.name == "maximize"},
            )
        r.append([name, [p.name for p in parameters], params, lists])
    return r


def case_functional_optimizers(torch):
    """Steps that are handed their gradients."""
    import warnings

    warnings.simplefilter("ignore")  # PyTorch's are scripts, which are deprecated
    from torch.distributed.optim import as_functional_optim
    from torch.distributed.optim.utils import functional_optim_map

    r = [outcome(lambda: as_functional_optim(torch.optim.LBFGS)), sorted(cls.__name__ for cls in functional_optim_map)]
    for name in ("SGD", "Adam", "AdamW"):
        p = torch.randn(3, requires_grad=True)
        o = as_functional_optim(getattr(torch.optim, name), 0.1)
        for _ in range(3):
            o.step_param(p, torch.randn(3))
        r.append([name, p.detach(), p.grad, sorted(o.state[p])])
    for name in ("SGD", "Adam", "AdamW", "Adagrad", "Adadelta", "RMSprop", "Rprop", "Adamax"):
        params = [torch.randn(3), torch.randn(2, 2)]
        o = functional_optim_map[getattr(torch.optim, name)](params, 0.1)
        for _ in range(3):
            o.step([torch.randn(3), torch.randn(2, 2)])
        if name in ("SGD", "Adam", "AdamW"):  # PyTorch's others mistake the parameters where gradients are missing
            o.step([None, torch.randn(2, 2)])
        r.append([name, *params])
        r.append(outcome(lambda: o.step([None])))
    r.append(outcome(lambda: functional_optim_map[torch.optim.SGD]([])))
    return r


def case_named_optimizers(torch):
    from torch.distributed.optim import _NamedOptimizer

    nn, r = torch.nn, []
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    for groups in (None, [{"params": [model[0].weight], "lr": 0.5}, {"params": model[1].parameters()}]):
        o = _NamedOptimizer(model.named_parameters(), torch.optim.Adam, groups, lr=0.1)
        r.append(outcome(lambda: o.load_state_dict(o.state_dict())))
        model(torch.randn(4, 2)).sum().backward()
        o.step()
        saved = o.state_dict()
        r.append(
            [
                [(k, sorted(v)) for k, v in saved["state"].items()],
                [(g["params"], g["lr"]) for g in saved["param_groups"]],
            ]
        )
        o2 = _NamedOptimizer(model.named_parameters(), torch.optim.Adam, groups, lr=0.3)
        o2.init_state()
        o2.load_state_dict(saved)
        r.append(
            [
                [(k, v["step"], v["exp_avg"]) for k, v in o2.state_dict()["state"].items()],
                [g["lr"] for g in o2.param_groups],
            ]
        )
        for broken in ({"step": 1}, {"step": 1, "exp_avg": 1, "other": 1}):
            r.append(
                outcome(
                    lambda: o2.load_state_dict({"state": {"0.weight": broken}, "param_groups": saved["param_groups"]})
                )
            )
    r.append(
        outcome(
            lambda: _NamedOptimizer(model.named_parameters(), torch.optim.SGD, [{"params": [torch.zeros(1)]}], lr=1.0)
        )[0]
    )
    r.append(outcome(lambda: _NamedOptimizer(model.named_parameters(), torch.optim.SGD, [{"x": 1}], lr=1.0)))
    return r


def case_what_optimizers_refuse_and_forget(torch):
    """A refused step leaves no trace.

    Loaded groups have what the file has, and switches that are newer; L-BFGS keeps tensors.
    """
    p, found = torch.nn.Parameter(torch.ones(2, 2)), []
    adam = torch.optim.SparseAdam([p], lr=0.1)
    for grad in (torch.ones(2, 2), torch.eye(2).to_sparse()):
        p.grad = grad
        try:
            adam.step()
        except RuntimeError as e:
            found.append(str(e))
        found += [p.detach().clone(), {k: v for k, v in adam.state[p].items()}]
    adam = torch.optim.Adam([p])
    adam.load_state_dict({"state": {}, "param_groups": [{"params": [0]}]})
    found.append(sorted(adam.param_groups[0]))
    for options in ({}, {"foreach": True}):
        capturable = torch.optim.Adam([p], capturable=True, **options)
        p.grad = torch.ones(2, 2)
        try:
            capturable.step()
        except (AssertionError, RuntimeError) as e:
            found.append(str(e).partition("], ")[0].partition("'hpu'")[0])
    q = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    lbfgs = torch.optim.LBFGS([q], lr=1, max_iter=4)

    def closure():
        lbfgs.zero_grad()
        loss = (q**4).sum()
        loss.backward()
        return loss

    lbfgs.step(closure)
    state = lbfgs.state_dict()["state"][0]
    return [
        *found,
        [(k, type(v).__name__) for k, v in state.items()],
        [type(v).__name__ for v in state["ro"]],
        q.detach(),
        state["H_diag"],
    ]


def _schedulers(torch):
    sched = torch.optim.lr_scheduler
    return {
        "LambdaLR": lambda o: sched.LambdaLR(o, lambda e: 0.95**e),
        "MultiplicativeLR": lambda o: sched.MultiplicativeLR(o, lambda e: 0.9),
        "StepLR": lambda o: sched.StepLR(o, 3),
        "MultiStepLR": lambda o: sched.MultiStepLR(o, [2, 2, 7]),
        "ConstantLR": lambda o: sched.ConstantLR(o, 0.25, 6),
        "LinearLR": lambda o: sched.LinearLR(o, 0.25, 0.75, 6),
        "ExponentialLR": lambda o: sched.ExponentialLR(o, 0.9),
        "PolynomialLR": lambda o: sched.PolynomialLR(o, 8, 2.0),
        "CosineAnnealingLR": lambda o: sched.CosineAnnealingLR(o, 7, 0.01),
        "CosineAnnealingWarmRestarts": lambda o: sched.CosineAnnealingWarmRestarts(o, 3, 2),
        "CyclicLR": lambda o: sched.CyclicLR(o, 0.01, 0.1, 3, 5, "triangular2"),
        "OneCycleLR": lambda o: sched.OneCycleLR(o, [0.5, 0.2], 24, three_phase=True, pct_start=0.4),
        "SequentialLR": lambda o: sched.SequentialLR(
            o, [sched.LinearLR(o, 0.01, total_iters=5), sched.CosineAnnealingLR(o, 15)], [5]
        ),
        "ChainedScheduler": lambda o: sched.ChainedScheduler(
            [sched.ConstantLR(o, 0.1, 4), sched.ExponentialLR(o, 0.9)]
        ),
        "SWALR": lambda o: torch.optim.swa_utils.SWALR(o, 0.02, 5),
        "ReduceLROnPlateau": lambda o: sched.ReduceLROnPlateau(o, patience=2, factor=0.5, cooldown=2),
    }


def _two_groups(torch):
    return torch.optim.SGD(
        [{"params": [torch.nn.Parameter(torch.zeros(2))], "lr": lr} for lr in (0.1, 0.2)], momentum=0.9
    )


def _metrics(s):
    """What step() of a scheduler takes: the same metric at all steps but the first."""
    return [0.5 if s.last_epoch else 1.0] if type(s).__name__ == "ReduceLROnPlateau" else []


def case_states_of_schedulers_loaded_into_used_ones(torch):
    """A scheduler that has run goes on as the one whose state it loads, whatever it has done itself."""
    found = {}
    for name, make in _schedulers(torch).items():
        for before, after in ((2, 5), (5, 2), (9, 0), (0, 6)):
            pairs = []
            for count in (before, after):
                o = _two_groups(torch)
                pairs.append((o, make(o)))
                for _ in range(count):
                    o.step()
                    pairs[-1][1].step(*_metrics(pairs[-1][1]))
            (saved_optimizer, saved), (o, s) = pairs
            o.load_state_dict(saved_optimizer.state_dict())
            s.load_state_dict(saved.state_dict())
            rates = [[g["lr"] for g in o.param_groups], s.get_last_lr()]
            for _ in range(6):
                o.step()
                s.step(*_metrics(s))
                rates.append([g["lr"] for g in o.param_groups])
            found[f"{name} {before} {after}"] = [
                rates,
                {k: repr(v) for k, v in s.state_dict().items() if "lambda" not in k and "scale_fn" not in k},
            ]
    return found


def case_states_of_optimizers_loaded_into_used_ones(torch):
    found = {}
    for name, several in OPTIMIZERS.items():
        for options in several:
            made = []
            for count in (2, 4):
                p = torch.nn.Parameter(torch.linspace(-1, 1, 4))
                o = getattr(torch.optim, name)([p], **options)
                for k in range(count):
                    p.grad = torch.linspace(-2, 1, 4) * (k + count)
                    o.step()
                made.append((p, o))
            (_, saved), (p, o) = made
            o.load_state_dict(saved.state_dict())
            values = []
            for k in range(3):
                p.grad = torch.linspace(1, -1, 4) * (k + 1)
                o.step()
                values.append(p.detach().clone())
            found[f"{name} {options}"] = [values, o.state_dict()["state"].get(0), saved.state_dict()["state"].get(0)]
    return found


def _scaled(torch, scaler, finite):
    p = torch.nn.Parameter(torch.ones(2))
    o = torch.optim.SGD([p], lr=0.1)
    scaler.scale(p.sum() * (1.0 if finite else float("inf"))).backward()
    scaler.step(o)
    scaler.update()
    return p.detach().clone()


def case_states_of_scalers_loaded_into_used_ones(torch):
    found = {}
    options = {"init_scale": 8.0, "growth_interval": 4, "growth_factor": 3.0, "backoff_factor": 0.25}
    for before in ("", "1", "111", "10", "0", "11110"):
        for after in ("", "1", "11", "0", "01"):
            saved, scaler = (
                torch.amp.GradScaler("cpu", **o) for o in (options, {"init_scale": 2.0, "growth_interval": 7})
            )
            for s, steps in ((saved, before), (scaler, after)):
                for finite in steps:
                    _scaled(torch, s, finite == "1")
            scaler.load_state_dict(saved.state_dict())
            states = [scaler.state_dict(), scaler._get_growth_tracker()]
            for finite in "11011111":
                states.append([_scaled(torch, scaler, finite == "1"), scaler.get_scale(), scaler._get_growth_tracker()])
            found[f"{before} {after}"] = [states, scaler.state_dict()]
    return found


def _options_with_bounds(name):
    """Options that bounds, restarts and special steps depend on, beside those of every optimizer."""
    more = {
        "Rprop": [{"step_sizes": (0.05, 0.2)}, {"etas": (0.1, 3.0)}],
        "Adagrad": [{"lr_decay": 0.5}, {"eps": 0.1}],
        "RAdam": [{"betas": (0.5, 0.6)}, {"decoupled_weight_decay": True, "weight_decay": 0.1}],
        "NAdam": [{"momentum_decay": 0.5}],
        "ASGD": [{"lambd": 0.1, "alpha": 0.5, "t0": 5}],
        "Adamax": [{"betas": (0.1, 0.2), "eps": 0.1}],
        "Adadelta": [{"rho": 0.0}, {"rho": 1.0}],
        "RMSprop": [{"alpha": 0.1, "eps": 0.1}, {"centered": True}],
        "Adafactor": [{"beta2_decay": -0.3, "d": 2.0}, {"eps": (1e-2, 0.5)}],
        "SGD": [{"lr": 0.1, "momentum": 0.5, "dampening": 0.3, "maximize": True}],
        "Adam": [{"betas": (0.0, 0.5), "eps": 0.1}, {"amsgrad": True, "betas": (0.5, 0.5)}],
        "AdamW": [{"weight_decay": 0.5, "maximize": True}],
    }
    return [{}, {"lr": 0.5}, *more.get(name, [])]


def case_long_runs_with_gradients_of_all_kinds(torch):
    """Of one sign, of changing signs, large, tiny, zero: what has a bound reaches it, what restarts does so."""
    found = {}
    for name in OPTIMIZERS:
        for options in _options_with_bounds(name):
            p = torch.nn.Parameter(torch.linspace(-1, 1, 6, dtype=torch.float64).reshape(2, 3))
            o = getattr(torch.optim, name)([p], **options)
            values = []
            for k in range(40):
                size = (1.0, 1e3, 1e-3, 0.0)[k // 10 % 4] if k % 7 else 1.0
                sign = 1 if k < 15 else (-1) ** k
                p.grad = torch.linspace(1, 2, 6, dtype=torch.float64).reshape(2, 3) * size * sign
                o.step()
                if k % 5 == 4:
                    values.append(p.detach().clone())
            found[f"{name} {options}"] = [values, o.state_dict()["state"].get(0)]
    return found


def case_plateaus(torch):
    """Every mode of ReduceLROnPlateau over a metric that stays, falls, rises and jumps."""
    found, R = {}, torch.optim.lr_scheduler.ReduceLROnPlateau
    metrics = [
        1.0,
        1.0,
        0.9,
        0.9,
        0.9,
        0.9,
        0.9,
        1.2,
        0.9,
        0.85,
        0.85,
        float("nan"),
        0.85,
        0.2,
        0.3,
        0.3,
        0.3,
        0.3,
        0.3,
        0.3,
    ]
    for mode in ("min", "max"):
        for threshold_mode in ("rel", "abs"):
            for patience, cooldown, more in (
                (0, 0, {}),
                (1, 0, {}),
                (1, 2, {}),
                (2, 3, {"min_lr": 0.03}),
                (0, 1, {"threshold": 0.2}),
                (1, 1, {"min_lr": [0.05, 0.01], "eps": 0.04}),
            ):
                o = _two_groups(torch)
                s = R(o, mode, 0.5, patience, threshold_mode=threshold_mode, cooldown=cooldown, **more)
                rates = []
                for m in metrics:
                    s.step(m)
                    rates.append(
                        [[g["lr"] for g in o.param_groups], s.num_bad_epochs, s.cooldown_counter, repr(s.best)]
                    )
                found[f"{mode} {threshold_mode} {patience} {cooldown} {more}"] = rates
    return found


def case_arguments_of_schedulers(torch):
    """Every scheduler with arguments other than its defaults, over more epochs than its periods."""
    sched, found = torch.optim.lr_scheduler, {}
    S = torch.optim.swa_utils.SWALR
    makers = {
        "steps": lambda o: sched.MultiStepLR(o, [1, 5, 5, 5, 12], 0.5),
        "step": lambda o: sched.StepLR(o, 1, 0.7),
        "constant": lambda o: sched.ConstantLR(o, 0.5, 0),
        "linear": lambda o: sched.LinearLR(o, 1.0, 0.0, 3),
        "polynomial": lambda o: sched.PolynomialLR(o, 1, 0.5),
        "cosine": lambda o: sched.CosineAnnealingLR(o, 4, 0.05),
        "restarts": lambda o: sched.CosineAnnealingWarmRestarts(o, 1, 3, 0.01),
        "restarts of one length": lambda o: sched.CosineAnnealingWarmRestarts(o, 4),
        "cycle": lambda o: sched.CyclicLR(o, [0.01, 0.02], [0.1, 0.3], 2, 3, "exp_range", 0.9, cycle_momentum=False),
        "cycle of iterations": lambda o: sched.CyclicLR(
            o, 0.01, 0.1, 4, scale_fn=lambda x: 1 / (1 + x), scale_mode="iterations"
        ),
        "one cycle": lambda o: sched.OneCycleLR(
            o, 0.5, epochs=5, steps_per_epoch=6, anneal_strategy="linear", div_factor=10, final_div_factor=3
        ),
        "one cycle of two phases": lambda o: sched.OneCycleLR(
            o, 0.5, 30, pct_start=0.1, base_momentum=0.5, max_momentum=0.8
        ),
        "sequence": lambda o: sched.SequentialLR(
            o, [sched.ConstantLR(o, 0.1, 2), sched.ExponentialLR(o, 0.9), sched.StepLR(o, 2)], [3, 9]
        ),
        "chain": lambda o: sched.ChainedScheduler(
            [sched.LinearLR(o, 0.5, 1.0, 4), sched.MultiStepLR(o, [3, 8], 0.5), sched.CosineAnnealingLR(o, 10)]
        ),
        "averages": lambda o: S(o, 0.02, 5, "linear"),
        "averages at once": lambda o: S(o, [0.02, 0.3], 0),
    }
    for name, make in makers.items():
        o = _two_groups(torch)
        s, rates = make(o), []
        for _ in range(28):
            o.step()
            s.step()
            rates.append([[g["lr"] for g in o.param_groups], [g["momentum"] for g in o.param_groups]])
        found[name] = rates
    return found

"""torch.distributions: parameters, moments, samples of one seed, densities, divergences, transforms and constraints, as
in PyTorch.
"""

from attempts import attempt
from comparing import STRICT

TOLERANCE = STRICT

WIDER = {
    "case_gradients": {
        "float32": (2e-5, 2e-6)
    },  # Gamma's derivative with respect to its shape is a series, summed in float32
    "case_gradients_of_densities": {"float32": (2e-5, 4e-6)},  # differences of nearly equal numbers
    "case_compounds": {
        "float32": (2e-5, 2e-6)
    },  # the density of broken sticks takes logarithms of differences of what is left
}


def families(torch):
    t, D = torch.tensor, torch.distributions
    L = t([[2.0, 0, 0], [0.3, 1.5, 0], [0.1, -0.2, 0.8]])
    C = L @ L.T
    two = (t([0.0, 1]), t([1.0, 2]))
    spec = {
        "Normal": [two, (0.0, 1.0)],
        "Bernoulli": [(t([0.3, 0.5]),), (None, t([0.3, -2.0]))],
        "Beta": [(t([2.0, 0.5]), t([3.0, 0.7])), (2, 3), (t([1.0, 2.0]), t([2.0, 0.3]))],
        "Binomial": [(5, t([0.3, 0.6])), (t([4.0, 4.0]), None, t([0.3, -0.1])), (5, t([0.8, 0.1]))],
        "Categorical": [(t([[0.2, 0.8], [0.5, 0.5]]),), (None, t([0.1, 0.2, 0.3])), (t([[0.6, 0.4], [0.1, 0.9]]),)],
        "Cauchy": [two, (t([0.5, -1.0]), t([2.0, 0.5]))],
        "Chi2": [(t([3.0, 4.0]),), (t([1.0, 6.0]),)],
        "ContinuousBernoulli": [(t([0.2, 0.5, 0.9]),), (None, t([0.4, 0.0])), (t([0.7, 0.1, 0.4]),)],
        "Dirichlet": [(t([[1.0, 2, 3], [0.5, 0.5, 0.5]]),), (t([[2.0, 1, 1.5], [0.7, 1.2, 0.3]]),)],
        "Exponential": [(t([1.0, 2.0]),), (t([0.5, 3.0]),)],
        "FisherSnedecor": [(t([3.0, 1.0]), t([5.0, 3.0]))],
        "Gamma": [(t([2.0, 0.5]), t([1.0, 3.0])), (t([1.0, 2.0]), t([2.0, 0.5]))],
        "GeneralizedPareto": [(t([0.0, 0.0, 1.0]), t([1.0, 2.0, 1.0]), t([0.3, 0.0, -0.4]))],
        "Geometric": [(t([0.3, 0.9]),), (None, t([0.2]))],
        "Gumbel": [two, (0.0, 1.0)],
        "HalfCauchy": [(t([1.0, 2.0]),)],
        "HalfNormal": [(t([1.0, 2.0]),), (t([0.5, 3.0]),)],
        "InverseGamma": [(t([2.5, 0.5]), t([1.0, 3.0]))],
        "Kumaraswamy": [(t([2.0, 0.5]), t([3.0, 2.0]))],
        "LKJCholesky": [(3, t([0.5, 2.0]))],
        "Laplace": [two, (t([1.0, -1.0]), t([0.5, 2.0]))],
        "LogNormal": [(t([0.0, 1]), t([1.0, 0.5])), (t([0.5, -1.0]), t([2.0, 1.0]))],
        "LogisticNormal": [(t([0.0, 1]), t([1.0, 0.5]))],
        "LowRankMultivariateNormal": [
            (torch.zeros(3), torch.ones(3, 1) * 0.5, torch.ones(3)),
            (torch.ones(3) * 0.3, torch.ones(3, 1) * 0.2, torch.ones(3) * 2),
        ],
        "Multinomial": [(4, t([[0.2, 0.3, 0.5]])), (4, None, t([0.1, 0.2]))],
        "MultivariateNormal": [(torch.zeros(3), C), (torch.ones(2, 3), None, C), (torch.zeros(3), None, None, L)],
        "NegativeBinomial": [(t([3.0, 2.5]), t([0.3, 0.6])), (3, None, t([0.2]))],
        "OneHotCategorical": [(t([[0.2, 0.8], [0.5, 0.5]]),), (t([[0.6, 0.4], [0.1, 0.9]]),)],
        "OneHotCategoricalStraightThrough": [(t([0.2, 0.8]),)],
        "Pareto": [(t([1.0, 2.0]), t([3.0, 1.5])), (t([0.5, 1.0]), t([2.0, 2.5]))],
        "Poisson": [(t([1.0, 4.0]),), (t([2.0, 0.5]),)],
        "RelaxedBernoulli": [(t(0.7), t([0.3, 0.8]))],
        "RelaxedOneHotCategorical": [(t(0.7), t([0.3, 0.7]))],
        "StudentT": [(t([3.0, 1.0, 1.5]),), (3.0,)],
        "Uniform": [(t([0.0, 1.0]), t([1.0, 3.0])), (0.0, 1.0), (t([-1.0, 0.0]), t([4.0, 5.0]))],
        "VonMises": [(t([0.0, 1.0]), t([1.0, 4.5]))],
        "Weibull": [(t([1.0, 2.0]), t([0.5, 1.5]))],
        "Wishart": [(t(4.0), C), (5.0, None, None, L)],
    }
    return [(f"{name} {i}", getattr(D, name)(*args)) for name, argss in spec.items() for i, args in enumerate(argss)]


# where PyTorch 2.13 is wrong: an expanded Multinomial lacks what its entropy needs
WRONG_THERE = {("Multinomial", "expanded entropy")}


def table(torch, f):
    result = {}
    for name, d in families(torch):
        torch.manual_seed(7)
        for key, value in f(d).items():
            if (type(d).__name__, key) not in WRONG_THERE:
                result[f"{name} {key}"] = value
    return result


def case_moments_and_shapes(torch):
    names = (
        "mean",
        "mode",
        "variance",
        "stddev",
        "has_rsample",
        "has_enumerate_support",
        "probs",
        "logits",
        "covariance_matrix",
        "precision_matrix",
        "scale_tril",
    )
    return table(
        torch,
        lambda d: (
            {
                n: attempt(lambda n=n: getattr(d, n))
                for n in names
                if n in ("mean", "mode", "variance", "stddev") or hasattr(type(d), n)
            }
            | {
                "repr": repr(d),
                "shapes": [d.batch_shape, d.event_shape],
                "support": attempt(lambda: repr(d.support).replace("(upper_bound=4)", "()")),
                "constraints": repr(d.arg_constraints),
            }
        ),
    )


def case_samples(torch):
    return table(
        torch, lambda d: {"sample": attempt(lambda: d.sample((3,))), "rsample": attempt(lambda: d.rsample((2,)))}
    )


def case_densities(torch):
    def f(d):
        v = torch.stack([d.mean] * 2) if type(d).__name__ == "Wishart" else d.sample((4,))
        return {
            "log_prob": attempt(lambda: d.log_prob(v)),
            "cdf": attempt(lambda: d.cdf(v)),
            "icdf": attempt(lambda: d.icdf(torch.tensor(0.3))),
            "entropy": attempt(d.entropy),
            "enumerate": attempt(d.enumerate_support),
            "nan": attempt(lambda: d.log_prob(v * float("nan"))),
            "shape": attempt(lambda: d.log_prob(torch.ones(7, 5))),
        }

    return table(torch, f)


def case_expanded(torch):
    def f(d):
        e = d.expand((2, *d.batch_shape))
        v = d.mean.nan_to_num() if type(d).__name__ == "Wishart" else d.sample((4,))[:, None]
        return {
            "shapes": [e.batch_shape, e.event_shape],
            "log_prob": attempt(lambda: e.log_prob(v)),
            "mean": attempt(lambda: e.mean),
            "expanded entropy": attempt(e.entropy),
            "repr": repr(e),
            "sample": attempt(lambda: e.sample()),
        }

    return table(torch, f)


def case_divergences(torch):
    all = families(torch)
    return {
        f"{n} {m}": attempt(lambda: torch.distributions.kl_divergence(p, q))
        for n, p in all
        for m, q in all
        if type(p).__name__ != "Wishart" or type(q).__name__ == "Wishart"
    }


def case_gradients(torch):
    D, result = torch.distributions, {}
    for name, args in {
        "Normal": ([0.3], [1.2]),
        "Gamma": ([2.0], [1.5]),
        "Beta": ([2.0], [1.5]),
        # not Dirichlet, not StudentT: PyTorch approximates the gradients of gamma variates by rational functions
        # (1e-4), ours are exact
        "Gumbel": ([0.0], [1.0]),
    }.items():
        xs = [torch.tensor(a, requires_grad=True) for a in args]
        d = getattr(D, name)(*xs)
        value = d.sample((3,))
        result[name] = torch.autograd.grad(d.log_prob(value).sum() + d.rsample((3,)).pow(2).sum(), xs)
    return result


def case_compounds(torch):
    D, t, result = torch.distributions, torch.tensor, []
    for d in (
        D.Independent(D.Normal(torch.zeros(2, 3), torch.ones(2, 3)), 1),
        D.TransformedDistribution(D.Normal(t([0.0, 1]), t([1.0, 2])), [D.ExpTransform(), D.AffineTransform(1.0, 2.0)]),
        D.MixtureSameFamily(D.Categorical(t([0.3, 0.7])), D.Normal(t([0.0, 1]), t([1.0, 2]))),
        D.MixtureSameFamily(
            D.Categorical(t([0.3, 0.7])), D.Independent(D.Normal(torch.zeros(2, 3), torch.ones(2, 3)), 1)
        ),
        D.TransformedDistribution(D.Normal(torch.zeros(4, 3), torch.ones(4, 3)), D.StickBreakingTransform()),
        D.TransformedDistribution(D.StudentT(3.0, 0.0, 1.0), [D.AffineTransform(2.0, 3.0)]),
    ):
        v = d.sample((2,))
        result.append(
            [
                attempt(f)
                for f in (
                    lambda: d.mean,
                    lambda: d.variance,
                    lambda: v,
                    lambda: d.log_prob(v),
                    lambda: d.rsample((3,)),
                    lambda: d.cdf(v),
                    lambda: d.icdf(t(0.3)),
                    lambda: repr(d),
                    lambda: repr(d.support),
                    d.entropy,
                    lambda: d.expand((5, *d.batch_shape)).log_prob(v[:, None]),
                )
            ]
        )
    return result


def case_transforms(torch):
    D, t, x, result = torch.distributions, torch.tensor, torch.randn(4, 3), {}
    for f in (
        D.ExpTransform(),
        D.SigmoidTransform(),
        D.SoftplusTransform(),
        D.TanhTransform(),
        D.AbsTransform(),
        D.AffineTransform(1.0, -2.0),
        D.AffineTransform(t([1.0, 2, 3]), t([1.0, 2, 3]), 1),
        D.PowerTransform(2.0),
        D.SoftmaxTransform(),
        D.StickBreakingTransform(),
        D.CorrCholeskyTransform(),
        D.ComposeTransform([D.AffineTransform(0.0, 2.0), D.ExpTransform()]),
        D.ComposeTransform([D.AffineTransform(0.0, 2.0), D.StickBreakingTransform()]),
        D.IndependentTransform(D.ExpTransform(), 1),
        D.ReshapeTransform((3,), (3, 1)),
        D.CatTransform([D.ExpTransform(), D.AffineTransform(0.0, 2.0)], -1, [1, 2]),
        D.StackTransform([D.ExpTransform(), D.AffineTransform(0.0, 2.0), D.TanhTransform()], -1),
        D.CumulativeDistributionTransform(D.Normal(0.0, 1.0)),
        D.ComposeTransform([]),
    ):
        a = x.abs()
        y = f(a)
        result[f"{len(result)} {f!r}"] = [
            attempt(g)
            for g in (
                lambda: y,
                lambda: f.inv(y),
                lambda: f.log_abs_det_jacobian(a, y),
                lambda: f.inv.log_abs_det_jacobian(y, a),
                lambda: repr(f.inv),
                lambda: repr(f.domain) + repr(f.codomain),
                lambda: f.bijective,
                lambda: f.sign,
                lambda: tuple(f.forward_shape(x.shape)),
                lambda: tuple(f.inverse_shape(y.shape)),
                lambda: f.inv.inv is f,
                lambda: f == f,
            )
        ]
    return result


def case_constraints(torch):
    D, result = torch.distributions, {}
    L = torch.tensor([[2.0, 0, 0], [0.3, 1.5, 0], [0.1, -0.2, 0.8]])
    values = (L @ L.T, L, torch.eye(3), torch.linspace(-1, 1, 18).reshape(2, 3, 3), torch.tensor([[0.2, 0.3, 0.5]]), -L)
    for name in (
        "boolean one_hot nonnegative_integer positive_integer real real_vector positive nonnegative unit_interval "
        "simplex lower_triangular lower_cholesky corr_cholesky square symmetric positive_semidefinite "
        "positive_definite"
    ).split():
        c = getattr(D.constraints, name)
        result[name] = [
            repr(c),
            c.event_dim,
            c.is_discrete,
            [attempt(lambda: c.check(v)) for v in values],
            attempt(lambda: repr(D.biject_to(c))),
            attempt(lambda: repr(D.transform_to(c))),
        ]
    return result


def case_errors(torch):
    D, t = torch.distributions, torch.tensor

    def text(f):
        try:
            return repr(f())
        except Exception as e:
            return [type(e).__name__, str(e)]

    return [
        text(f)
        for f in (
            lambda: D.Normal(0.0, -1.0),
            lambda: D.Categorical(t(1.0)),
            lambda: D.Bernoulli(),
            lambda: D.Bernoulli(0.3, 0.2),
            lambda: D.Uniform(1.0, 0.0),
            lambda: D.Normal("a", 1),
            lambda: D.Independent(D.Normal(0.0, 1.0), 1),
            lambda: D.Normal(0.0, 1.0, validate_args=False).log_prob(3.0),
            lambda: D.Normal(0.0, 1.0).log_prob(3.0),
            lambda: D.Normal(t([0.0]), t([1.0])).log_prob(t([float("nan")])),
        )
    ]


def case_distributions_and_transforms_that_are_modules(torch):
    """The base that comes after them in the order of classes is initialized too."""
    D = torch.distributions

    class Shift(D.transforms.Transform, torch.nn.Module):
        bijective, domain, codomain = True, D.constraints.real, D.constraints.real

        def __init__(self):
            super().__init__(cache_size=1)
            self.by = torch.nn.Parameter(torch.tensor(2.0))

        def _call(self, x):
            return x + self.by

        def _inverse(self, y):
            return y - self.by

        def log_abs_det_jacobian(self, x, y):
            return torch.zeros_like(x)

        __call__, __hash__ = D.transforms.Transform.__call__, torch.nn.Module.__hash__

    class Learned(D.Normal, torch.nn.Module):
        def __init__(self):
            super().__init__(torch.zeros(2), torch.ones(2), validate_args=False)
            self.more = torch.nn.Linear(2, 1)

    class Counted:
        def __init__(self):
            self.counted = True

    class Both(torch.utils.data.ConcatDataset, Counted):
        pass

    class Chain(torch.utils.data.ChainDataset, Counted):
        pass

    shift, learned = Shift(), Learned()
    shifted = D.TransformedDistribution(D.Normal(0.0, 1.0), [shift])
    shifted.log_prob(torch.tensor(1.0)).backward()
    return [
        shift.by.grad,
        len(list(shift.parameters())),
        list(learned.state_dict()),
        learned.log_prob(torch.zeros(2)),
        Both([[1]]).counted,
        Chain([]).counted,
    ]


def case_modes_over_a_grid(torch):
    """Modes and moments on both sides of every value at which they change: nan, infinite, at the edge."""
    D, found = torch.distributions, {}
    a, b = (t.flatten() for t in torch.meshgrid(*[torch.tensor([0.4, 1.0, 1.5, 2.0, 2.5, 4.5])] * 2, indexing="ij"))
    for name, d in {
        "Beta": D.Beta(a, b),
        "Gamma": D.Gamma(a, b),
        "InverseGamma": D.InverseGamma(a, b),
        "Kumaraswamy": D.Kumaraswamy(a, b),
        "Weibull": D.Weibull(a, b),
        "Pareto": D.Pareto(a, b),
        "StudentT": D.StudentT(a, 0.0, b),
        "FisherSnedecor": D.FisherSnedecor(2 * a, 2 * b),
        "Chi2": D.Chi2(a),
        "LogNormal": D.LogNormal(a, b),
        "Dirichlet": D.Dirichlet(torch.stack([a, b, a.flip(0)], 1)),
        "Geometric": D.Geometric(a / 5),
        "Binomial": D.Binomial(5, a / 5),
        "NegativeBinomial": D.NegativeBinomial(a, b / 5),
        "Poisson": D.Poisson(a),
        "Laplace": D.Laplace(a, b),
        "HalfCauchy": D.HalfCauchy(a),
        "Uniform": D.Uniform(-a, b),
    }.items():
        for part in ("mode", "mean", "variance", "entropy"):
            try:
                value = getattr(d, part)
                found[f"{name} {part}"] = value() if callable(value) else value
            except NotImplementedError as e:
                found[f"{name} {part}"] = str(e)
    return found


def _special(torch, constraint, p):
    """Values of a parameter at which formulas have cases of their own, or None."""
    text = repr(constraint)
    if "Real" in text and "positive" not in text.lower():
        return torch.zeros_like(p)
    if "UnitInterval" in text or "Interval(" in text and "1.0" in text:
        return torch.full_like(p, 0.5)
    if "GreaterThan" in text:
        return torch.ones_like(p)
    return None


def case_gradients_of_densities(torch):
    """By every parameter and by the value, also where the parameters and the values are special ones."""
    found = {}
    for name, d in families(torch):
        given = [n for n in d.arg_constraints if n in d.__dict__ and isinstance(d.__dict__[n], torch.Tensor)]
        if not given or not all(d.__dict__[n].is_floating_point() for n in given):
            continue
        for kind in ("given", "special"):
            values = {}
            for n in given:
                p = d.__dict__[n].detach().clone()
                special = _special(torch, d.arg_constraints[n], p) if kind == "special" else None
                values[n] = p if special is None else special
            more = {n: getattr(d, n) for n in ("temperature", "dim") if hasattr(d, n)}

            def made(values=values, more=more, d=d):
                """The distribution and its parameters, anew for each gradient."""
                parameters = {n: p.clone().requires_grad_() for n, p in values.items()}
                return type(d)(**parameters, **more), list(parameters.values())

            def of_density(v, made=made):
                m, parameters = made()
                v = v.detach().clone().requires_grad_(v.is_floating_point())
                out = m.log_prob(v)
                grads = torch.autograd.grad(out.sum(), [*parameters, *[v] * v.requires_grad], allow_unused=True)
                return [g if g is None else g.contiguous() for g in (out.detach(), *grads)]

            def of_moment(moment, made=made):
                m, parameters = made()
                value = getattr(m, moment)
                value = value() if callable(value) else value
                return [value.detach(), *torch.autograd.grad(value.sum(), parameters, allow_unused=True)]

            first = attempt(made)
            if isinstance(first, str):
                continue
            torch.manual_seed(3)
            sample = first[0].sample((2,)) if name[:7] != "Wishart" else torch.stack([first[0].mean] * 2)
            for what, v in {"sample": sample, "zero": torch.zeros_like(sample), "one": torch.ones_like(sample)}.items():
                found[f"{name} {kind} {what}"] = attempt(of_density, v)
            for moment in ("mean", "variance", "entropy"):
                if (name[:6], moment) != ("Fisher", "variance"):  # NaN in PyTorch, from the part that where() drops
                    found[f"{name} {kind} {moment}"] = attempt(of_moment, moment)
    return found


def case_chains_of_transforms(torch):
    """Every two transforms, one after the other, of whatever dimensions their events are."""
    D, found = torch.distributions, {}

    def t(values):
        return torch.tensor(values, dtype=torch.float64)

    links = {
        "exp": D.ExpTransform(),
        "affine": D.AffineTransform(t([1.0, 2, 3]), t([1.0, -2, 3])),
        "affine of vectors": D.AffineTransform(t([1.0, 2, 3]), t([0.5, 2, 3]), 1),
        "sigmoid of vectors": D.IndependentTransform(D.SigmoidTransform(), 1),
        "sticks": D.StickBreakingTransform(),
        "softmax": D.SoftmaxTransform(),
        "cholesky": D.CorrCholeskyTransform(),
        "lower": D.LowerCholeskyTransform(),
        "reshaped": D.ReshapeTransform((3,), (1, 3)),
        "flattened": D.ReshapeTransform((2, 3), (6,)),
        "parts": D.CatTransform([D.ExpTransform(), D.AffineTransform(0.0, 2.0)], -1, [1, 2]),
        "chain": D.ComposeTransform([D.AffineTransform(0.0, 0.5), D.IndependentTransform(D.TanhTransform(), 1)]),
        "inverse": D.ExpTransform().inv,
    }
    x = torch.linspace(0.1, 0.9, 12, dtype=torch.float64).reshape(2, 2, 3)
    for (a, first), (b, second) in ((p, q) for p in links.items() for q in links.items()):
        for cache in (0, 1):
            f = attempt(lambda: D.ComposeTransform([first, second], cache_size=cache))
            if isinstance(f, str):
                found[f"{a}, {b} {cache}"] = f
                continue
            y = attempt(f, x)
            found[f"{a}, {b} {cache}"] = [
                attempt(g)
                for g in (
                    lambda: y,
                    lambda: f.log_abs_det_jacobian(x, y),
                    lambda: [f.domain.event_dim, f.codomain.event_dim],
                    lambda: repr(f.domain),
                    lambda: repr(f.codomain),
                    lambda: f.bijective,
                    lambda: tuple(f.forward_shape(x.shape)),
                    lambda: tuple(f.inverse_shape(y.shape)),
                    lambda: f.inv(y),
                    lambda: f.inv.log_abs_det_jacobian(y, x),
                    lambda: f.sign,
                    lambda: f.inv.inv is f,
                    lambda: f(x) is f(x) if cache else None,
                )
            ]
    return found

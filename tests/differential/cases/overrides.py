"""__torch_function__: what classes, modes and fx are handed of a call, and what takes their class."""

import copy

from comparing import STRICT

TOLERANCE = STRICT


def duck(torch):
    class Duck:
        @classmethod
        def __torch_function__(cls, f, types, args=(), kwargs=None):
            return f.__name__, len(args), sorted(kwargs or {})

    return Duck()


def case_overrides_keywords_as_given(torch):
    d = duck(torch)
    found = [
        torch.sum(d, dim=1),
        torch.sum(d),
        torch.sum(d, 1, True),
        torch.cat([d], dim=0),
        torch.cat(tensors=[d]),
        torch.add(d, 1, alpha=1),
    ]
    found += [
        torch.unsqueeze(d, dim=0),
        torch.unsqueeze(input=d, dim=0),
        torch.transpose(d, dim0=0, dim1=1),
        torch.softmax(d, -1),
        torch.max(d, dim=0),
    ]
    found += [
        torch.zeros_like(d, dtype=None),
        torch.add(input=d, other=1),
        torch.clamp(d, min=0),
        torch.nn.functional.softmax(d, dim=0),
        torch.add(*[d, 1]),
    ]
    return [*found, [torch.stack(t, dim=0) for t in ([d],)], (lambda f: f(d, keepdim=False, dim=2))(torch.mean)]


def case_overrides_methods_of_subclasses(torch):
    seen = []

    class Seen(torch.Tensor):
        @classmethod
        def __torch_function__(cls, f, types, args=(), kwargs=None):
            seen.append((f.__name__, len(args), sorted(kwargs or {})))
            return super().__torch_function__(f, types, args, kwargs or {})

    x = torch.ones(2, 3).as_subclass(Seen)
    (
        x.sum(dim=0),
        x.view(3, 2),
        x.permute(dims=(1, 0)),
        x.clamp(min=0),
        x.mean(dim=0, keepdim=False),
        x.reshape(shape=(6,)),
        x.expand(2, 2, 3),
    )
    x.clamp_(min=0), x.new_zeros(size=(2,)), x.size(dim=0), x.to(dtype=torch.float64)
    return seen


def case_overrides_code_of_graphs(torch):
    def f(x, y):
        z = torch.cat([x, y], dim=0) + torch.unsqueeze(x, dim=1).sum(dim=0, keepdim=False)
        return torch.add(z, other=y, alpha=1), torch.nn.functional.relu(z, inplace=False), z.flatten(start_dim=0)

    return torch.fx.symbolic_trace(f).code


def case_overrides_class_of_gradients(torch):
    class Plain(torch.Tensor):
        pass

    x = torch.ones(2).as_subclass(Plain).requires_grad_()
    (g,) = torch.autograd.grad((x * 3).sum(), x)
    return [
        type(g).__name__,
        type(torch.tensor(x.detach())).__name__,
        type(x.detach()).__name__,
        g.as_subclass(torch.Tensor),
    ]


def case_overrides_class_made_within_a_mode(torch):
    seen = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, f, types, args=(), kwargs=None):
            seen.append("mode " + getattr(f, "__name__", "?"))
            return f(*args, **(kwargs or {}))

    with Mode():

        class Late(torch.Tensor):
            @classmethod
            def __torch_function__(cls, f, types, args=(), kwargs=None):
                seen.append("class " + f.__name__)
                return super().__torch_function__(f, types, args, kwargs or {})

        x = torch.ones(2).as_subclass(Late)
        seen.clear()
        x.tolist()
    x.tolist()
    x.dim()
    return seen


def case_indices_are_asked(torch):
    seen = []

    class Index:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append((func.__name__, [t.__name__ for t in types], len(args)))
            return 7

    class Own(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append((func.__name__, [t.__name__ for t in types], len(args)))
            return super().__torch_function__(func, types, args, kwargs)

    x, i, own = torch.arange(9.0).view(3, 3), Index(), torch.tensor([0, 1]).as_subclass(Own)
    found = [x[i], x[0, i], x[[i]], *(type(r).__name__ for r in (x[own], x[:, own], x[[own, own]]))]
    x[i] = 1
    x[0] = i
    x[own] = 0
    return [found, seen, x]


def case_modes_get_the_methods_of_tensor_themselves(torch):
    from torch.overrides import TorchFunctionMode

    class Mode(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append((func.__name__, func is getattr(torch.Tensor, func.__name__, None)))
            return func(*args, **(kwargs or {}))

    x, seen = torch.ones(2), []
    with Mode(), Mode():
        x.size(), x.detach(), x.is_shared(), len(x), copy.deepcopy(x)
    return seen


def case_overrides_by_what_is_written_into_a_plain_tensor(torch):
    """copy_, fill_, to and out= ask the class of the other tensor too."""
    seen = []

    class Seen(torch.Tensor):
        @classmethod
        def __torch_function__(cls, f, types, args=(), kwargs=None):
            seen.append(f.__name__)
            return super().__torch_function__(f, types, args, kwargs or {})

    own, x = torch.ones(2).as_subclass(Seen), torch.zeros(2)
    found = [
        x.copy_(own),
        x.fill_(own[0]),
        x.to(own),
        torch.add(x, 1, out=own),
        torch.sort(x, out=(own, torch.zeros(2, dtype=torch.int64)))[0],
    ]
    return [[type(r).__name__ for r in found], [name for name in seen if name != "__get__"]]

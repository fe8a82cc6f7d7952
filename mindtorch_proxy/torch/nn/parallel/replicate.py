"""Copies of a module on several devices, whose gradients flow back to the original parameters."""

from . import comm

__all__ = ["replicate"]


def replicate(network, devices, detach=False):
    """Return a copy of the network for each device; with `detach` the copies' tensors have no graph."""
    modules = list(network.modules())
    index = {m: i for i, m in enumerate(modules)}
    tensors = {id(t): t for m in modules for t in (*m._parameters.values(), *m._buffers.values()) if t is not None}
    replicas = []
    for device in devices:
        moved = {k: comm.broadcast(t.detach() if detach else t, [device])[0] for k, t in tensors.items()}
        copies = [m._replicate_for_data_parallel() for m in modules]
        for copy in copies:
            copy._former_parameters = {}
        for m, copy in zip(modules, copies):
            for name, child in m._modules.items():
                copy._modules[name] = None if child is None else copies[index[child]]
            for name, p in m._parameters.items():
                if p is None:
                    copy._parameters[name] = None
                else:  # not leaves, so they become plain attributes
                    copy.__dict__[name] = copy._former_parameters[name] = moved[id(p)]
            for name, b in m._buffers.items():
                copy._buffers[name] = None if b is None else moved[id(b)].detach()
        replicas.append(copies[0])
    return replicas

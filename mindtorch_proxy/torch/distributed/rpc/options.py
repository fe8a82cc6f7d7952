"""Options of RPC workers."""

import torch

from . import constants

__all__ = ["TensorPipeRpcBackendOptions"]


class RpcBackendOptions:
    """The timeout of calls in seconds (0: none), and the URL of the rendezvous."""

    def __init__(self, rpc_timeout=constants.DEFAULT_RPC_TIMEOUT_SEC, init_method=constants.DEFAULT_INIT_METHOD):
        self.rpc_timeout, self.init_method = float(rpc_timeout), init_method


class TensorPipeRpcBackendOptions(RpcBackendOptions):
    """Options of the backend, under PyTorch's name, with the number of threads that serve requests.

    Tensors can only be sent from CPU to CPU; maps between other devices raise NotImplementedError.
    """

    def __init__(
        self,
        *,
        num_worker_threads=constants.DEFAULT_NUM_WORKER_THREADS,
        rpc_timeout=constants.DEFAULT_RPC_TIMEOUT_SEC,
        init_method=constants.DEFAULT_INIT_METHOD,
        device_maps=None,
        devices=None,
        _transports=None,
        _channels=None,
    ):
        super().__init__(rpc_timeout, init_method)
        if num_worker_threads <= 0:
            raise ValueError(f"num_worker_threads must be positive, got {num_worker_threads}")
        self.num_worker_threads, self.device_maps, self.devices = num_worker_threads, {}, []
        for worker, device_map in (device_maps or {}).items():
            self.set_device_map(worker, device_map)
        if devices:
            self.set_devices(devices)

    def set_device_map(self, to, device_map):
        """Set a worker's device map. Devices other than the CPU raise NotImplementedError."""
        for source, target in device_map.items():
            source, target = torch.device(source), torch.device(target)
            if (source.type, target.type) != ("cpu", "cpu"):
                raise NotImplementedError(
                    f"rpc: tensors (any dtype) on {source} for {to}'s {target}: remote procedure calls carry tensors "
                    f"of the CPU"
                )
            self.device_maps.setdefault(to, {})[source] = target

    def set_devices(self, devices):
        """Raise an error, because only CPU tensors are supported."""
        for device in map(torch.device, devices):
            if device.type != "cuda":
                raise ValueError(f"`set_devices` expect a list of CUDA devices, but got device type {device.type}.")
        raise NotImplementedError(
            f"rpc: devices {devices}: remote procedure calls carry tensors (any dtype) of the CPU"
        )

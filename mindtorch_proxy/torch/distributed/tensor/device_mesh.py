"""Older import path of DeviceMesh and init_device_mesh."""

from ..device_mesh import DeviceMesh, _get_device_handle, _mesh_resources, init_device_mesh

__all__ = ["init_device_mesh", "DeviceMesh"]

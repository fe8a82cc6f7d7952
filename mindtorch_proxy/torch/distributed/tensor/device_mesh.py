"""DeviceMesh and init_device_mesh under their older name."""

from ..device_mesh import DeviceMesh, _get_device_handle, _mesh_resources, init_device_mesh

__all__ = ["init_device_mesh", "DeviceMesh"]

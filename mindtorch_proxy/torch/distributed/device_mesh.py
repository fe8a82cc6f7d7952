"""DeviceMesh: the processes of a job as an n-dimensional array, with process groups along each dimension."""

import itertools
import math
import os

import torch

from .distributed_c10d import (
    ProcessGroup,
    _get_default_group,
    _resolve_process_group,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    init_process_group,
    is_initialized,
    new_group,
)

__all__ = ["init_device_mesh", "DeviceMesh"]


class _MeshEnv:
    """The stack of meshes entered by ``with``; the innermost is last."""

    def __init__(self):
        self.mesh_stack = []

    def get_current_mesh(self):
        """Return the innermost mesh."""
        if not self.mesh_stack:
            raise RuntimeError("No device mesh is currently active!")
        return self.mesh_stack[-1]


_mesh_resources = _MeshEnv()


def _get_device_handle(device_type="cuda"):
    """Return the torch module of a device type, or None."""
    return getattr(torch, device_type, None)


# ------------------------------------------------------------------------------------------------ layouts
# A layout gives the positions of a mesh's members in the list of the root's ranks. For each mesh dimension it has the
# (size, stride) pairs of that dimension, slowest first. A flattened dimension has several pairs.
def _dense(sizes):
    strides = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
    return tuple(((size, stride),) for size, stride in zip(sizes, strides))


def _offsets(axis):
    """Return the positions along one axis, in order."""
    return [
        sum(i * stride for i, (_, stride) in zip(index, axis))
        for index in itertools.product(*(range(size) for size, _ in axis))
    ]


def _size(axis):
    return math.prod(size for size, _ in axis)


def _collapsed(layout):
    """Merge all dimensions into one axis, and join adjacent (size, stride) pairs where possible."""
    joined = []
    for size, stride in itertools.chain(*layout):
        if size == 1:
            continue
        if joined and joined[-1][1] == size * stride:
            joined[-1] = (joined[-1][0] * size, stride)
        else:
            joined.append((size, stride))
    return tuple(joined) or ((1, 1),)


def _cosets(layout, count):
    """Return the position lists of all meshes with that layout in a root of ``count`` ranks."""
    offsets = [sum(index) for index in itertools.product(*map(_offsets, layout))]
    left, found = dict.fromkeys(range(count)), []
    while left:
        start = next(iter(left))
        found.append([start + o for o in offsets])
        for position in found[-1]:
            left.pop(position, None)
    return found


class DeviceMesh:
    """An n-dimensional array of ranks, which can be sliced by dimension names into submeshes.

    All processes of the job must create the same meshes in the same order.
    """

    def __init__(
        self,
        device_type,
        mesh=None,
        *,
        mesh_dim_names=None,
        backend_override=None,
        _init_backend=True,
        _rank=None,
        _layout=None,
        _rank_map=None,
        _root_mesh=None,
    ):
        if mesh is not None:
            tensor = (mesh.detach().cpu() if isinstance(mesh, torch.Tensor) else torch.tensor(mesh)).to(torch.int)
            _layout, _rank_map = _dense(tuple(tensor.shape)), tuple(tensor.flatten().tolist())
        elif _layout is None or _rank_map is None:
            raise TypeError("The mesh argument is required except for PRIVATE USAGE ONLY!")
        self._device_type, self._layout, self._rank_map, self._root_mesh = (
            device_type,
            tuple(_layout),
            tuple(_rank_map),
            _root_mesh,
        )
        self._mesh_dim_names = tuple(mesh_dim_names) if mesh_dim_names else None
        if len(set(self._rank_map)) != len(self._rank_map):
            raise AssertionError("a mesh must not have a rank twice")
        backend_override = backend_override or ((None, None),) * len(self._layout)
        if len(backend_override) != len(self._layout):
            raise ValueError(
                "backend_override should have the same length as the number of mesh dimensions, "
                f"but got {len(backend_override)} and {len(self._layout)}."
            )
        self._flatten_mapping = {}
        if _init_backend:
            self._join_world()
            self._dim_group_names = _make_groups(self._layout, self._rank_map, self._mesh_dim_names, backend_override)
        self._rank = get_rank() if _rank is None else _rank
        self._positions = self._find()

    def _join_world(self):
        if not is_initialized():
            init_process_group()
        if self.size() > get_world_size():
            raise RuntimeError(
                f"Mesh should not be bigger than default world size {get_world_size()}, but found {self.size()} ranks!"
            )

    def _find(self):
        """Return the positions in the root of the mesh that contains this rank.

        If this rank is in none, return the positions of the only mesh, or None if there are several.
        """
        all_meshes = _cosets(self._layout, len(self._rank_map))
        if self._rank in self._rank_map:
            position = self._rank_map.index(self._rank)
            return next(positions for positions in all_meshes if position in positions)
        return all_meshes[0] if len(all_meshes) == 1 else None

    # ---- properties
    @property
    def device_type(self):
        """The device type."""
        return self._device_type

    @property
    def mesh_dim_names(self):
        """The names of the dimensions, or None."""
        return self._mesh_dim_names

    @property
    def mesh(self):
        """The tensor of ranks."""
        if self._positions is None:
            raise RuntimeError(
                "In order to get the mesh Tensor of a DeviceMesh it needs to either have all its original dimensions "
                "(e.g., no slicing) or it needs to contain the local rank"
            )
        return torch.tensor([self._rank_map[p] for p in self._positions], dtype=torch.int).reshape(self.shape)

    def size(self, mesh_dim=None):
        """Return the number of ranks, in total or along one dimension."""
        return math.prod(self.shape) if mesh_dim is None else _size(self._layout[mesh_dim])

    @property
    def ndim(self):
        """The number of dimensions."""
        return len(self._layout)

    @property
    def shape(self):
        """The sizes of the dimensions."""
        return tuple(map(_size, self._layout))

    def get_rank(self):
        """Return this process's global rank."""
        return get_rank()

    def get_coordinate(self):
        """Return this rank's index along each dimension, or None if it is not in the mesh."""
        if self._rank not in self._rank_map or self._positions is None:
            return None
        at, coordinate = self._positions.index(self._rank_map.index(self._rank)), []
        for size in reversed(self.shape):
            at, index = divmod(at, size)
            coordinate.append(index)
        return tuple(reversed(coordinate))

    def _is_current_rank_part_of_mesh(self):
        return self.get_coordinate() is not None

    def get_local_rank(self, mesh_dim=None):
        """Return this process's rank along a dimension."""
        if self.ndim > 1 and mesh_dim is None:
            raise RuntimeError(
                f"Found the DeviceMesh have {self.ndim} dimensions",
                "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.",
            )
        return get_rank(self.get_group(mesh_dim or 0))

    def _get_root_mesh(self):
        return self._root_mesh or self

    def _key(self):
        return self._rank_map, self._layout, self._device_type, self._mesh_dim_names

    def __eq__(self, other):
        return self is other or isinstance(other, DeviceMesh) and self._key() == other._key()

    def __hash__(self):
        return hash(self._key())

    def __repr__(self):
        sizes = (
            f"({', '.join(f'{n}={s}' for n, s in zip(self._mesh_dim_names, self.shape))})"
            if self._mesh_dim_names
            else f"{self.shape}"
        )
        stride = tuple(axis[0][1] if len(axis) == 1 else tuple(s for _, s in axis) for axis in self._layout)
        ranks = f", Mesh: {self.mesh.tolist()}" if os.environ.get("TORCH_DISTRIBUTED_DEBUG", "") == "DETAIL" else ""
        return f"DeviceMesh({sizes}, '{self._device_type}', stride={stride}{ranks})"

    def __enter__(self):
        _mesh_resources.mesh_stack.append(self)
        return self

    def __exit__(self, *exc):
        _mesh_resources.mesh_stack.pop()

    # ---- groups
    def get_group(self, mesh_dim=None):
        """Return this rank's process group along a dimension, given by number or name."""
        if not hasattr(self, "_dim_group_names"):
            raise RuntimeError("DeviceMesh process groups not initialized!")
        if self.ndim > 1 and mesh_dim is None:
            raise RuntimeError(
                f"Found the DeviceMesh have {self.ndim} dimensions",
                "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.",
                "If you want to get the list of all the ProcessGroups in the DeviceMesh,please use "
                "`get_all_groups()` instead.",
            )
        flattened = self._get_root_mesh()._flatten_mapping
        if isinstance(mesh_dim, str) and mesh_dim in flattened:
            return _resolve_process_group(flattened[mesh_dim]._dim_group_names[0])
        dim = self._get_mesh_dim_by_name(mesh_dim) if isinstance(mesh_dim, str) else mesh_dim or 0
        return _resolve_process_group(self._dim_group_names[dim])

    def get_all_groups(self):
        """Return this rank's process groups along all dimensions."""
        return [self.get_group(i) for i in range(self.ndim)]

    def _get_mesh_dim_by_name(self, mesh_dim_name):
        if not self._mesh_dim_names:
            raise KeyError("No `mesh_dim_names` found.")
        if mesh_dim_name not in self._mesh_dim_names:
            raise KeyError(
                f"Mesh dimension '{mesh_dim_name}' does not exist.",
                f"Available mesh dimensions are: mesh_dim_names={self._mesh_dim_names}",
            )
        return self._mesh_dim_names.index(mesh_dim_name)

    def _get_root_mesh_dim(self):
        if not self._mesh_dim_names:
            return None
        if len(self._mesh_dim_names) != 1:
            raise AssertionError("The submesh can only be a 1D mesh.")
        return self._get_root_mesh()._get_mesh_dim_by_name(self._mesh_dim_names[0])

    # ---- submeshes and other views of the ranks
    def _related(self, layout, names, groups):
        """Return a mesh with the same root, which uses existing groups."""
        root = self._get_root_mesh()
        made = DeviceMesh(
            self._device_type,
            _layout=layout,
            _rank_map=root._rank_map,
            mesh_dim_names=names,
            _root_mesh=root,
            _init_backend=False,
            _rank=self._rank,
        )
        made._dim_group_names = groups
        return made

    def __getitem__(self, mesh_dim_names):
        if not self._mesh_dim_names:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        names = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        if names == self._mesh_dim_names:
            return self
        flattened = self._flatten_mapping if self._root_mesh is None else {}
        valid = [*self._mesh_dim_names, *flattened]
        if not all(name in valid for name in names):
            raise KeyError(f"Invalid mesh_dim_names {names} specified. Valid mesh_dim_names are {valid}.")
        layout, groups = [], []
        for name in names:
            mesh, at = (
                (self, self._mesh_dim_names.index(name)) if name in self._mesh_dim_names else (flattened[name], 0)
            )
            layout.append(mesh._layout[at])
            groups += mesh._dim_group_names[at : at + 1]
        pairs = [pair for pair in itertools.chain(*layout) if pair[0] > 1]
        if [stride for _, stride in pairs] != sorted((stride for _, stride in pairs), reverse=True):
            raise KeyError(f"Invalid mesh_dim_names {names} specified. Mesh dim indices should be in ascending order.")
        _check_apart(pairs, names)
        return self._related(layout, names, groups)

    def _get_all_submeshes(self, mesh_dim_name):
        dim, meshes = self._get_mesh_dim_by_name(mesh_dim_name), []
        for positions in _cosets([self._layout[dim]], len(self._rank_map)):
            ranks = [self._rank_map[p] for p in positions]
            mesh = DeviceMesh(self._device_type, ranks, mesh_dim_names=(mesh_dim_name,), _init_backend=False)
            mesh._dim_group_names = [self._dim_group_names[dim]] if self._rank in ranks else []
            meshes.append(mesh)
        return meshes

    def _flatten(self, mesh_dim_name=None, backend_override=None):
        """Return a 1D mesh over all dimensions of this one.

        It can afterwards be sliced from the root under the given name.
        """
        if not self._mesh_dim_names:
            raise RuntimeError("Cannot flatten a DeviceMesh without mesh_dim_names!")
        name = mesh_dim_name or "_".join(self._mesh_dim_names)
        if self.ndim == 1 and name in self._mesh_dim_names:
            return self
        root = self._get_root_mesh()
        if name in (root._mesh_dim_names or ()):
            raise ValueError(
                f"{name} already exists for submesh of the {root}. Please specify another valid mesh_dim_name."
            )
        layout = (_collapsed(self._layout),)
        if name in root._flatten_mapping:
            if root._flatten_mapping[name]._layout != layout:
                raise ValueError(
                    f"Flatten mesh with mesh_dim_name {name} has been created before, Please specify another valid "
                    f"mesh_dim_name."
                )
            return root._flatten_mapping[name]
        override = _normalize_backend_override({0: backend_override} if backend_override is not None else {}, 1)
        root._flatten_mapping[name] = DeviceMesh(
            root._device_type,
            _layout=layout,
            _rank_map=root._rank_map,
            mesh_dim_names=(name,),
            _root_mesh=root,
            backend_override=override,
        )
        return root._flatten_mapping[name]

    def _unflatten(self, dim, mesh_sizes, mesh_dim_names, backend_override=None):
        """Return a mesh in which one dimension is split into several."""
        if isinstance(dim, int) and dim >= self.ndim:
            raise ValueError(f"dim {dim} specified in `_unflatten` is out of range {self.ndim}")
        if isinstance(dim, str) and dim not in (self._mesh_dim_names or ()):
            raise ValueError(f"dim {dim} specified in `_unflatten` is not in {self._mesh_dim_names}")
        if len(mesh_sizes) != len(mesh_dim_names):
            raise RuntimeError("mesh_dim_names must have same length as mesh_sizes in _unflatten!")
        dim = self._mesh_dim_names.index(dim) if isinstance(dim, str) else dim
        if math.prod(mesh_sizes) != self.size(dim):
            raise ValueError(
                f"The product of mesh_sizes={mesh_sizes} is {math.prod(mesh_sizes)}, but the original dimension at "
                f"dim={dim} has size {self.size(dim)}. These must be equal for unflatten to work correctly."
            )
        axes = _taken_apart(self._layout[dim], mesh_sizes)
        root = self._get_root_mesh()
        override = _normalize_backend_override(backend_override or {}, len(mesh_sizes), mesh_dim_names)
        names, groups = list(self._mesh_dim_names or map(str, range(self.ndim))), list(self._dim_group_names)
        names[dim : dim + 1] = mesh_dim_names
        groups[dim : dim + 1] = _make_groups(axes, root._rank_map, tuple(mesh_dim_names), override)
        return self._related((*self._layout[:dim], *axes, *self._layout[dim + 1 :]), tuple(names), groups)

    @staticmethod
    def _concatenate(device_mesh_list):
        """Return one mesh with all dimensions of several meshes of the same root."""
        first = device_mesh_list[0]
        if any(mesh._get_root_mesh() != first._get_root_mesh() for mesh in device_mesh_list):
            raise RuntimeError("All DeviceMeshes to be concatenated must have the same root mesh")
        layout = [axis for mesh in device_mesh_list for axis in mesh._layout]
        names = tuple(name for mesh in device_mesh_list for name in mesh._mesh_dim_names)
        _check_apart([pair for pair in itertools.chain(*layout) if pair[0] > 1], names)
        return first._related(layout, names, [group for mesh in device_mesh_list for group in mesh._dim_group_names])

    @staticmethod
    def from_group(group, device_type, mesh=None, *, mesh_dim_names=None):
        """Return a mesh for one group, or for several groups, one per dimension."""
        if isinstance(group, ProcessGroup):
            ranks = get_process_group_ranks(group)
            if mesh is not None and (mesh.tolist() if isinstance(mesh, torch.Tensor) else mesh) != ranks:
                raise ValueError(f"Invalid mesh {mesh} for ProcessGroup with ranks {ranks}")
            groups, mesh = [group], ranks
        else:
            groups = list(group)
            if not groups:
                raise ValueError("Expects at least one ProcessGroup to be passed")
            if mesh is None:
                raise ValueError("Must pass mesh if passing multiple ProcessGroups")
            if mesh_dim_names is None:
                raise ValueError("Must pass mesh_dim_names if passing multiple ProcessGroups")
            mesh = mesh if isinstance(mesh, torch.Tensor) else torch.tensor(mesh)
            if mesh.ndim != len(groups):
                raise ValueError(
                    f"Expects mesh with ndim equal to number of ProcessGroups but got mesh {mesh.tolist()} and "
                    f"{len(groups)} ProcessGroups"
                )
        made = DeviceMesh(device_type, mesh, mesh_dim_names=mesh_dim_names, _init_backend=False)
        made._dim_group_names = [g.group_name for g in groups]
        return made


def _check_apart(pairs, names):
    reached = 0
    for size, stride in sorted(pairs, key=lambda pair: pair[1]):
        if stride < reached:
            raise RuntimeError(f"Slicing overlapping dim_names {names} is not allowed.")
        reached = size * stride


def _taken_apart(axis, sizes):
    """Split an axis into several axes of the given sizes."""
    pairs, axes = list(axis), []
    for wanted in reversed(sizes):
        taken = []
        while wanted > 1:
            size, stride = pairs.pop()
            if wanted % size == 0:
                taken.insert(0, (size, stride))
                wanted //= size
            elif size % wanted == 0:
                taken.insert(0, (wanted, stride))
                pairs.append((size // wanted, stride * wanted))
                wanted = 1
            else:
                raise ValueError(f"a mesh dimension made of {axis} cannot be taken apart into {sizes}")
        axes.insert(0, tuple(taken) or ((1, 1),))
    return tuple(axes)


def _make_groups(layout, rank_map, names, backends):
    """Create the groups along each dimension and return the names of this rank's groups.

    All ranks create all groups.
    """
    mine = []
    for dim, axis in enumerate(layout):
        backend, options = backends[dim]
        if _size(axis) == get_world_size() and backend is None and options is None:
            mine.append(_get_default_group().group_name)
            continue
        for positions in _cosets([axis], len(rank_map)):
            ranks = [rank_map[p] for p in positions]
            timeout = getattr(options, "_timeout", None)
            group = new_group(
                ranks,
                timeout,
                backend,
                options,
                group_desc=f"mesh_{names[dim] if names else f'dim_{dim}'}",
                sort_ranks=False,
            )
            if get_rank() in ranks:
                mine.append(group.group_name)
    return mine


def _normalize_backend_override(backend_override, ndim, mesh_dim_names=None):
    """Return (backend, options) for each dimension, from {number or name: backend, options or both}."""
    given = {
        mesh_dim_names.index(k) if isinstance(k, str) and k in (mesh_dim_names or ()) else k: v
        for k, v in backend_override.items()
    }
    unknown = [k for k in given if not isinstance(k, int) or not 0 <= k < ndim]
    if unknown:
        raise RuntimeError(
            f"Found invalid keys in backend_override: got {unknown}, expected integers in range [0, "
            f"{ndim}) or one of {mesh_dim_names}"
        )
    found = []
    for dim in range(ndim):
        value = given.get(dim)
        found.append(
            value
            if isinstance(value, tuple)
            else (value, None)
            if value is None or isinstance(value, str)
            else (None, value)
        )
    return tuple(found)


def init_device_mesh(device_type, mesh_shape, *, mesh_dim_names=None, backend_override=None):
    """Return a mesh of the given shape over the first ranks, in order."""
    if mesh_dim_names is not None:
        if len(set(mesh_dim_names)) != len(mesh_dim_names):
            raise RuntimeError(
                f"Each mesh_dim_name must be unique. Found repeated mesh_dim_name in mesh_dim_names {mesh_dim_names}"
            )
        if len(mesh_shape) != len(mesh_dim_names):
            raise RuntimeError(
                "mesh_shape and mesh_dim_names should have same length! Found len(mesh_dim_names): "
                f"{len(mesh_dim_names)} and len(mesh_shape):{len(mesh_shape)}."
            )
    override = _normalize_backend_override(backend_override or {}, len(mesh_shape), mesh_dim_names)
    if device_type and not device_type.isalpha():
        raise RuntimeError(
            f"Device type with index is not supported but got {device_type}. ",
            "If you maintained a 'torch.device' object, it's recommended to pass in 'device.type'.",
        )
    ranks = torch.arange(math.prod(mesh_shape), dtype=torch.int).view(tuple(mesh_shape))
    return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names, backend_override=override)

"""torch.func.rearrange: transposes, splits and joins named dimensions."""

import math
import re

import torch

_NUMBER = re.compile(r"\d+$")


def _parsed(side, text):
    """Return the groups of one side of a pattern, which are lists of names, and the set of all names.

    An ellipsis is "...", and a dimension of size one is an empty list.
    """
    if side.count("...") > 1 or "." in side.replace("...", ""):
        raise ValueError(
            "Expression may contain dots only inside ellipsis (...); can have only one ellipsis per expression."
        )
    groups, inside, seen = [], None, set()
    for token in re.findall(r"\.\.\.|[()]|[^\s().]+", side):
        if token == "(":
            if inside is not None:
                raise ValueError("Axis composition is one-level (brackets inside brackets not allowed)")
            inside = []
        elif token == ")":
            if inside is None:
                raise ValueError("Brackets are not balanced")
            groups.append(inside)
            inside = None
        else:
            names = _names(token, seen, text)
            if inside is None:
                groups.append(names)
            else:
                inside.extend(names)
    if inside is not None:
        raise ValueError(f"Imbalanced parentheses in expression: '{side}'")
    return groups, seen


def _names(token, seen, text):
    if token in seen:
        raise ValueError(f"Indexing expression contains duplicate dimension '{token}'")
    if _NUMBER.match(token):
        if token != "1":
            raise ValueError(f"Non-unitary anonymous axes are not supported in rearrange: {token}")
        return []
    if token != "...":
        if not token.isidentifier():
            raise ValueError(f"Invalid axis identifier: {token}\nnot a valid python identifier")
        if token[0] == "_" or token[-1] == "_":
            raise ValueError(
                f"Invalid axis identifier: {token}\naxis name should should not start or end with underscore"
            )
    seen.add(token)
    return [token]


def _pattern(pattern, lengths):
    """Parse a pattern and return the groups of both sides, after checking that they match."""
    sides = pattern.split("->")
    if len(sides) != 2:
        raise ValueError("Pattern must contain a single '->' separator")
    (left, named), (right, wanted) = (_parsed(s, pattern) for s in sides)
    if "..." in wanted and "..." not in named:
        raise ValueError(f"Ellipsis found in right side, but not left side of a pattern {pattern}")
    if any("..." in g and len(g) > 1 or g == ["..."] and "(...)" in sides[0].replace(" ", "") for g in left):
        raise ValueError(f"Ellipsis is parenthesis in the left side is not allowed: {pattern}")
    if named ^ wanted:
        raise ValueError(f"Identifiers only on one side of rearrange expression (should be on both): {named ^ wanted}")
    if unknown := set(lengths) - named:
        raise ValueError(f"Identifiers not found in rearrange expression: {unknown}")
    return left, right


def _split(group, size, lengths):
    """Return the missing size in a group of names whose product is the size of a dimension, as {name: size}."""
    open_names = [n for n in group if n not in lengths]
    known = math.prod(lengths[n] for n in group if n in lengths)
    if len(open_names) > 1:
        raise RuntimeError(f"cannot infer the sizes of several dimensions at once: {', '.join(open_names)}")
    if open_names:
        if known == 0 or size % known:
            raise RuntimeError(
                "inferred dimension does not evenly fit into larger dimension: "
                f"{size} vs {tuple(lengths.get(n, '?') for n in group)}"
            )
        return {open_names[0]: size // known}
    if known != size:
        raise RuntimeError(
            f"Dimension sizes to do not match ({size} != {known}) when matching dimension pack {tuple(group)}"
        )
    return {}


def rearrange(tensor, pattern, **axes_lengths):
    """Transpose, split and join the dimensions of a tensor by a pattern, such as ``"b (h p) c -> b p (h c)", p=2``.

    A list of tensors is stacked along a new first dimension. Returns a view if possible. ValueError for an invalid
    pattern, RuntimeError if the sizes do not match it.
    """
    x = tensor if isinstance(tensor, torch.Tensor) else torch.stack(list(tensor))
    left, right = _pattern(pattern, axes_lengths)
    free = x.ndim - sum(g != ["..."] for g in left)
    if free < 0 or free and ["..."] not in left:
        raise ValueError(
            f"Number of dimensions in pattern ({len(left)}) and in tensor ({x.ndim}) must be equal: {pattern}"
        )
    sizes, order = dict(axes_lengths), []  # {name: size}; the names in the order of the tensor's dimensions
    dims = iter(x.shape)
    for group in left:
        if group == ["..."]:
            names = [f"...{i}" for i in range(free)]
            sizes.update(zip(names, dims))
        else:
            names = group
            sizes.update(_split(group, next(dims), sizes))
        order += names
    expand = {"...": [f"...{i}" for i in range(free)]}
    flat = [[n for name in g for n in expand.get(name, [name])] for g in right]
    x = x.reshape([sizes[n] for n in order]).permute([order.index(n) for g in flat for n in g])
    shape = []
    for g, names in zip(right, flat):
        shape += (
            [sizes[n] for n in names] if g == ["..."] and not _joined(pattern) else [math.prod(sizes[n] for n in names)]
        )
    return x.reshape(shape)


def _joined(pattern):
    """Whether the dimensions of the ellipsis are joined into one."""
    return "(...)" in pattern.split("->")[1].replace(" ", "")

"""TorchScript's intermediate representation: graphs of nodes, values and types."""

import torch
from mindtorch_proxy.runtime.dtypes import scalar_name

# ------------------------------------------------------------------------------------------------ types
_SCALAR_TYPES = [
    torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64,
    torch.complex32, torch.complex64, torch.complex128, torch.bool, torch.qint8, torch.quint8, torch.qint32,
    torch.bfloat16,
]  # fmt: skip
_LAYOUTS = [
    getattr(torch, name, None)
    for name in "strided sparse_coo sparse_csr _mkldnn sparse_csc sparse_bsr sparse_bsc jagged".split()
]
_MEMORY_FORMATS = [torch.contiguous_format, torch.preserve_format, torch.channels_last, torch.channels_last_3d]


def enum_number(v):
    """Return TorchScript's number for a dtype, layout or memory format, and other values unchanged."""
    for kind, table in ((torch.dtype, _SCALAR_TYPES), (torch.layout, _LAYOUTS), (torch.memory_format, _MEMORY_FORMATS)):
        if isinstance(v, kind):
            return table.index(v)
    return v


def from_number(declared, n):
    """Convert a number to a dtype, layout or memory format, according to the argument's declared type."""
    table = {"ScalarType": _SCALAR_TYPES, "Layout": _LAYOUTS, "MemoryFormat": _MEMORY_FORMATS}.get(declared.rstrip("?"))
    return n if table is None or n is None or not isinstance(n, int) else table[n]


class JitType:
    """A type.

    name: its form in graphs
    annotation_str: its form in code
    """

    def __init__(self, name, kind, annotation=None, contained=()):
        self._name, self._kind, self.annotation_str, self._contained = name, kind, annotation or name, list(contained)

    @classmethod
    def get(cls):
        """Return the type."""
        return cls()

    def kind(self):
        """Return the name of its class."""
        return self._kind

    def str(self):
        """Return its form in graphs."""
        return self._name

    def __str__(self):
        return self.annotation_str

    def __repr__(self):
        return self._name

    def containedTypes(self):
        """Return the types that it contains."""
        return list(self._contained)

    def isSubtypeOf(self, other):
        """Whether its values may be used where the other type is expected."""
        if other.kind() == "AnyType" or self == other:
            return True
        if other.kind() == "TensorType":
            return self.kind() == "TensorType" and not other.is_refined()
        return other.kind() == "OptionalType" and (
            self.kind() == "NoneType" or self.isSubtypeOf(other.getElementType())
        )

    def __eq__(self, other):
        return isinstance(other, JitType) and self._name == other._name

    def __hash__(self):
        return hash(self._name)


def _simple(name, kind, annotation=None):
    def __init__(self):
        JitType.__init__(self, name, kind, annotation)

    return type(kind, (JitType,), {"__init__": __init__, "__module__": "torch._C", "__doc__": f"The type {name}."})


IntType, FloatType, BoolType = _simple("int", "IntType"), _simple("float", "FloatType"), _simple("bool", "BoolType")
StringType, NoneType, ComplexType = (
    _simple("str", "StringType"),
    _simple("NoneType", "NoneType"),
    _simple("complex", "ComplexType"),
)
NumberType, AnyType, DeviceObjType = (
    _simple("Scalar", "NumberType", "number"),
    _simple("Any", "AnyType"),
    _simple("Device", "DeviceObjType"),
)


class TensorType(JitType):
    """The type of a tensor.

    If it was seen in a trace, it has dtype, sizes, strides, device and whether it requires grad.
    """

    __module__ = "torch._C"

    def __init__(self, tensor=None):
        super().__init__("Tensor", "TensorType")
        self._dtype = self._sizes = self._strides = self._device = self._requires_grad = None
        if tensor is not None:
            self._dtype, self._sizes, self._device = tensor.dtype, list(tensor.shape), tensor.device
            self._strides = list(tensor.stride()) if tensor.layout is torch.strided else None
            self._requires_grad = tensor.requires_grad
            self._name = self._described()

    @classmethod
    def create_from_tensor(cls, tensor):
        """Return the type of a tensor with all its properties."""
        return cls(tensor)

    @classmethod
    def getInferred(cls):
        """Return the type of a tensor with unknown properties."""
        return cls()

    def is_refined(self):
        """Whether properties of the tensor are known."""
        return self._dtype is not None

    def _described(self):
        inside = [str(n) for n in self._sizes]
        if self._strides:
            inside.append(f"strides=[{', '.join(map(str, self._strides))}]")
        inside += [f"requires_grad={int(self._requires_grad)}", f"device={self._device}"]
        return f"{scalar_name(self._dtype)}({', '.join(inside)})"

    def sizes(self):
        """Return the sizes, or None."""
        return None if self._sizes is None else list(self._sizes)

    symbolic_sizes = varyingSizes = sizes

    def strides(self):
        """Return the strides, or None."""
        return None if self._strides is None else list(self._strides)

    def dim(self):
        """Return the number of dimensions, or None."""
        return None if self._sizes is None else len(self._sizes)

    def dtype(self):
        """Return the dtype, or None."""
        return self._dtype

    def scalarType(self):
        """Return the C++ name of the dtype, or None."""
        return None if self._dtype is None else scalar_name(self._dtype)

    def device(self):
        """Return the device, or None."""
        return self._device

    def requires_grad(self):
        """Whether the tensor may require grad."""
        return self._requires_grad is not False

    def undefined(self):
        """Return False if the tensor is known to be defined, otherwise None."""
        return None if self._dtype is None else False


class _Element(JitType):
    def getElementType(self):
        """Return the type of the elements."""
        return self._contained[0]


class ListType(_Element):
    """A list with elements of one type."""

    __module__ = "torch._C"

    def __init__(self, element):
        super().__init__(f"{element.str()}[]", "ListType", f"List[{element.annotation_str}]", [element])

    @staticmethod
    def ofTensors():
        """Return the type of lists of tensors."""
        return ListType(TensorType())

    @staticmethod
    def ofInts():
        """Return the type of lists of ints."""
        return ListType(IntType())


class OptionalType(_Element):
    """A value of a type, or None."""

    __module__ = "torch._C"

    def __init__(self, element):
        super().__init__(f"{element.str()}?", "OptionalType", f"Optional[{element.annotation_str}]", [element])

    @staticmethod
    def ofTensor():
        """Return the type of an optional tensor."""
        return OptionalType(TensorType())


class TupleType(JitType):
    """A tuple."""

    __module__ = "torch._C"

    def __init__(self, elements):
        inside = ", ".join(e.annotation_str for e in elements) or "()"
        super().__init__(f"({', '.join(e.str() for e in elements)})", "TupleType", f"Tuple[{inside}]", elements)

    def elements(self):
        """Return the types of the elements."""
        return list(self._contained)


class DictType(JitType):
    """A dictionary."""

    __module__ = "torch._C"

    def __init__(self, key, value):
        super().__init__(
            f"Dict({key.str()}, {value.str()})",
            "DictType",
            f"Dict[{key.annotation_str}, {value.annotation_str}]",
            [key, value],
        )

    def getKeyType(self):
        """Return the type of the keys."""
        return self._contained[0]

    def getValueType(self):
        """Return the type of the values."""
        return self._contained[1]


class ClassType(JitType):
    """A TorchScript class, by its qualified name."""

    __module__ = "torch._C"

    def __init__(self, qualified_name):
        super().__init__(qualified_name, "ClassType")

    def name(self):
        """Return the name without its module."""
        return self._name.rpartition(".")[2]

    def qualified_name(self):
        """Return the name with its module."""
        return self._name


_OF_VALUES = {
    bool: BoolType,
    int: IntType,
    float: FloatType,
    complex: ComplexType,
    str: StringType,
    type(None): NoneType,
}
_OF_VALUES |= {torch.dtype: IntType, torch.layout: IntType, torch.memory_format: IntType, torch.device: DeviceObjType}


class InferredType:
    """The type of a value, or the reason why it has none."""

    __module__ = "torch._C"

    def __init__(self, found):
        self._type, self._reason = (found, None) if isinstance(found, JitType) else (None, found)

    def success(self):
        """Whether there is a type."""
        return self._type is not None

    def type(self):
        """Return the type, or None."""
        return self._type

    def reason(self):
        """Return the reason why there is no type."""
        return self._reason or ""


def _jit_try_infer_type(v):
    """Return the InferredType of a Python value."""
    if isinstance(v, (list, dict)) and not v:
        return InferredType(
            "Dictionary inputs must have entries" if isinstance(v, dict) else "List trace inputs must have elements"
        )
    if isinstance(v, torch.nn.Module):
        return InferredType("Cannot infer concrete type of torch.nn.Module")
    found = type_of(v)
    for part in v if isinstance(v, tuple) else (v,):
        kinds = [t for t in map(type_of, part) if t.kind() != "NoneType"] if isinstance(part, list) else []
        other = next((t for t in kinds if t.kind() != kinds[0].kind()), None)
        if other is not None:
            return InferredType(
                f"List inputs to traced functions must have consistent element type. Found {kinds[0].str()} and "
                f"{other.str()}"
            )
    if "AnyType" not in {t.kind() for t in (found, *_contained(found))}:
        return InferredType(found)
    return InferredType(
        "Only tensors and (possibly nested) tuples of tensors, lists, or dicts are supported as inputs or outputs of "
        "traced functions"
    )


def _contained(t):
    for inner in t.containedTypes():
        yield inner
        yield from _contained(inner)


def type_of(v):
    """Return the type of a Python value."""
    if isinstance(v, torch.Tensor):
        return TensorType(v)
    if isinstance(v, tuple):
        return TupleType([type_of(e) for e in v])
    if isinstance(v, list):
        return ListType(_common([type_of(e) for e in v]))
    if isinstance(v, dict):
        return DictType(_common([type_of(k) for k in v]), _common([type_of(e) for e in v.values()]))
    for cls in type(v).__mro__:
        if cls in _OF_VALUES:
            return _OF_VALUES[cls]()
    return AnyType()


def _common(types):
    """Return the common type of elements, without the properties of a single tensor."""
    if not types:
        return TensorType()
    if any(t.kind() == "TensorType" for t in types):
        tensors = all(t.kind() == "TensorType" for t in types)
        return TensorType() if tensors else OptionalType(TensorType())
    present = [t for t in types if t.kind() != "NoneType"]
    return OptionalType(present[0]) if 0 < len(present) < len(types) else types[0]


# ------------------------------------------------------------------------------------------------ graphs
class Value:
    """A value of a graph: an input of the graph, or an output of a node."""

    __module__ = "torch._C"

    def __init__(self, node, type, name=None):
        self._node, self._type, self._name = node, type, name
        self._unique = node._graph._next()

    def debugName(self):
        return self._name or str(self._unique)

    def setDebugName(self, name):
        taken, base, n = self._node._graph._names, name, 0
        taken.discard(self._name)
        while name in taken:
            n += 1
            name = f"{base}.{n}"
        taken.add(name)
        self._name = name
        return self

    def unique(self):
        return self._unique

    def type(self):
        return self._type

    def setType(self, type):
        self._type = type
        return self

    def inferTypeFrom(self, tensor):
        self._type = TensorType(tensor)

    def node(self):
        return self._node

    def offset(self):
        return self._node._outputs.index(self)

    def uses(self):
        return [Use(n, i) for n in self._node._graph._all() for i, v in enumerate(n._inputs) if v is self]

    def isCompleteTensor(self):
        return isinstance(self._type, TensorType) and self._type._sizes is not None

    def requires_grad(self):
        return isinstance(self._type, TensorType) and bool(self._type._requires_grad)

    requiresGrad = requires_grad

    def replaceAllUsesWith(self, other):
        for n in self._node._graph._all():
            n._inputs[:] = [other if v is self else v for v in n._inputs]

    def toIValue(self):
        """Return the value of a constant, otherwise None."""
        return self._node.constant() if self._node.kind() == "prim::Constant" else None

    def __repr__(self):
        return (
            f"{self.debugName()} defined in "
            f"({self._node._line() if self._node.kind() != 'prim::Param' else self._node})"
        )


class Use:
    """A use of a value: the node and the index of its input."""

    __module__ = "torch._C"

    def __init__(self, user, offset):
        self.user, self.offset = user, offset


_KINDS = {bool: "i", int: "i", float: "f", str: "s", complex: "c", list: "ival", tuple: "ival", dict: "ival"}


class Node:
    """An operation of a graph: kind, inputs, outputs and attributes."""

    __module__ = "torch._C"

    def __init__(self, graph, kind, inputs=(), attributes=None, scope="", source=""):
        self._graph, self._kind, self._inputs, self._outputs = graph, kind, list(inputs), []
        self._attributes, self._scope, self._source = attributes or {}, scope, source

    def kind(self):
        return self._kind

    def scopeName(self):
        return self._scope

    def sourceRange(self):
        return self._source

    def inputs(self):
        return iter(list(self._inputs))

    def outputs(self):
        return iter(list(self._outputs))

    def inputsSize(self):
        return len(self._inputs)

    def outputsSize(self):
        return len(self._outputs)

    def inputsAt(self, i):
        return self._inputs[i]

    def outputsAt(self, i):
        return self._outputs[i]

    def input(self):
        if len(self._inputs) != 1:
            raise RuntimeError(f"{self._kind} has {len(self._inputs)} inputs, not one")
        return self._inputs[0]

    def output(self):
        if len(self._outputs) != 1:
            raise RuntimeError(f"{self._kind} has {len(self._outputs)} outputs, not one")
        return self._outputs[0]

    def hasMultipleOutputs(self):
        return len(self._outputs) > 1

    def hasUses(self):
        return any(v.uses() for v in self._outputs)

    def addInput(self, value):
        self._inputs.append(value)
        return value

    def addOutput(self, type=None, name=None):
        self._outputs.append(Value(self, type or TensorType(), name))
        return self._outputs[-1]

    def replaceInput(self, i, value):
        old, self._inputs[i] = self._inputs[i], value
        return old

    def replaceInputWith(self, old, new):
        self._inputs[:] = [new if v is old else v for v in self._inputs]

    def namedInput(self, name):
        """Return the input with that name in the operator's schema."""
        names = [a.name for a in self._schema().arguments]
        return self._inputs[names.index(name)]

    def _schema(self):
        if self._op_schema is None:
            raise RuntimeError(f"{self._kind} has no schema")
        return self._op_schema

    _op_schema = None

    def schema(self):
        return "(no schema)" if self._op_schema is None else str(self._op_schema)

    def attributeNames(self):
        return list(self._attributes)

    def hasAttribute(self, name):
        return name in self._attributes

    def hasAttributes(self):
        return bool(self._attributes)

    def kindOf(self, name):
        v = self._attributes[name]
        return "t" if isinstance(v, torch.Tensor) else _KINDS[type(v)]

    def _attribute(self, name):
        if name not in self._attributes:
            raise IndexError(f"no attribute {name}")
        return self._attributes[name]

    i = f = s = t = c = ival = is_ = fs = ss = ts = _attribute

    def constant(self):
        """Return the value of a prim::Constant."""
        v = self._attributes.get("value")
        kind = self._outputs[0].type().kind()
        return bool(v) if kind == "BoolType" else torch.device(v) if kind == "DeviceObjType" else v

    def isNondeterministic(self):
        """Whether another run may give another result.

        This is so for random operators, unless they are inactive (no training, or a dropout probability of 0).
        """
        if self._op_schema is None or not (
            "nondeterministic_seeded" in self._op_schema.tags or self._kind == "aten::dropout"
        ):
            return False
        given = {a.name: v.toIValue() for a, v in zip(self._op_schema.arguments, self._inputs)}
        return given.get("train") is not False and given.get("dropout_p") != 0.0

    def blocks(self):
        return iter(())

    def owningBlock(self):
        return Block(self._graph)

    def destroy(self):
        if self.hasUses():
            raise RuntimeError(f"{self._kind} is used still")
        self._graph._nodes.remove(self)

    def _line(self):
        outputs = ", ".join(f"%{v.debugName()} : {v.type().str()}" for v in self._outputs)
        shown = ", ".join(f"{k}={_shown(v)}" for k, v in self._attributes.items())
        text = f"{outputs} = " if outputs else ""
        text += f"{self._kind}{f'[{shown}]' if shown else ''}({', '.join('%' + v.debugName() for v in self._inputs)})"
        return (
            text + (f", scope: {self._scope}" if self._scope else "") + (f" # {self._source}" if self._source else "")
        )

    def __str__(self):
        return self._line() + "\n"

    __repr__ = __str__


def _shown(v):
    if isinstance(v, torch.Tensor):
        return f"{{{v.item():g}}}" if v.numel() == 1 and v.dtype is not torch.bool else "<Tensor>"
    if isinstance(v, str):
        return '"' + v.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return f"{v:.17g}" if isinstance(v, float) else str(int(v)) if isinstance(v, bool) else str(v)


class Block:
    """The nodes of a graph."""

    __module__ = "torch._C"

    def __init__(self, graph):
        self._graph = graph

    def nodes(self):
        return self._graph.nodes()

    def inputs(self):
        return self._graph.inputs()

    def outputs(self):
        return self._graph.outputs()

    def paramNode(self):
        return self._graph.param_node()

    def returnNode(self):
        return self._graph.return_node()


class Graph:
    """The inputs, the nodes in execution order, and the outputs."""

    __module__ = "torch._C"

    def __init__(self):
        self._count, self._nodes, self._names = 0, [], set()
        self._param, self._return = Node(self, "prim::Param"), Node(self, "prim::Return")

    def _next(self):
        self._count += 1
        return self._count - 1

    def _all(self):
        return [*self._nodes, self._return]

    def inputs(self):
        return self._param.outputs()

    def outputs(self):
        return self._return.inputs()

    def nodes(self):
        return iter(list(self._nodes))

    def param_node(self):
        return self._param

    def return_node(self):
        return self._return

    def block(self):
        return Block(self)

    def addInput(self, name="", type=None):
        value = self._param.addOutput(type)
        return value.setDebugName(name) if name else value

    def eraseInput(self, i):
        if self._param._outputs[i].uses():
            raise RuntimeError("the input is used still")
        del self._param._outputs[i]

    def registerOutput(self, value):
        self._return.addInput(value)
        return len(self._return._inputs) - 1

    def create(self, kind, inputs=(), noutputs=1):
        """Create a node that is not yet in the graph."""
        if isinstance(inputs, int):
            inputs, noutputs = (), inputs
        node = Node(self, kind, inputs)
        for _ in range(noutputs):
            node.addOutput()
        return node

    def insertNode(self, node):
        self._nodes.append(node)
        return node

    appendNode = insertNode

    def prependNode(self, node):
        self._nodes.insert(0, node)
        return node

    def insertConstant(self, value):
        return self.constant(value)

    def constant(self, value, scope="", source=""):
        """Insert a prim::Constant and return its output."""
        value, kind = enum_number(value), type_of(value)
        given = {} if value is None else {"value": str(value) if isinstance(value, torch.device) else value}
        return self.insertNode(Node(self, "prim::Constant", (), given, scope, source)).addOutput(kind)

    def findNode(self, kind, recurse=True):
        return next((n for n in self._nodes if n._kind == kind), None)

    def findAllNodes(self, kind, recurse=True):
        return [n for n in self._nodes if n._kind == kind]

    def lint(self):
        """Raise RuntimeError if a node uses a value that is not defined before it."""
        known = set(map(id, self._param._outputs))
        for n in self._all():
            if not all(id(v) in known for v in n._inputs):
                raise RuntimeError(f"{n._kind} reads a value that is not defined before it")
            known.update(map(id, n._outputs))

    def copy(self):
        """Return a copy with new nodes."""
        new = Graph()
        values = {id(v): new.addInput(v._name or "", v._type) for v in self._param._outputs}
        self.copy_into(new, values)
        for v in self._return._inputs:
            new.registerOutput(values[id(v)])
        return new

    def copy_into(self, new, values):
        """Append copies of the nodes to another graph.

        `values` maps the inputs to values of that graph, and is extended by the outputs.
        """
        for n in self._nodes:
            made = new.insertNode(
                Node(new, n._kind, [values[id(v)] for v in n._inputs], dict(n._attributes), n._scope, n._source)
            )
            made._op_schema = n._op_schema
            for v in n._outputs:
                values[id(v)] = made.addOutput(v._type)
                if v._name:
                    values[id(v)].setDebugName(v._name)

    def remove_unused(self):
        """Remove nodes whose outputs are unused and that do not write to anything."""
        read = {id(v) for v in self._return._inputs}
        kept = []
        for n in reversed(self._nodes):
            mutates = n._op_schema is not None and n._op_schema.is_mutable
            if mutates or n._kind == "prim::CallMethod" or any(id(v) in read for v in n._outputs):
                kept.append(n)
                read.update(map(id, n._inputs))
        self._nodes = kept[::-1]

    def str(self, print_source_ranges=True):
        inputs = [f"%{v.debugName()} : {v.type().str()}" for v in self._param._outputs]
        lines = [f"graph({(',' + chr(10) + ' ' * 6).join(inputs)}):"]
        lines += ["  " + (n._line() if print_source_ranges else n._line().partition(" # ")[0]) for n in self._nodes]
        lines.append(f"  return ({', '.join('%' + v.debugName() for v in self._return._inputs)})")
        return "\n".join(lines) + "\n"

    def __str__(self):
        return self.str()

    __repr__ = __str__

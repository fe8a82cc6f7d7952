"""Declaration of operators: op(), view() and composite().

op() declares an operator with a kernel, view() one that only changes shape, strides and offset, and composite() a
function over other operators. torch.f, Tensor.f, Tensor.f_, out=, the signature, the meta function and the autograd
node are derived from the declaration when they are first used. Where an operator deviates from the others, its
declaration says so in a field of Options.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, get_args

from . import dtypes as dt
from . import registry
from .autograd import BY_PARTS, Derivative, by_parts
from .call import pipeline
from .call.autocast import Autocast
from .call.out import Out
from .call.promotion import Promotion
from .context import PROCESS
from .schema import FunctionSchema


@dataclass(frozen=True, slots=True)
class Options:
    """Properties of an operator beside schema, kernel and derivative."""

    # which functions exist, and under which names
    method: bool | None = None  # Tensor.f; None: where the first argument is a tensor called self
    function: bool | None = None  # torch.f; None: unless the namespace is Tensor
    inplace: bool | None = None  # Tensor.f_; None: elementwise operators whose first argument is self
    inplace_function: bool | tuple = False  # torch.f_; a tuple: for these names only
    in_place: Any = None  # the operator that a composite's in-place form runs, on as many arguments as it takes
    constant: bool = False  # the in-place form writes constants: its gradients are zeros
    # irreversible(*args) -> the error that the backward of the in-place form raises, or None. PyTorch has a separate
    # formula and node for this form.
    irreversible: Callable | None = None
    # out=, and its requirements on the tensor; None: where the result is a tensor and not a view
    out: bool | Out | None = None
    alias: tuple = ()  # other names, with their namespace where it differs
    # may also be called with the deprecated signatures f(self, alpha, other) and f(beta, self, alpha, a, b)
    numbers_between: bool = False
    varargs: str | None = None  # an argument whose elements may be passed one by one: f(2, 3) for f((2, 3))
    # PyTorch's function is written in Python and passes optional arguments on by name; None: those of nn.functional
    python: bool | None = None
    aten: str | None = None  # PyTorch's ATen name, "add.Tensor"; None: see name_of() in call/overload.py
    aten_constants: tuple = ()  # (argument, value) pairs that only PyTorch's ATen operator has
    aten_values: Callable | None = None  # aten_values(arguments by name) -> ATen's arguments, where they differ
    # PyTorch's name of the node, where it differs from the operator's; node(arguments by name, shapes by name) where it
    # depends on them. A number has no shape.
    node: str | Callable | None = None
    # {name of the node: (the argument that PyTorch transposes before the operator, the arguments in PyTorch's order)};
    # a node of that name is shown as two
    transposed: dict | None = None
    saves_given: bool = False  # formulas read the arguments as they were passed, not as `prepare` returns them
    wraps: bool = False  # PyTorch's formulas see a number as a tensor
    # {argument: the arguments whose gradients depend on its values}, where a formula reads more than that: a program
    # may change it before the backward if none of them needs a gradient. Where this depends on the call, a function
    # (saved arguments, which need gradients) -> whether its values matter.
    reads: dict | None = None
    # how a call is computed
    scaled: object = None  # the operator for a last argument that multiplies the second operand, unless `prepare` did
    numbers: bool = False  # may be called without any tensor
    # a view whose gradient is zeros of the base's shape but for the elements of the view: a backward pass adds it to
    # these elements of a gradient that is there already
    embeds: bool = False
    keep: tuple = ()  # operands that keep their dtype
    exact: int | None = None  # an operand that, where it is a single number, is not rounded to a half dtype
    contiguous: bool = False  # the result is contiguous, whatever the strides of the operands are
    last_leads: bool = False  # the result's order in memory is that of the last operand, where it is not contiguous
    opmath: bool = True  # half dtypes are computed in float32
    # the values of attributes change neither the promotion nor the checks of floating-point operands
    constant_attributes: bool = False
    empty_ok: bool = False  # the kernel is also called for empty results
    non_differentiable: tuple = ()  # results without gradients
    integral: bool = False  # PyTorch's formula is for dtypes that have no gradients here
    # a composite's function dispatches to interceptors itself, under the names that PyTorch's dispatcher uses
    hands_over: bool = False
    memory: bool = False  # allocates or copies memory: has no entry in the tables of kernels
    mutates: tuple = ()  # arguments that a composite changes; the backend may run it as one kernel
    operator: Any = None  # the operator that a composite runs when only its first two arguments are given
    role: str = "compute"  # "fill" and "draw" compute nothing from tensors: reports count them separately
    # the in-place form accepts expanded tensors, with PyTorch's warning that also calls this kind of assignment
    # deprecated; None: they are rejected
    expanded: str | None = None
    # arguments, by position, that may not even be identical with the written tensor; True: all arguments
    apart: bool | tuple = False
    # a composite of elementwise kernels: like those, it rejects arguments that partially overlap the written tensor
    pointwise: bool = False
    reads_first: tuple = ()  # arguments, by position, that may overlap the written tensor
    autocast: Autocast | None = None
    # forward mode
    # forward(op, args, tangents, outs) -> tangents of the results; None: from the formulas, see autograd/forward.py
    forward: Callable | None = None
    no_forward: str | None = None  # PyTorch has no forward-mode rule; this is the name in its error message
    # Sparse tensors. "values": acts on each value; "coalesced": where an index occurs once; "coo ...": only that
    # layout; "compressed": all but that layout; "composite": its function, whose operators support them.
    sparse: str | None = None

    @classmethod
    def of(cls, given):
        """Return the options of a declaration. Raise TypeError for an unknown name or a value of another type."""
        for name, value in given.items():
            allowed = _TYPES.get(name)
            if allowed is not None and not isinstance(value, allowed):
                raise TypeError(f"{name}={value!r}: expected {' or '.join(t.__name__ for t in allowed)}")
        return cls(**given) if given else _DEFAULT


_TYPES = {f.name: get_args(f.type) or (f.type,) for f in fields(Options) if f.type is not Any}
_DEFAULT = Options()


@dataclass(eq=False)
class Op:
    """A declared operator."""

    schema: FunctionSchema
    prim: str | None = None  # the PyBoost primitive, on every device unless a backend says otherwise
    promote: Promotion | Callable | None = None
    derivative: Any = None
    meta: Callable | None = None
    prepare: Callable | None = None
    prim_call: Callable | None = None
    geometry: Callable | None = None
    fn: Callable | None = None
    options: Options = _DEFAULT

    def __post_init__(self):
        schema, options = self.schema, self.options
        self.namespace, _, self.key = schema.full_name.partition("::")
        self.name = self.key.partition(".")[0]
        self.full = self.key if self.namespace in ("torch", "Tensor") else self.namespace + "." + self.key
        self.python = options.python if options.python is not None else self.namespace == "nn.functional"
        self.plans: dict = {}  # (dtype, device) -> plan: the direct path of a call
        self.hosted: dict = {}  # dtype -> plan: shortcut to elementwise kernels that take the host's arrays
        self._call = self._intercepted = self._derivative = None
        self.where = None  # (file, line) of the declaration

    def may_be_direct(self, attributes, dtype):
        """Whether later calls in this dtype may take the direct path whatever their attributes are.

        An integer power, for example, may not: whether it is an error, or gives floats, depends on the exponent.
        """
        return not attributes or self.options.constant_attributes and dtype.category >= dt.FLOAT

    @cached_property
    def tensor_args(self):
        return self.schema.tensor_args

    @cached_property
    def is_tensor(self):
        return tuple(a.is_tensor for a in self.schema.arguments)

    @cached_property
    def operands(self):
        return [i for i in self.tensor_args if not self.schema.arguments[i].list]

    @cached_property
    def attributes(self):
        return (
            [] if self.options.scaled else [i for i in range(len(self.schema.arguments)) if i not in self.tensor_args]
        )

    @cached_property
    def first(self):
        """The position of the tensor whose dtype and device choose the kernel, or None."""
        return self.tensor_args[0] if self.tensor_args and self.operands == self.tensor_args else None

    def __repr__(self):
        return f"<op {self.full}>"

    @property
    def call(self):
        """The function that runs the operator, with autograd, on arguments in the schema's order."""
        if PROCESS.interceptors:
            return self.intercepted
        return self._call or self.make_call()

    def make_call(self):
        """Return the direct function behind `call`, generating it on first use."""
        if self._call is None:
            self._call = pipeline.make(self)
        return self._call

    def calls(self, fn):
        """Decorator that sets a handwritten direct call, for operators that allocate or copy memory."""
        self._call = fn
        return fn

    @property
    def intercepted(self):
        """The variant of `call` for calls that an interceptor sees."""
        if self._intercepted is None:
            self._intercepted = self.fn if self.options.hands_over else pipeline.make_intercepted(self)
        return self._intercepted

    @property
    def compiled_derivative(self):
        if self._derivative is None:
            self._derivative = Derivative(self)
        return self._derivative

    def saving(self, args):
        """Return the arguments that the derivative formulas read."""
        return args if self.prepare is None or self.options.saves_given else self.prepare(*args)

    def record(self, out, args):
        """Create the node of this call and attach it to its outputs."""
        return self.compiled_derivative.record(out, args)

    @property
    def is_view(self):
        """Whether autograd treats the result as a view.

        _unsafe_view and view.dtype only share memory with their input.
        """
        return self.geometry is not None and self.derivative is not None and self.schema.aliases

    @property
    def is_method(self):
        wanted, args = self.options.method, self.schema.arguments
        return (
            self.namespace in ("torch", "Tensor") and bool(args) and args[0].name == "self" and args[0].is_tensor
            if wanted is None
            else wanted
        )

    @property
    def is_function(self):
        return self.namespace != "Tensor" if self.options.function is None else self.options.function

    @property
    def is_inplace(self):
        return (
            self.promote is not None and self.schema.arguments[0].name == "self"
            if self.options.inplace is None
            else self.options.inplace
        )

    @property
    def takes_out(self):
        if self.options.out is not None:
            return self.options.out is not False
        returns = self.schema.returns
        return self.geometry is None and bool(returns) and returns[0].is_tensor and not any(r.list for r in returns)


def op(schema, prim=None, *, promote=None, derivative=None, meta=None, prepare=None, call=None, **options):
    """Declare an operator with a kernel.

    schema: PyTorch's signature string.
    prim: the PyBoost primitive.
    promote: the type promotion of an elementwise operator: a Promotion, or promote(common dtype, *args) ->
        (computation dtype, result dtype). An operator with it is elementwise.
    derivative: a formula, or {argument: formula}. Formulas read what their parameters name: g (or g0, g1, gs),
        out (out0, ...), arguments, ARG_shape, ARG_dtype, needs.
    prepare: prepare(*args) -> args normalises the arguments.
    meta: meta(*args) -> (shape, dtype), with strides where the result is not contiguous, or a list of these. It checks
        the arguments and infers the results.
    call: call(prim, *args) passes the arguments in the primitive's order.
    options: fields of Options.
    """
    return registry.declare(
        Op(FunctionSchema(schema), prim, promote, derivative, meta, prepare, call, options=Options.of(options))
    )


def view(schema, geometry, *, derivative=None, **options):
    """Declare a view operator: geometry(self, *args) -> (shape, strides or None, offset), or a list of these."""
    return registry.declare(
        Op(FunctionSchema(schema), derivative=derivative, geometry=geometry, options=Options.of(options))
    )


def composite(schema, *, derivative=None, **options):
    """Declare a composite operator: a function over other operators, without a kernel.

    derivative: the formulas, where PyTorch has one operator with one node for it, or BY_PARTS to differentiate what
    the function calls. Without it the operators that the function calls get the nodes, and interceptors see those
    operators when gradients are recorded.
    """

    def deco(fn):
        declared = FunctionSchema(schema)
        formulas = by_parts(fn, declared) if derivative is BY_PARTS else derivative
        fn.op = registry.declare(Op(declared, derivative=formulas, fn=fn, options=Options.of(options)))
        return fn

    return deco

"""Declaring operators: op() with a kernel, view() for what only changes the geometry, composite() for functions over
other operators.

From one declaration come, when they are first asked for: torch.f, Tensor.f, Tensor.f_, out=, the signature, the meta
function and the node of autograd. What an operator does differently from the others stands in its declaration, as a
field of Options.
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
from .schema import Schema


@dataclass(frozen=True, slots=True)
class Options:
    """What a declaration may say beside schema, kernel and derivative."""

    # which functions exist, and under which names
    method: bool | None = None  # Tensor.f; None: where the first argument is a tensor called self
    function: bool | None = None  # torch.f; None: unless the namespace is Tensor
    inplace: bool | None = None  # Tensor.f_; None: elementwise operators whose first argument is self
    inplace_function: bool | tuple = False  # torch.f_; a tuple: for these names alone
    in_place: Any = None  # the operator of whose first arguments a composite's in-place form is that of
    constant: bool = False  # the in-place form, which keeps a dtype that has gradients, has zeros for them
    # what the gradients of an in-place form end with: irreversible(*args) -> an error, or None. PyTorch has a formula
    # of its own for it, and a node
    irreversible: Callable | None = None
    out: bool | Out | None = (
        None  # out=, and what it asks of the tensor; None: where the result is a tensor and no view
    )
    alias: tuple = ()  # other names, with their namespace where it is another
    numbers_between: bool = (
        False  # may also be called as f(self, alpha, other), f(beta, self, alpha, a, b), which is deprecated
    )
    varargs: str | None = None  # an argument that may be given one by one: f(2, 3) for f((2, 3))
    python: bool | None = (
        # PyTorch's own is written in Python, and hands optional arguments on by name; None: those of nn.functional
        None
    )
    aten: str | None = None  # PyTorch's name below autograd, "add.Tensor"; None: the schema's own
    aten_constants: tuple = ()  # (argument, value) that PyTorch's has beside
    aten_values: Callable | None = None  # aten_values(arguments by name) -> PyTorch's, where they are other ones
    # PyTorch's name of the node, where it is not the operator's; node(arguments by name, shapes by name) where it hangs
    # on them: a number has no shape
    node: str | Callable | None = None
    # PyTorch has a transposition before the operator: (its argument, the arguments in the order of PyTorch's), for who
    # looks at a node that `node` names so
    transposed: dict | None = None
    saves_given: bool = False  # formulas read the arguments as they were given, not as `prepare` gives them
    wraps: bool = False  # PyTorch's formulas see a number that was given as a tensor
    # how a call is computed
    alpha: bool = False  # the last argument multiplies the second operand; `prepare` folds it in
    numbers: bool = False  # may be called without any tensor
    keep: tuple = ()  # operands that keep their dtype
    exact: int | None = None  # an operand that half types take unrounded where it is one number
    contiguous: bool = False  # the result is, whatever the operands are
    opmath: bool = True  # half types are computed in float32
    constant_attributes: bool = (
        False  # what the numbers are changes neither the promotion nor the checks of floating-point operands
    )
    empty_ok: bool = False  # the kernel is asked for empty results too
    non_differentiable: tuple = ()  # results without gradients
    integral: bool = False  # PyTorch's formula is for types that have no gradients here
    # a composite's function hands calls over to interceptors itself, under the names that PyTorch's dispatcher has for
    # what it does
    hands_over: bool = False
    memory: bool = False  # makes or copies memory: no kernel of a table
    mutates: tuple = ()  # arguments that a composite changes; the first may be offered to the backend as one kernel
    operator: Any = None  # what a composite does when it is given its first two arguments alone
    role: str = "compute"  # "fill" and "draw" compute nothing from tensors: reports count them apart
    # its in-place form takes expanded tensors, as PyTorch's does with a warning that calls this assignment deprecated
    # as well; else they are refused
    expanded: str | None = None
    apart: bool | tuple = (
        False  # arguments, by position, that may not even be what is written to as a whole; True: none of them
    )
    # a composite of one elementwise kernel each: like those it takes no memory that partly meets what is written to
    pointwise: bool = False
    reads_first: tuple = ()  # arguments, by position, that may share the memory that is written to
    autocast: Autocast | None = None
    # forward mode
    forward: Callable | None = (
        # forward(op, args, tangents, outs) -> the results' tangents; None: from the formulas, see autograd/forward.py
        None
    )
    no_forward: str | None = None  # PyTorch has no rule for it, and calls it so where it says that
    # on sparse tensors: "values" acts on each value, "coalesced" where an index occurs once; "coo ...": of that layout
    # alone; "compressed": not of it;
    # "composite": its function, over operators that have them
    sparse: str | None = None

    @classmethod
    def of(cls, given):
        """Options as they are written in a declaration: an unknown name or a value of another type is a TypeError
        there.
        """
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

    schema: Schema
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
        self.name, self.namespace = schema.name, schema.namespace
        self.key = schema.name + ("." + schema.overload if schema.overload else "")
        self.full = self.key if schema.namespace in ("torch", "Tensor") else schema.namespace + "." + self.key
        self.python = options.python if options.python is not None else self.namespace == "nn.functional"
        self.plans: dict = {}  # (dtype, device) -> plan: the direct way of a call
        self.hosted: dict = {}  # dtype -> plan: a short way to elementwise kernels that take the host's arrays
        self._call = self._intercepted = self._derivative = None
        self.where = None  # (file, line) of the declaration

    def may_be_direct(self, attributes, dtype):
        """Whether later calls in this dtype may go the direct way, whatever their attributes are: powers of integers
        are refused by the number, or floats.
        """
        return not attributes or self.options.constant_attributes and dtype.category >= dt.FLOAT

    @cached_property
    def tensor_args(self):
        return self.schema.tensor_args

    @cached_property
    def is_tensor(self):
        return tuple(a.is_tensor for a in self.schema.args)

    @cached_property
    def operands(self):
        return [i for i in self.tensor_args if not self.schema.args[i].list]

    @cached_property
    def attributes(self):
        return [] if self.options.alpha else [i for i in range(len(self.schema.args)) if i not in self.tensor_args]

    @cached_property
    def first(self):
        """The tensor whose dtype and device choose the kernel, where one does."""
        return self.tensor_args[0] if self.tensor_args and self.operands == self.tensor_args else None

    def __repr__(self):
        return f"<op {self.full}>"

    @property
    def call(self):
        """The operator on arguments in the schema's order, recording gradients."""
        if PROCESS.interceptors:
            return self.intercepted
        return self._call or self.make_call()

    def make_call(self):
        """The direct function behind `call`, written for this operator."""
        if self._call is None:
            self._call = pipeline.make(self)
        return self._call

    def calls(self, fn):
        """@operator.calls: the direct call, written by hand, for what makes or copies memory."""
        self._call = fn
        return fn

    @property
    def intercepted(self):
        """The same for calls that an interceptor sees."""
        if self._intercepted is None:
            self._intercepted = self.fn if self.options.hands_over else pipeline.make_intercepted(self)
        return self._intercepted

    @property
    def compiled_derivative(self):
        if self._derivative is None:
            self._derivative = Derivative(self)
        return self._derivative

    def saving(self, args):
        """The arguments that formulas read, of those that a call was given."""
        return args if self.prepare is None or self.options.saves_given else self.prepare(*args)

    def record(self, out, args):
        """Make the node of this call and hang it on its outputs."""
        return self.compiled_derivative.record(out, args)

    @property
    def is_view(self):
        """Whether autograd takes the result for a view: others, _unsafe_view and view.dtype, share memory and no
        more.
        """
        return self.geometry is not None and self.derivative is not None and self.schema.aliases

    @property
    def is_method(self):
        wanted, args = self.options.method, self.schema.args
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
            self.promote is not None and self.schema.args[0].name == "self"
            if self.options.inplace is None
            else self.options.inplace
        )

    @property
    def takes_out(self):
        wanted, returns = self.options.out, self.schema.returns
        return (
            self.geometry is None and returns.lstrip("(").startswith("Tensor") and "[]" not in returns
            if wanted is None
            else wanted is not False
        )


def op(schema, prim=None, *, promote=None, derivative=None, meta=None, prepare=None, call=None, **options):
    """Declare an operator with a kernel.

    schema: PyTorch's signature string. prim: the PyBoost primitive. promote: elementwise type promotion (makes it
    elementwise): a Promotion, or promote(common dtype, *args) -> (computation dtype, result dtype). derivative: a
    formula, or {argument: formula}; formulas name what
    they read: g (or g0, g1, gs), out (out0, ...), arguments, ARG_shape, ARG_dtype, needs. prepare(*args) -> args
    normalises.
    meta(*args) -> (shape, dtype), with strides where they are not contiguous, or a list of them: checks and infers.
    call(prim, *args) maps arguments to the primitive's order. options: fields of Options.
    """
    return registry.declare(
        Op(Schema(schema), prim, promote, derivative, meta, prepare, call, options=Options.of(options))
    )


def view(schema, geometry, *, derivative=None, **options):
    """Declare a view: geometry(self, *args) -> (shape, strides or None, offset), or a list of them."""
    return registry.declare(Op(Schema(schema), derivative=derivative, geometry=geometry, options=Options.of(options)))


def composite(schema, *, derivative=None, **options):
    """Declare a function over other operators; it needs no kernel.

    derivative: where PyTorch has it as one operator, with one node, the formulas of that, or BY_PARTS: the derivative
    of what it calls. Else the operators that it calls have nodes, and are what those see who look at calls that
    gradients flow through.
    """

    def deco(fn):
        declared = Schema(schema)
        formulas = by_parts(fn, declared) if derivative is BY_PARTS else derivative
        fn.op = registry.declare(Op(declared, derivative=formulas, fn=fn, options=Options.of(options)))
        return fn

    return deco

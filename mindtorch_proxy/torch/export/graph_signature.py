"""Descriptions of the inputs and outputs of an exported graph."""

import enum
from dataclasses import dataclass, field

__all__ = [
    "ArgumentSpec",
    "ConstantArgument",
    "CustomObjArgument",
    "ExportBackwardSignature",
    "ExportGraphSignature",
    "InputKind",
    "InputSpec",
    "OutputKind",
    "OutputSpec",
    "SymBoolArgument",
    "SymFloatArgument",
    "SymIntArgument",
    "TensorArgument",
    "TokenArgument",
]


class InputKind(enum.Enum):
    """The kind of an input."""

    USER_INPUT = enum.auto()
    PARAMETER = enum.auto()
    BUFFER = enum.auto()
    CONSTANT_TENSOR = enum.auto()
    CUSTOM_OBJ = enum.auto()
    TOKEN = enum.auto()


class OutputKind(enum.Enum):
    """The kind of an output."""

    USER_OUTPUT = enum.auto()
    LOSS_OUTPUT = enum.auto()
    BUFFER_MUTATION = enum.auto()
    PARAMETER_MUTATION = enum.auto()
    GRADIENT_TO_PARAMETER = enum.auto()
    GRADIENT_TO_USER_INPUT = enum.auto()
    USER_INPUT_MUTATION = enum.auto()
    TOKEN = enum.auto()


@dataclass
class TensorArgument:
    """A tensor argument, with the name of its node."""

    name: str


@dataclass
class SymIntArgument:
    """A symbolic int, with the name of its node."""

    name: str


@dataclass
class SymFloatArgument:
    """A symbolic float, with the name of its node."""

    name: str


@dataclass
class SymBoolArgument:
    """A condition, with the name of its node."""

    name: str


@dataclass
class TokenArgument:
    """A token that orders effects, with the name of its node."""

    name: str


@dataclass
class CustomObjArgument:
    """An object of a class that a program registered, with the name of its node."""

    name: str
    class_fqn: str
    fake_val: object = None


@dataclass
class ConstantArgument:
    """An argument that is not a tensor, with its value."""

    name: str
    value: object


ArgumentSpec = (
    TensorArgument
    | SymIntArgument
    | SymFloatArgument
    | SymBoolArgument
    | ConstantArgument
    | CustomObjArgument
    | TokenArgument
)
_NAMED = (TensorArgument, SymIntArgument, SymFloatArgument, SymBoolArgument, CustomObjArgument)


@dataclass
class InputSpec:
    """The description of an input: its kind, its node and the parameter, buffer or constant that it is."""

    kind: InputKind
    arg: object
    target: str | None
    persistent: bool | None = None

    def __str__(self):
        target = "" if self.target is None else f" target='{self.target}'"
        persistent = "" if self.persistent is None else f" persistent={self.persistent}"
        return f"{self.arg.name}: {self.kind.name}{target}{persistent}"


@dataclass
class OutputSpec:
    """The description of an output: its kind and its node."""

    kind: OutputKind
    arg: object
    target: str | None = None

    def __str__(self):
        return f"{self.arg.name}: {self.kind.name}" + ("" if self.target is None else f" target='{self.target}'")


@dataclass
class ExportBackwardSignature:
    """Tells which outputs are gradients. Not used here, since programs are exported without their backward."""

    gradients_to_parameters: dict
    gradients_to_user_inputs: dict
    loss_output: str


@dataclass
class ExportGraphSignature:
    """The descriptions of all inputs and outputs of a graph, in order."""

    input_specs: list = field(default_factory=list)
    output_specs: list = field(default_factory=list)

    def _targets(self, kind):
        return tuple(s.target for s in self.input_specs if s.kind is kind)

    def _by_node(self, kind):
        return {s.arg.name: s.target for s in self.input_specs if s.kind is kind}

    parameters = property(lambda self: self._targets(InputKind.PARAMETER), doc="The names of parameters.")
    buffers = property(lambda self: self._targets(InputKind.BUFFER), doc="The names of buffers.")
    lifted_tensor_constants = property(
        lambda self: self._targets(InputKind.CONSTANT_TENSOR), doc="The names of tensor constants."
    )
    inputs_to_parameters = property(
        lambda self: self._by_node(InputKind.PARAMETER), doc="Of each argument that is a parameter: its name."
    )
    inputs_to_buffers = property(
        lambda self: self._by_node(InputKind.BUFFER), doc="Of each argument that is a buffer: its name."
    )
    inputs_to_lifted_tensor_constants = property(
        lambda self: self._by_node(InputKind.CONSTANT_TENSOR),
        doc="Of each argument that is a tensor constant: its name.",
    )
    non_persistent_buffers = property(
        lambda self: {s.target for s in self.input_specs if s.kind is InputKind.BUFFER and s.persistent is False},
        doc="The names of buffers that the state_dict leaves out.",
    )

    @property
    def user_inputs(self):
        """The names of the program's own inputs that are tensors; the values of others."""
        arguments = (s.arg for s in self.input_specs if s.kind is InputKind.USER_INPUT)
        return tuple(a.name if isinstance(a, _NAMED) else a.value for a in arguments)

    @property
    def user_outputs(self):
        """The names of the program's own outputs that are tensors; the values of others."""
        arguments = (s.arg for s in self.output_specs if s.kind is OutputKind.USER_OUTPUT)
        return tuple(a.name if isinstance(a, _NAMED) else a.value for a in arguments)

    def _outputs(self, kind):
        return {s.arg.name: s.target for s in self.output_specs if s.kind is kind}

    buffers_to_mutate = property(
        lambda self: self._outputs(OutputKind.BUFFER_MUTATION),
        doc="Of each result that is a buffer's new value: its name.",
    )
    parameters_to_mutate = property(
        lambda self: self._outputs(OutputKind.PARAMETER_MUTATION),
        doc="Of each result that is a parameter's new value: its name.",
    )
    user_inputs_to_mutate = property(
        lambda self: self._outputs(OutputKind.USER_INPUT_MUTATION),
        doc="Of each result that is an argument's new value: its name.",
    )
    lifted_custom_objs = property(lambda self: self._targets(InputKind.CUSTOM_OBJ), doc="The names of custom objects.")
    inputs_to_lifted_custom_objs = property(
        lambda self: self._by_node(InputKind.CUSTOM_OBJ), doc="Of each argument that is a custom object: its name."
    )
    input_tokens = property(lambda self: (), doc="The names of tokens among the arguments.")
    output_tokens = property(lambda self: (), doc="The names of tokens among the results.")
    backward_signature = property(lambda self: None, doc="The gradients among the results, of which there are none.")
    assertion_dep_token = property(lambda self: None, doc="The token of assertions: None.")

    def replace_all_uses(self, old, new):
        """Rename a node in all descriptions."""
        for spec in (*self.input_specs, *self.output_specs):
            if getattr(spec.arg, "name", None) == old:
                spec.arg.name = new

    def __str__(self):
        return "\n".join(
            ["", "# inputs", *map(str, self.input_specs), "", "# outputs", *map(str, self.output_specs), ""]
        )

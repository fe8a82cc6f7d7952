"""Functions that PyTorch reads by several signatures: what its TypeError lists where none of them fits."""

import functools

_SHORT = {
    "OPTIONS": "torch.dtype dtype = None, torch.layout layout = None, torch.device device = None, "
    "bool pin_memory = False, bool requires_grad = False",
    "OUTS": "tuple of Tensors out = None",
    "OUT": "Tensor out = None",
    "INPUT": "Tensor input",
    "FORMAT": "torch.memory_format memory_format = None",
    "INTS": "tuple of ints",
    "KEEP": "bool keepdim = False",
}
_OUT = (_SHORT["OUT"], _SHORT["OUTS"])
# names : signature | signature; methods have those that begin with a tensor, unless they stand here as Tensor.NAME; a
# line that is indented goes on
_TEXT = """\
add sub : INPUT, Tensor other, *, Number alpha = 1, OUT
addbmm : INPUT, Tensor batch1, Tensor batch2, *, Number beta = 1, Number alpha = 1, OUT
addcdiv addcmul : INPUT, Tensor tensor1, Tensor tensor2, *, Number value = 1, OUT
addmm : INPUT, Tensor mat1, Tensor mat2, *, Number beta = 1, Number alpha = 1, OUT | INPUT, Tensor mat1, Tensor mat2, torch.dtype out_dtype, *, Number beta =
 1, Number alpha = 1, OUT
addmv : INPUT, Tensor mat, Tensor vec, *, Number beta = 1, Number alpha = 1, OUT
addr : INPUT, Tensor vec1, Tensor vec2, *, Number beta = 1, Number alpha = 1, OUT
all any : INPUT, *, OUT | INPUT, INTS dim = None, KEEP, *, OUT | INPUT, int dim, KEEP, *, OUT
arange : Number end, *, OUT, OPTIONS | Number start, Number end, *, OPTIONS | Number start, Number end, Number step = 1, *, OUT, OPTIONS
argsort : INPUT, *, bool stable, int dim = -1, bool descending = False, OUT | INPUT, int dim = -1, bool descending = False
baddbmm : INPUT, Tensor batch1, Tensor batch2, *, Number beta = 1, Number alpha = 1, OUT | INPUT, Tensor batch1, Tensor batch2, torch.dtype out_dtype, *,
 Number beta = 1, Number alpha = 1, OUT
bartlett_window blackman_window hann_window : int window_length, *, OPTIONS | int window_length, bool periodic, *, OPTIONS
bernoulli : INPUT, *, torch.Generator generator = None, OUT | INPUT, float p, *, torch.Generator generator = None
bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor remainder : INPUT, Tensor other, *, OUT | Number self, Tensor other | INPUT, Number
 other, *, OUT
bmm mm : INPUT, Tensor mat2, *, OUT | INPUT, Tensor mat2, torch.dtype out_dtype, *, OUT
bucketize : INPUT, Tensor boundaries, *, bool out_int32 = False, bool right = False, OUT | Number self, Tensor boundaries, *, bool out_int32 = False, bool
 right = False
clamp clip : INPUT, Tensor min = None, Tensor max = None, *, OUT | INPUT, Number min = None, Number max = None, *, OUT
clamp_max : INPUT, Tensor max, *, OUT | INPUT, Number max, *, OUT
clamp_min : INPUT, Tensor min, *, OUT | INPUT, Number min, *, OUT
conv1d conv2d conv3d : INPUT, Tensor weight, Tensor bias = None, INTS stride = 1, INTS padding = 0, INTS dilation = 1, int groups = 1 | INPUT, Tensor weight,
 Tensor bias = None, INTS stride = 1, str padding = "valid", INTS dilation = 1, int groups = 1
copysign eq fmod ge greater greater_equal gt le less less_equal lt ne not_equal : INPUT, Tensor other, *, OUT | INPUT, Number other, *, OUT
count_nonzero : INPUT, int dim = None | INPUT, INTS dim
ctc_loss : Tensor log_probs, Tensor targets, INTS input_lengths, INTS target_lengths, int blank = 0, int reduction = at::Reduction::Mean, bool zero_infinity
 = False | Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank = 0, int reduction = at::Reduction::Mean, bool
 zero_infinity = False
cumulative_trapezoid trapezoid : Tensor y, Tensor x, *, int dim = -1 | Tensor y, *, Number dx = 1, int dim = -1
dequantize : INPUT | tuple of Tensors tensors
div : INPUT, Tensor other, *, OUT | INPUT, Tensor other, *, str rounding_mode, OUT | INPUT, Number other, *, str rounding_mode
divide : INPUT, Tensor other, *, OUT | INPUT, Tensor other, *, str rounding_mode, OUT | INPUT, Number other | INPUT, Number other, *, str rounding_mode
dsplit hsplit vsplit : INPUT, int sections | INPUT, INTS indices
embedding_bag : Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, bool sparse, Tensor per_sample_weights, bool
 include_last_offset, int padding_idx | Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq = False, int mode = 0, bool sparse = False,
 Tensor per_sample_weights = None, bool include_last_offset = False
eye : int n, *, OUT, OPTIONS | int n, int m, *, OUT, OPTIONS
fill : INPUT, Tensor value | INPUT, Number value
float_power pow : INPUT, Tensor exponent, *, OUT | Number self, Tensor exponent, *, OUT | INPUT, Number exponent, *, OUT
floor_divide multiply true_divide : INPUT, Tensor other, *, OUT | INPUT, Number other
gradient : INPUT, *, INTS dim, int edge_order = 1 | INPUT, *, Number spacing, INTS dim, int edge_order = 1 | INPUT, *, Number spacing = None, int dim = None,
 int edge_order = 1 | INPUT, *, tuple of Scalars spacing, int dim = None, int edge_order = 1 | INPUT, *, tuple of Scalars spacing, INTS dim, int edge_order =
 1 | INPUT, *, tuple of Tensors spacing, int dim = None, int edge_order = 1 | INPUT, *, tuple of Tensors spacing, INTS dim, int edge_order = 1
gru rnn_relu rnn_tanh : Tensor data, Tensor batch_sizes, Tensor hx, tuple of Tensors params, bool has_biases, int num_layers, float dropout, bool train, bool
 bidirectional | INPUT, Tensor hx, tuple of Tensors params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first
hamming_window : int window_length, *, OPTIONS | int window_length, bool periodic, *, OPTIONS | int window_length, bool periodic, float alpha, *, OPTIONS |
 int window_length, bool periodic, float alpha, float beta, *, OPTIONS
histogram : INPUT, Tensor bins, *, Tensor weight = None, bool density = False, OUTS | INPUT, int bins = 100, *, tuple of floats range = None, Tensor weight =
 None, bool density = False, OUTS
histogramdd : INPUT, int bins, tuple of floats range = None, Tensor weight = None, bool density = False | INPUT, INTS bins, tuple of floats range = None,
 Tensor weight = None, bool density = False | INPUT, tuple of Tensors bins, tuple of floats range = None, Tensor weight = None, bool density = False
index_fill : INPUT, int dim, Tensor index, Tensor value | INPUT, int dim, Tensor index, Number value
isin : Tensor elements, Tensor test_elements, *, bool assume_unique = False, bool invert = False, OUT | Number element, Tensor test_elements, *, bool
 assume_unique = False, bool invert = False, OUT | Tensor elements, Number test_element, *, bool assume_unique = False, bool invert = False, OUT
kaiser_window : int window_length, *, OPTIONS | int window_length, bool periodic, *, OPTIONS | int window_length, bool periodic, float beta, *, OPTIONS
lerp : INPUT, Tensor end, Tensor weight, *, OUT | INPUT, Tensor end, Number weight, *, OUT
linspace : Tensor start, Tensor end, int steps, *, OUT, OPTIONS | Number start, Tensor end, int steps, *, OUT, OPTIONS | Tensor start, Number end, int steps,
 *, OUT, OPTIONS | Number start, Number end, int steps, *, OUT, OPTIONS
logspace : Tensor start, Tensor end, int steps, float base = 10.0, *, OUT, OPTIONS | Number start, Tensor end, int steps, float base = 10.0, *, OUT, OPTIONS
 | Tensor start, Number end, int steps, float base = 10.0, *, OUT, OPTIONS | Number start, Number end, int steps, float base = 10.0, *, OUT, OPTIONS
lstm : Tensor data, Tensor batch_sizes, tuple of Tensors hx, tuple of Tensors params, bool has_biases, int num_layers, float dropout, bool train, bool
 bidirectional | INPUT, tuple of Tensors hx, tuple of Tensors params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool
 batch_first
masked_fill : INPUT, Tensor mask, Tensor value | INPUT, Tensor mask, Number value
max min : INPUT, *, OUT | INPUT, Tensor other, *, OUT | INPUT, int dim, KEEP, *, OUTS
mean : INPUT, *, torch.dtype dtype = None, OUT | INPUT, INTS dim, KEEP, *, torch.dtype dtype = None, OUT
median nanmedian : INPUT | INPUT, int dim, KEEP, *, OUTS
moveaxis movedim : INPUT, int source, int destination | INPUT, INTS source, INTS destination
nanquantile quantile : INPUT, Tensor q, int dim = None, KEEP, *, str interpolation = "linear", OUT | INPUT, float q, int dim = None, KEEP, *, str
 interpolation = "linear", OUT
narrow : INPUT, int dim, Tensor start, int length | INPUT, int dim, int start, int length
normal : Tensor mean, Tensor std, *, torch.Generator generator = None, OUT | Tensor mean, float std = 1, *, torch.Generator generator = None, OUT | float
 mean, Tensor std, *, torch.Generator generator = None, OUT | float mean, float std, INTS size, *, torch.Generator generator = None, OUT, OPTIONS
nuclear_norm : INPUT, INTS dim, KEEP, *, OUT | INPUT, KEEP, *, OUT
prod : INPUT, *, torch.dtype dtype = None | INPUT, int dim, KEEP, *, torch.dtype dtype = None, OUT
rand randn : INTS size, *, torch.Generator generator, OUT, OPTIONS | INTS size, *, OUT, OPTIONS
rand_like randn_like : INPUT, *, torch.Generator generator, FORMAT, OPTIONS | INPUT, *, FORMAT, OPTIONS
randint : int high, INTS size, *, torch.Generator generator, OUT, OPTIONS | int high, INTS size, *, OUT, OPTIONS | int low, int high, INTS size, *,
 torch.Generator generator, OUT, OPTIONS | int low, int high, INTS size, *, OUT, OPTIONS
randint_like : INPUT, int low, int high, *, torch.Generator generator, FORMAT, OPTIONS | INPUT, int low, int high, *, FORMAT, OPTIONS | INPUT, Tensor high,
 *, torch.Generator generator, FORMAT, OPTIONS | INPUT, Tensor high, *, FORMAT, OPTIONS | INPUT, int high, *, torch.Generator generator, FORMAT, OPTIONS |
 INPUT, int high, *, FORMAT, OPTIONS
randperm : int n, *, torch.Generator generator, OUT, OPTIONS | int n, *, OUT, OPTIONS
repeat_interleave : INPUT, Tensor repeats, int dim = None, *, int output_size = None | Tensor repeats, *, int output_size = None | INPUT, int repeats, int
 dim = None, *, int output_size = None
round : INPUT, *, OUT | INPUT, *, int decimals, OUT
rsub : INPUT, Tensor other, *, Number alpha = 1 | INPUT, Number other, Number alpha = 1
scatter : INPUT, int dim, Tensor index, Tensor src, *, OUT | INPUT, int dim, Tensor index, Tensor src, *, str reduce, OUT | INPUT, int dim, Tensor index,
 Number value, *, OUT | INPUT, int dim, Tensor index, Number value, *, str reduce, OUT
searchsorted : Tensor sorted_sequence, INPUT, *, bool out_int32 = False, bool right = False, str side = None, Tensor sorter = None, OUT | Tensor
 sorted_sequence, Number self, *, bool out_int32 = False, bool right = False, str side = None, Tensor sorter = None, OUT
sort : INPUT, *, bool stable, int dim = -1, bool descending = False, OUTS | INPUT, int dim = -1, bool descending = False, *, OUTS
squeeze : INPUT | INPUT, int dim | INPUT, INTS dim
squeeze_copy : INPUT, *, OUT | INPUT, int dim, *, OUT | INPUT, INTS dim, *, OUT
std var : INPUT, INTS dim, bool unbiased = True, KEEP, *, OUT | INPUT, INTS dim = None, *, Number correction = None, KEEP, OUT | INPUT, bool unbiased = True
std_mean var_mean : INPUT, INTS dim, bool unbiased = True, KEEP | INPUT, INTS dim = None, *, Number correction = None, KEEP | INPUT, bool unbiased = True
subtract : INPUT, Tensor other, *, Number alpha = 1, OUT | INPUT, Number other, Number alpha = 1
sum : INPUT, *, torch.dtype dtype = None | INPUT, INTS dim, KEEP, *, torch.dtype dtype = None, OUT
tensor_split : INPUT, INTS indices, int dim = 0 | INPUT, Tensor tensor_indices_or_sections, int dim = 0 | INPUT, int sections, int dim = 0
trapz : Tensor y, *, float dx = 1, int dim = -1 | Tensor y, Tensor x, *, int dim = -1
view_copy : INPUT, torch.dtype dtype, *, OUT | INPUT, INTS size, *, OUT
where : Tensor condition | Tensor condition, INPUT, Tensor other, *, OUT | Tensor condition, Number self, Tensor other | Tensor condition, INPUT, Number
 other | Tensor condition, Number self, Number other
xlogy special_xlog1py special_xlogy special_zeta : INPUT, Tensor other, *, OUT | Number self, Tensor other, *, OUT | INPUT, Number other, *, OUT
Tensor.addmm : Tensor mat1, Tensor mat2, *, Number beta = 1, Number alpha = 1
Tensor.baddbmm : Tensor batch1, Tensor batch2, *, Number beta = 1, Number alpha = 1
Tensor.bernoulli_ : Tensor p, *, torch.Generator generator = None | float p = 0.5, *, torch.Generator generator = None
Tensor.nonzero :  | *, bool as_tuple
Tensor.random_ : *, torch.Generator generator = None | int from, int to, *, torch.Generator generator = None | int to, *, torch.Generator generator = None
Tensor.repeat_interleave : Tensor repeats, int dim = None, *, int output_size = None | int repeats, int dim = None, *, int output_size = None
Tensor.to_sparse : *, torch.layout layout = None, INTS blocksize = None, int dense_dim = None | int sparse_dim
Tensor.view : torch.dtype dtype | INTS size
Tensor.where : Tensor condition, Tensor other | Tensor condition, Number other
linalg_cond : INPUT, Number p = None, *, OUT | INPUT, str p, *, OUT
linalg_matrix_norm : INPUT, Number ord, INTS dim = {-2,-1}, KEEP, *, torch.dtype dtype = None, OUT | INPUT, str ord = "fro", INTS dim = {-2,-1}, KEEP, *,
 torch.dtype dtype = None, OUT
linalg_matrix_rank : INPUT, *, Tensor atol = None, Tensor rtol = None, bool hermitian = False, OUT | INPUT, *, float atol = None, float rtol = None, bool
 hermitian = False, OUT | INPUT, Tensor tol, bool hermitian = False, *, OUT | INPUT, float tol, bool hermitian = False, *, OUT
linalg_norm : INPUT, Number ord = None, INTS dim = None, KEEP, *, torch.dtype dtype = None, OUT | INPUT, str ord, INTS dim = None, KEEP, *, torch.dtype dtype
 = None, OUT
linalg_pinv : INPUT, *, Tensor atol = None, Tensor rtol = None, bool hermitian = False, OUT | INPUT, *, float atol = None, float rtol = None, bool hermitian
 = False, OUT | INPUT, Tensor rcond, bool hermitian = False, *, OUT | INPUT, float rcond, bool hermitian = False, *, OUT
special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v special_chebyshev_polynomial_w special_hermite_polynomial_h
 special_hermite_polynomial_he special_laguerre_polynomial_l special_legendre_polynomial_p special_shifted_chebyshev_polynomial_t
 special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w : Tensor x, Tensor n, *, OUT | Number
 x, Tensor n, *, OUT | Tensor x, Number n, *, OUT
Tensor.fill_ : Tensor value | Number value
Tensor.set_ :  | torch.Storage source | torch.Storage source, int storage_offset, INTS size, INTS stride = None | Tensor source | Tensor source,
 int storage_offset, INTS size, INTS stride = None
Tensor.to : torch.device device = None, torch.dtype dtype = None, bool non_blocking = False, bool copy = False, *, FORMAT | torch.dtype dtype, bool
 non_blocking = False, bool copy = False, *, FORMAT | Tensor tensor, bool non_blocking = False, bool copy = False, *, FORMAT
"""


@functools.cache
def _table():
    lines = _TEXT.replace("\n ", " ").splitlines()
    return {
        name: [_spelled(s) for s in text.split(" | ")]
        for names, _, text in (line.partition(" : ") for line in lines)
        for name in names.split()
    }


def _spelled(text):
    return [
        _SHORT.get(p.split(" ")[0], p) if p.isupper() else " ".join(_SHORT.get(w, w) for w in p.split(" "))
        for p in text.split(", ")
        if p
    ]


def _without_self(parameters):
    found = [p for p in parameters[1:] if p not in _OUT]
    return found[:-1] if found[-1:] == ["*"] else found


def signatures(name, method):
    """The signatures of a function, or of a method, each a list of parameters with "*" among them;
    None where PyTorch has but one.
    """
    table = _table()
    if not method:
        return table.get(name)
    found = table.get("Tensor." + name) or table.get("Tensor." + name.rstrip("_"))
    if found is not None:
        return found
    found = table.get(name) or table.get(name.rstrip("_"))
    return found and [_without_self(s) for s in found if s[0] == "Tensor input"]


def mismatch(name, method, args, kwargs, otherwise=None):
    """PyTorch's TypeError for arguments that fit none of several signatures; None where one alone takes as many, and
    its own error says more.

    args: without self for a method. otherwise: signatures of a function that stands not here.
    """
    known = signatures(name, method) or otherwise
    n = len(args) + len(kwargs)
    if not known or sum(_takes(s, n) for s in known) == 1:
        return None
    spoken = [f"({', '.join(s)})" for s in known]
    listed = f"expected {spoken[0]}"
    if len(spoken) > 1:
        listed = (
            "expected one of:" + "".join(f"\n * {s}{_reason(k, args, kwargs)}" for s, k in zip(spoken, known)) + "\n"
        )
    given = ", ".join([type_name(a) for a in args] + [f"{k}={type_name(v)}" for k, v in kwargs.items()]) + ", " * (
        not args and bool(kwargs)
    )
    return TypeError(f"{name}() received an invalid combination of arguments - got ({given}), but {listed}")


def _reason(parameters, args, kwargs):
    """The line that PyTorch adds to a signature of as many parameters (a star and a default count as it reads them) as
    there are arguments.
    """
    if len(parameters) != len(args) + len(kwargs):
        return ""
    types, names = [p.rpartition(" ")[0] for p in parameters], [p.rpartition(" ")[2] for p in parameters]
    if unknown := [k for k in kwargs if k not in names[len(args) :]]:
        return f"\n      didn't match because some of the keywords were incorrect: {', '.join(unknown)}"
    given = [*args, *(kwargs[n] for n in names[len(args) :])]
    told = [f"{n}={_type_names(v)}" if i >= len(args) else _type_names(v) for i, (n, v) in enumerate(zip(names, given))]
    marked = [
        t if type_name(v) in _FITTING.get(wanted, (wanted,)) else f"!{t}!" for t, v, wanted in zip(told, given, types)
    ]
    return f"\n      didn't match because some of the arguments have invalid types: ({', '.join(marked)})"


_FITTING = {"float": ("float", "int")}


def _type_names(v):
    """A value's class, with those of its elements."""
    if not isinstance(v, (tuple, list)):
        return type_name(v)
    inner = ", ".join(map(type_name, v))
    return (
        f"{type_name(v)} of [{inner}]" if isinstance(v, list) else f"{type_name(v)} of ({inner}{',' * (len(v) == 1)})"
    )


def _takes(parameters, n):
    named = [p for p in parameters if p != "*"]
    return sum(" = " not in p for p in named) <= n <= len(named)


def type_name(v):
    """A value's class as PyTorch's messages call it."""
    c = type(v)
    return (
        f"{c.__module__}.{c.__name__}"
        if c.__module__ in ("torch", "numpy") and c.__name__ not in ("Tensor", "Parameter")
        else c.__name__
    )

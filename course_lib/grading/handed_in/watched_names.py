"""What a source may name where its own process tells how it computes; anything else is doubted.

A name is here because an everyday answer needs it and nothing that watches can be reached by it.
Of torch that is what every watcher sees: operations that go through its dispatcher.
"""

import builtins
import collections.abc
import inspect
import itertools
import math
import re
import types
from dataclasses import dataclass

import torch

from course_lib.refusals import MEMBERS, OF_TRITON
from course_lib.simulator import language

ELSEWHERE = re.compile(
    r"_|.*(numpy|from_file|buffer|asarray|sparse|mkldnn|quant|resize|sym_|torch_function)"
)
"""Names that bring memory which torch didn't make, or tensors whose memory can't be looked at."""


def _words(*texts: str) -> frozenset[str]:
    return frozenset(" ".join(texts).split())


def _public(*owners: object) -> frozenset[str]:
    return frozenset(name for owner in owners for name in dir(owner) if name[0] != "_")


def _functions(module: types.ModuleType) -> frozenset[str]:
    """What a module has itself: not the modules that it imported."""
    own = {name for name in _public(module) if not inspect.ismodule(getattr(module, name))}
    return frozenset(name for name in own if not ELSEWHERE.match(name))


# Operations go through torch's dispatcher, so a watcher sees them; the rest is everyday names.
OPERATIONS = _functions(torch._C._VariableFunctions)
DTYPES = {name for name, value in vars(torch).items() if isinstance(value, torch.dtype)}
TENSOR = _public(torch.Tensor)

OF_TORCH = _words(
    "Tensor Size Generator dtype device finfo iinfo inf nan pi e newaxis strided contiguous_format",
    "preserve_format no_grad enable_grad inference_mode set_grad_enabled is_grad_enabled autocast",
    "compile vmap manual_seed is_tensor unique get_default_dtype set_default_dtype",
    "broadcast_shapes unravel_index FloatTensor DoubleTensor HalfTensor LongTensor BoolTensor",
)
OF_TENSORS = _words(
    "T H mT mH shape dtype device layout size dim ndim ndimension numel nelement nbytes itemsize",
    "element_size item tolist to type type_as bool int long short float double half bfloat16 byte",
    "char cfloat cdouble cpu cuda is_cuda contiguous is_contiguous stride new new_empty new_full",
    "new_ones new_tensor new_zeros view view_as expand expand_as reshape_as repeat unfold unique",
    "values indices grad grad_fn requires_grad requires_grad_ retain_grad backward is_leaf data",
    "copy_ zero_ fill_diagonal_ uniform_ index sum_to_size",
)
OF_OTHERS = _words(
    "eps tiny bits smallest_normal resolution",  # of a dtype
    "apply save_for_backward saved_tensors needs_input_grad mark_non_differentiable",
    "weight bias training parameters named_parameters children modules train eval forward",
    "register_buffer register_parameter setter args name from_iterable",
)
PLAIN = (list, dict, set, frozenset, tuple, str, int, float, complex, range, slice)
COLLECTIONS = (collections.Counter, collections.OrderedDict, collections.deque)
IN_PLACE = {name for name in TENSOR if name[-1] == "_" and name[:-1] in OPERATIONS}

VALUES = (OPERATIONS & TENSOR) | IN_PLACE | OF_TENSORS | OF_OTHERS | _public(*PLAIN, *COLLECTIONS)
"""Attributes of whatever is no module."""

INSIDE = (types.FrameType, types.TracebackType, types.CodeType, types.GeneratorType)
INSIDE += (types.CoroutineType, types.AsyncGeneratorType, types.FunctionType, types.MethodType)
RESERVED = {name for owner in (torch.Tensor, *INSIDE) for name in dir(owner)} - VALUES
"""Attributes that lead on from a value of Python's or torch's: no class of an answer has them."""

UNSETTABLE = set(dir(torch.Tensor)) - _words("dim size max min sum exp values indices index T H")
"""What an answer may not set, be it of `self`: a tensor in the place of `self` would lie."""

METHODS = _words(
    "__init__ __call__ __post_init__ __iter__ __next__ __len__ __enter__ __exit__ __repr__ __str__"
)
BASES = _words(
    "torch.nn.Module torch.autograd.Function typing.NamedTuple typing.Protocol object Exception",
    "ValueError TypeError",
)
ERRORS = {n for n, v in vars(builtins).items() if isinstance(v, type) and issubclass(v, Exception)}
BUILTINS = ERRORS | _words(
    "abs all any ascii bin bool bytes callable chr classmethod complex dict dir divmod enumerate",
    "exit filter float format frozenset hasattr hash hex id input int isinstance issubclass iter",
    "len list map max min next object oct ord pow print property quit range repr reversed round",
    "set slice sorted staticmethod str sum super tuple type zip",
    "True False None NotImplemented Ellipsis __name__",
)
# Layers of which some run as one operation, whose parts nobody sees.
FUSED = re.compile(r"Uninitialized|Lazy|.*(Attention|Transformer|Parallel)")
LAYERS = frozenset(name for name in _public(torch.nn) if inspect.isclass(getattr(torch.nn, name)))


@dataclass(frozen=True)
class Rules:
    """What a source may name: modules with their members, attributes of values, builtins."""

    modules: dict[str, frozenset[str]]
    values: frozenset[str]
    builtins: frozenset[str]


FUNCTIONS = Rules(
    {
        "__future__": _words("annotations"),
        "torch": OPERATIONS | OF_TORCH | DTYPES,
        "torch.nn": frozenset(name for name in LAYERS if not FUSED.match(name)),
        "torch.nn.functional": _functions(torch.nn.functional),
        "torch.special": _functions(torch.special),
        "torch.linalg": _functions(torch.linalg),
        "torch.autograd": _words("Function grad no_grad enable_grad inference_mode"),
        "torch.func": _words("vmap grad grad_and_value jacrev jacfwd vjp jvp hessian"),
        "torch.jit": _words("script"),
        "torch.cuda": _words("is_available"),
        "math": _functions(math),
        "itertools": _functions(itertools),
        "functools": _words("cache cached_property lru_cache partial reduce"),
        "collections": _words("Counter OrderedDict defaultdict deque namedtuple"),
        "collections.abc": _public(collections.abc),
        "contextlib": _words("contextmanager nullcontext suppress"),
        "dataclasses": _words("dataclass field replace astuple asdict"),
        "operator": _words("add sub mul truediv floordiv matmul neg lt le gt ge eq ne itemgetter"),
        "time": _words("time perf_counter"),
        "typing": _words(
            "Any Callable ClassVar Dict Final Generic Iterable Iterator List Literal Mapping",
            "NamedTuple Optional Protocol Sequence Set Tuple TypeAlias TypeVar Union cast overload",
        ),
        "warnings": _words("warn"),
        "jaxtyping": _words("Bool Float Float32 Float64 Int Int64 Integer Num Real Shaped"),
        "einops": _words("rearrange reduce repeat einsum"),
        "numpy": _words("inf nan pi e newaxis"),
    },
    VALUES,
    BUILTINS,
)

KERNELS = Rules(
    {
        "__future__": _words("annotations"),
        "course_lib": frozenset(),
        "course_lib.simulator": _words("jit constexpr", *OF_TRITON),
        "course_lib.simulator.language": frozenset(vars(language)),
        "math": _functions(math),
        "torch": _words("Tensor inf nan pi e") | DTYPES,
    },
    _words(MEMBERS),
    _words("abs bool float int len max min print range True False None"),
)

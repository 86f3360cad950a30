"""What calls do beside their arguments: files, settings of the process, results that are kept."""

import ast
import builtins

# Libraries whose functions do not change their arguments, except for _WRITERS. The only state they keep is generators.
_QUIET_LIBRARIES = {"torch", "numpy", "math", "random", "time", "itertools", "collections", "functools", "statistics",
                    "copy", "datetime", "json", "os", "sys", "tqdm", "sklearn", "scipy", "torchvision", "torchmetrics",
                    "flor", "logging", "pathlib", "typing", "string", "re", "warnings", "operator"}
_WRITERS = {"shuffle", "copyto", "put", "putmask", "place", "fill_diagonal", "heappush", "heappop", "setattr", "next",
            "delattr", "exec", "eval", "backward", "to_", "seed", "insort"}
_QUIET_BUILTINS = (set(dir(builtins)) - {"setattr", "delattr", "next", "exec", "eval", "iter", "map", "filter", "zip"}) | {
    "map", "filter", "zip"}
# Methods of tensors, arrays, texts and containers that do not change their object.
_QUIET_METHODS = {
    "item", "detach", "cpu", "cuda", "numpy", "clone", "mean", "sum", "argmax", "argmin", "max", "min", "size", "dim",
    "float", "double", "half", "long", "int", "bool", "view", "reshape", "flatten", "squeeze", "unsqueeze", "permute",
    "transpose", "t", "to", "type", "norm", "std", "var", "abs", "exp", "log", "sqrt", "pow", "eq", "ne", "lt", "gt",
    "le", "ge", "all", "any", "tolist", "keys", "values", "items", "get", "copy", "format", "join", "split", "strip",
    "lower", "upper", "startswith", "endswith", "astype", "numel", "nelement", "matmul", "mm", "bmm", "dot", "softmax",
    "log_softmax", "sigmoid", "tanh", "relu", "topk", "sort", "argsort", "cumsum", "expand", "repeat", "chunk", "gather",
    "index_select", "masked_select", "contiguous", "isnan", "isinf", "count", "index", "parameters", "named_parameters",
    "state_dict", "buffers", "named_buffers", "children", "modules", "named_modules", "get_last_lr", "cpu", "add", "sub",
    "mul", "div", "shape", "ndim", "element_size", "data_ptr", "stride", "is_contiguous", "bfloat16", "round", "clamp"}
_QUIET_METHODS -= {"sort", "add"}  # they change lists and sets
_IMMUTABLE_MAKERS = {"int", "float", "str", "bool", "len", "range", "tuple", "abs", "round", "min", "max", "sum"}
_STATELESS = {"ReLU", "Softmax", "LogSoftmax", "Sigmoid", "Tanh", "Flatten", "Identity", "GELU", "Dropout"}

# Methods that change their object, even if they are only passed on: map(seen.append, items).
MUTATORS = {"append", "appendleft", "extend", "insert", "pop", "popleft", "popitem", "remove", "discard", "clear", "update",
            "setdefault", "add", "sort", "reverse", "write", "put", "send", "step", "backward", "__setitem__", "__next__"}
# Functions that iterate over an argument, and thereby exhaust it if it is an iterator.
_CONSUMERS = {"list", "tuple", "set", "frozenset", "dict", "sum", "max", "min", "any", "all", "sorted", "zip", "map", "filter",
              "enumerate", "reversed", "iter", "join", "islice", "chain", "cycle", "tee", "takewhile", "dropwhile", "groupby",
              "accumulate", "starmap", "zip_longest", "product", "permutations", "combinations", "fromiter", "deque",
              "Counter", "reduce", "OrderedDict", "fsum", "mean", "fmean"}

# State outside of variables, treated as two variables: all files, and all state of libraries and of the process.
FILES = ("files", "files")
LIBRARIES = ("libraries", "the state of a library or of the process")

_FILES = {"open", "load", "loads", "dump", "save", "savez", "savetxt", "loadtxt", "read", "readline", "readlines", "write",
          "writelines", "read_text", "read_bytes", "write_text", "write_bytes", "exists", "is_file", "is_dir", "listdir",
          "scandir", "iterdir", "glob", "rglob", "stat", "getsize", "getmtime", "unlink", "remove", "rename", "replace",
          "mkdir", "makedirs", "touch", "to_csv", "read_csv", "connect", "execute", "fromfile", "tofile", "memmap"}
# Functions of the quiet libraries that change or read settings of the process.
_CHANGES_PROCESS = ("set_", "seterr", "chdir", "putenv", "unsetenv", "setlocale", "use_", "basicConfig", "filterwarnings",
                    "simplefilter", "enable_", "disable_", "setrecursionlimit", "reset_", "manual_seed", "register_")
_ASKS_PROCESS = ("get_", "is_grad_enabled", "is_inference", "getcwd", "getenv", "geterr", "getlocale", "are_", "num_threads",
                 "memory_", "max_memory", "getLogger", "getrecursionlimit", "promote_types", "tensor", "zeros", "ones",
                 "empty", "full", "rand")
_HARMLESS = {"get_device_name", "get_default_device", "get_worker_info"}


def uses_files(source, call):
    """The call may read or write a file."""
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", None)
    if name == "print":
        return any(keyword.arg == "file" for keyword in call.keywords)
    if name == "replace" and len(call.args) != 1:
        return False  # str.replace
    return name in _FILES and source.flor_call(call) is None


def changes_process(name):
    return name is not None and name.startswith(_CHANGES_PROCESS) and not name.startswith("set_rng")


def asks_process(name):
    return name is not None and name.startswith(_ASKS_PROCESS) and name not in _HARMLESS


def consumes(name, call):
    """The arguments that the call may go through."""
    if name not in _CONSUMERS or (name in ("max", "min") and len(call.args) > 1):
        return []
    return [one for one in call.args if not isinstance(one, (ast.GeneratorExp, ast.Constant))]

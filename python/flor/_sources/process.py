"""What calls do beside their arguments: files, settings of the process, results that are kept."""

import ast

# State outside of variables. All files are one, and so is what libraries and the process keep.
FILES = ("files", "files")
LIBRARIES = ("libraries", "the state of a library or of the process")

_FILES = {"open", "load", "loads", "dump", "save", "savez", "savetxt", "loadtxt", "read", "readline", "readlines", "write",
          "writelines", "read_text", "read_bytes", "write_text", "write_bytes", "exists", "is_file", "is_dir", "listdir",
          "scandir", "iterdir", "glob", "rglob", "stat", "getsize", "getmtime", "unlink", "remove", "rename", "replace",
          "mkdir", "makedirs", "touch", "to_csv", "read_csv", "connect", "execute", "fromfile", "tofile", "memmap"}
# Of libraries that leave their arguments alone.
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
        return False  # of a text
    return name in _FILES and source.flor_call(call) is None


def changes_process(name):
    return name is not None and name.startswith(_CHANGES_PROCESS) and not name.startswith("set_rng")


def asks_process(name):
    return name is not None and name.startswith(_ASKS_PROCESS) and name not in _HARMLESS

"""Objects of Python as a description that is equal for equal states, with the tensors taken out; and the reverse.

The description is what `pickle` would write, in a form that does not depend on which equal texts are one object. Two
references to one object are one afterwards, too, and two objects are two. An object stays the object that it is where
one of the same type is in its place now, and no other recorded object has it already; all others are made anew."""

import collections
import copyreg
import enum
import importlib
import marshal
import os
import sys
import types

from . import _engine, _memory

Error = _engine.Error

_PLAIN = (type(None), bool, int, float, complex, str, bytes)
# The kinds of references: the first element of each.
_VALUE, _TUPLE, _FROZENSET, _SCALAR, _GLOBAL, _TORCH, _METHOD, _NODE = range(8)
# Modules whose classes a restore may instantiate, besides the program's own.
_MODULES = {"builtins", "collections", "copyreg", "datetime", "decimal", "enum", "fractions", "functools", "numpy",
            "pathlib", "random", "torch", "types", "uuid", "flor", "__main__"}
_BUILTINS = {"bytearray", "complex", "dict", "frozenset", "list", "object", "range", "set", "slice", "tuple", "bool",
             "int", "float", "str", "bytes", "NoneType", "type", "len", "abs", "min", "max", "sum", "sorted", "any",
             "all", "round", "pow", "divmod"}


def write(writer, thing, root_stays):
    """Writes an object below the writer's name. `root_stays`: it cannot be exchanged for another."""
    Encoder(writer, root_stays).write(thing)


def read(reader, present, root_stays):
    """Returns the recorded object: `present` wherever that is possible."""
    return Decoder(reader, root_stays).read(present)


class _Nowhere:
    """A writer that keeps nothing."""

    wants_content = False

    @staticmethod
    def full_name(name):
        return name

    @staticmethod
    def place(*_):
        pass


def can_be_kept(thing):
    """The object, and all that it holds, can be written."""
    try:
        Encoder(_Nowhere, False).reference(thing, "")
    except (Error, RecursionError):
        return False
    return True


class Specialist:
    """How objects are kept that keep their own state: modules, optimizers, anything with state_dict. They are
    restored in place alone. See _slots.py."""

    found = []

    @classmethod
    def of(cls, thing):
        if not cls.found:
            from . import _slots  # noqa: F401  fills the list
        for specialist in cls.found:
            if specialist.keeps(thing):
                return specialist
        return None


class _Empty:
    pass


def _is_plain_instance(thing):
    """Its state is its attributes, and nothing else."""
    kind = type(thing)
    return (kind.__reduce_ex__ is object.__reduce_ex__ and kind.__reduce__ is object.__reduce__
            and getattr(kind, "__getstate__", None) is getattr(object, "__getstate__", None)
            and not hasattr(kind, "__setstate__") and not hasattr(kind, "__getnewargs__")
            and not hasattr(kind, "__getnewargs_ex__") and hasattr(thing, "__dict__")
            and not any("__slots__" in base.__dict__ for base in kind.__mro__)
            and kind.__basicsize__ <= _Empty.__basicsize__  # no part of its memory is hidden from Python
            and not isinstance(thing, (int, float, complex, str, bytes, bytearray, tuple, list, dict, set, frozenset,
                                       type, types.ModuleType, BaseException)))


def _name_part(key):
    text = str(key) if isinstance(key, (str, int)) else type(key).__name__
    safe = "".join("_" if c in "/~@" or c < " " else c for c in text[:60])
    return safe or "_"


class Encoder:
    def __init__(self, writer, root_stays):
        self.writer = writer
        self.root_stays = root_stays
        self.nodes = []
        self.numbers = {}  # by id of the object
        self.held = []     # keeps the objects alive, so that no id is used twice
        self.names = set()
        self.tensors = 0

    def write(self, thing):
        root = self.reference(thing, "")
        if self.writer.wants_content:
            self.writer.bytes(".layout", marshal.dumps((root, self.nodes), 2))

    def title(self, path):
        return self.writer.full_name(path)

    def unique(self, path, key):
        name = f"{path}.{_name_part(key)}" if path else _name_part(key)
        candidate, number = name, 1
        while candidate in self.names:
            number += 1
            candidate = f"{name}~{number}"
        self.names.add(candidate)
        return candidate

    def reference(self, thing, path):
        kind = type(thing)
        if kind in _PLAIN:
            return (_VALUE, thing)
        if kind is tuple:
            return (_TUPLE, tuple(self.reference(item, self.unique(path, i)) for i, item in enumerate(thing)))
        number = self.numbers.get(id(thing))
        if number is not None:
            return (_NODE, number)
        simple = self.simple(thing, kind, path)
        return simple if simple is not None else self.node(thing, kind, path)

    def simple(self, thing, kind, path):
        """A reference to a value whose identity does not matter, or None."""
        if kind is frozenset:
            return (_FROZENSET, self.sorted(thing, path))
        if isinstance(thing, (type, types.FunctionType, types.BuiltinFunctionType)):
            return self.global_name(thing, path)
        if isinstance(thing, types.MethodType):
            return (_METHOD, self.reference(thing.__self__, self.unique(path, "self")), thing.__func__.__name__)
        if isinstance(thing, enum.Enum) and find_global(kind.__module__, f"{kind.__qualname__}.{thing.name}") is thing:
            return (_GLOBAL, kind.__module__, f"{kind.__qualname__}.{thing.name}")
        if isinstance(thing, types.ModuleType):
            return (_GLOBAL, thing.__name__, "")
        numpy, torch = _memory.numpy(), _memory.torch()
        if numpy is not None and isinstance(thing, numpy.generic):
            return (_SCALAR, thing.dtype.str, thing.tobytes())
        if numpy is not None and isinstance(thing, numpy.ufunc):
            return (_GLOBAL, "numpy", thing.__name__)
        if torch is not None:
            if kind is torch.Size:
                return (_TORCH, "Size", tuple(thing))
            if kind in (torch.dtype, torch.layout, torch.memory_format):
                return (_TORCH, "name", str(thing).rpartition(".")[2])
            if kind is torch.device:
                return (_TORCH, "device", str(thing))
        return None

    def sorted(self, items, path):
        """The elements of a set, whose order differs from process to process."""
        references = [self.reference(item, self.unique(path, "item")) for item in items]
        if any(reference[0] == _NODE for reference in references):
            raise Error(f"'{self.title(path)}' is a set of objects that are known by their identity, which Flor cannot "
                        "keep: use a dict or a list")
        return tuple(sorted(references, key=lambda reference: marshal.dumps(reference, 2)))

    def global_name(self, thing, path):
        name = getattr(thing, "__qualname__", thing.__name__)
        module = getattr(thing, "__module__", None) or "builtins"
        if find_global(module, name) is not thing:
            raise Error(f"'{self.title(path)}' is {name}, which has no name outside of the function that made it: it "
                        "cannot be kept in a checkpoint")
        if not may_be_named(module, name):
            raise Error(f"'{self.title(path)}' needs {module}.{name}, which no restore calls: it cannot be kept in a "
                        "checkpoint")
        return (_GLOBAL, module, name)

    def node(self, thing, kind, path):
        number = len(self.nodes)
        self.numbers[id(thing)] = number
        self.held.append(thing)
        self.nodes.append(None)
        self.nodes[number] = (path,) + self.describe(thing, kind, path)
        return (_NODE, number)

    def firmness(self, path):
        return 2 if path == "" and self.root_stays else 0

    def place(self, thing, path):
        """An object of Python is a block of one byte, so that the engine knows it where it comes in twice."""
        kind = f"{type(thing).__module__}.{type(thing).__qualname__}".replace(" ", "_")
        name = f"{path}/.pointer" if path else ".pointer"
        self.writer.place(name, kind, id(thing), 1, 0, 1, [], self.firmness(path), thing)

    def describe(self, thing, kind, path):
        memory = _memory.kind_of(thing)
        if memory is not None:
            return self.describe_memory(memory, thing, path)
        specialist = Specialist.of(thing)
        if specialist is not None:
            specialist.write(self, thing, path)
            return ("own", specialist.__name__)
        if generator_state(thing) is not None:
            return ("generator", f"{kind.__module__}.{kind.__qualname__}", generator_state(thing))
        self.place(thing, path)
        if kind is list and all(type(item) in _PLAIN for item in thing):
            return ("values", list(thing))
        if kind is dict and all(type(key) in _PLAIN and type(value) in _PLAIN for key, value in thing.items()):
            return ("mapping", list(thing.items()))
        if kind is list:
            return ("list", [self.reference(item, self.unique(path, i)) for i, item in enumerate(thing)])
        if kind is dict:
            return ("dict", self.pairs(thing.items(), path))
        if kind is set:
            return ("set", self.sorted(thing, path))
        if kind is bytearray:
            return ("bytearray", bytes(thing))
        if _is_plain_instance(thing):
            return ("instance", self.global_name(kind, path), self.pairs(vars(thing).items(), path))
        return self.describe_reduced(thing, path)

    def pairs(self, items, path):
        result = []
        for key, value in items:
            name = self.unique(path, key)
            result.append((self.reference(key, f"{name}/.key"), self.reference(value, name)))
        return result

    def describe_memory(self, memory, thing, path):
        numpy = _memory.numpy()
        if memory is _memory.Arrays and thing.dtype.hasobject:
            self.place(thing, path)
            items = [self.reference(item, self.unique(path, i)) for i, item in enumerate(thing.reshape(-1).tolist())]
            return ("objects", tuple(thing.shape), items)
        if numpy is not None and type(thing) is not numpy.ndarray and memory is _memory.Arrays:
            raise Error(f"'{self.title(path)}' is a {type(thing).__name__}, of which Flor keeps plain arrays alone")
        self.tensors += 1
        memory.place(self.writer, path, thing, self.firmness(path))
        if self.writer.wants_content:
            memory.write(self.writer, path, thing)
        trains, gradient = False, None
        if memory is _memory.Tensors:
            trains = thing.requires_grad and thing.is_leaf
            if thing.is_leaf and thing.grad is not None:
                gradient = self.reference(thing.grad, self.unique(path, "grad"))
        return ("memory", memory.describe(thing), trains, gradient)

    def describe_reduced(self, thing, path):
        try:
            parts = thing.__reduce_ex__(4)
        except Exception as error:
            raise Error(f"'{self.title(path)}' is a {type(thing).__name__}, which cannot be kept in a checkpoint: "
                        f"{error}") from None
        if isinstance(parts, str):
            raise Error(f"'{self.title(path)}' is the global {parts}, which a restore cannot change: register its content")
        function, arguments, state, items, pairs, setter = (tuple(parts) + (None,) * 6)[:6]
        if setter is not None:
            raise Error(f"'{self.title(path)}' is a {type(thing).__name__}, which is pickled in a way that Flor does not "
                        "know")
        if not may_be_called(function):
            raise Error(f"'{self.title(path)}' is a {type(thing).__name__}, made by {getattr(function, '__module__', '')}."
                        f"{getattr(function, '__name__', function)}, which no restore calls: it cannot be kept in a checkpoint")
        if path == "" and self.root_stays and not stays(function, arguments, thing):
            raise Error(f"'{self.title(path)}' is a {type(thing).__name__}, which a restore could only make anew: attach "
                        "the variable by its name, flor.loop(..., attached=\"name\")")
        return ("reduced", self.global_name(function, path),
                [self.reference(one, self.unique(path, f"argument{i}")) for i, one in enumerate(arguments)],
                None if state is None else self.reference(state, self.unique(path, "state")),
                None if items is None else [self.reference(one, self.unique(path, i)) for i, one in enumerate(items)],
                None if pairs is None else self.pairs(pairs, path))


class Decoder:
    def __init__(self, reader, root_stays):
        self.reader = reader
        self.root_stays = root_stays
        self.made = {}
        self.claimed = {}  # by id of a present object: the number of the recorded object that it stands for

    def read(self, present):
        root, self.nodes = marshal.loads(self.reader.bytes(".layout"))
        return self.thing(root, present)

    def title(self, path):
        return self.reader.full_name(path)

    def thing(self, reference, present):
        tag = reference[0]
        if tag == _VALUE:
            return reference[1]
        if tag == _NODE:
            return self.object(reference[1], present)
        if tag == _TUPLE:
            now = present if isinstance(present, tuple) else ()
            return tuple(self.thing(item, now[i] if i < len(now) else None) for i, item in enumerate(reference[1]))
        if tag == _FROZENSET:
            return frozenset(self.thing(item, None) for item in reference[1])
        if tag == _GLOBAL:
            return allowed_global(reference[1], reference[2])
        if tag == _METHOD:
            return getattr(self.thing(reference[1], getattr(present, "__self__", None)), reference[2])
        if tag == _SCALAR:
            return needed("numpy", _memory.numpy()).frombuffer(reference[2], dtype=reference[1])[0]
        return torch_thing(reference[1], reference[2])

    def object(self, number, present):
        if number in self.made:
            return self.made[number]
        path, form, *rest = self.nodes[number]
        if form == "own":
            return self.own(number, path, rest[0], present)
        if form == "memory":
            return self.memory(number, path, *rest, present)
        return getattr(self, "read_" + form)(number, path, present, *rest)

    def take(self, number, path, present, fits):
        """`present`, if it may become the recorded object."""
        name = f"{path}/.pointer" if path else ".pointer"
        placement = self.reader.placement(name)
        stays = fits and id(present) not in self.claimed and (placement is None or placement.in_place)
        if not stays and path == "" and self.root_stays:
            raise Error(f"'{self.title(path)}' was recorded as another object than it is now: register the same objects "
                        "as then, each once")
        if stays:
            self.claimed[id(present)] = number
            return present, placement
        if placement is not None and placement.object is not None:
            return placement.object, placement
        return None, placement

    def keep(self, number, placement, thing):
        self.made[number] = thing
        if placement is not None and placement.shares:
            _memory._remember(placement, thing)
        return thing

    def read_list(self, number, path, present, items):
        fits = type(present) is list
        now = list(present) if fits else []
        thing, placement = self.take(number, path, present, fits)
        thing = self.keep(number, placement, [] if thing is None else thing)
        thing[:] = [self.thing(item, now[i] if i < len(now) else None) for i, item in enumerate(items)]
        return thing

    def read_values(self, number, path, present, content):
        thing, placement = self.take(number, path, present, type(present) is list)
        thing = self.keep(number, placement, [] if thing is None else thing)
        thing[:] = content
        return thing

    def read_mapping(self, number, path, present, pairs):
        thing, placement = self.take(number, path, present, type(present) is dict)
        thing = self.keep(number, placement, {} if thing is None else thing)
        thing.clear()
        thing.update(pairs)
        return thing

    def read_pairs(self, pairs, now):
        result = []
        for key_reference, value_reference in pairs:
            key = self.thing(key_reference, None)
            result.append((key, self.thing(value_reference, now.get(key))))
        return result

    def read_dict(self, number, path, present, pairs):
        fits = type(present) is dict
        now = dict(present) if fits else {}
        thing, placement = self.take(number, path, present, fits)
        thing = self.keep(number, placement, {} if thing is None else thing)
        content = self.read_pairs(pairs, now)
        thing.clear()
        thing.update(content)
        return thing

    def read_set(self, number, path, present, items):
        thing, placement = self.take(number, path, present, type(present) is set)
        thing = self.keep(number, placement, set() if thing is None else thing)
        content = [self.thing(item, None) for item in items]
        thing.clear()
        thing.update(content)
        return thing

    def read_bytearray(self, number, path, present, content):
        thing, placement = self.take(number, path, present, type(present) is bytearray)
        thing = self.keep(number, placement, bytearray() if thing is None else thing)
        thing[:] = content
        return thing

    def read_instance(self, number, path, present, kind_name, pairs):
        kind = self.thing(kind_name, None)
        fits = type(present) is kind
        now = dict(vars(present)) if fits else {}
        thing, placement = self.take(number, path, present, fits)
        thing = self.keep(number, placement, object.__new__(kind) if thing is None else thing)
        content = self.read_pairs(pairs, now)
        vars(thing).clear()
        vars(thing).update(content)
        return thing

    def read_objects(self, number, path, present, shape, items):
        numpy = needed("numpy", _memory.numpy())
        fits = _memory.is_array(present) and present.dtype == object and present.shape == tuple(shape)
        now = present.reshape(-1).tolist() if fits else []
        thing, placement = self.take(number, path, present, fits)
        thing = self.keep(number, placement, numpy.empty(shape, dtype=object) if thing is None else thing)
        content = numpy.empty(len(items), dtype=object)
        for i, item in enumerate(items):
            content[i] = self.thing(item, now[i] if i < len(now) else None)
        thing[...] = content.reshape(shape)
        return thing

    def read_generator(self, number, path, present, kind, state):
        now = f"{type(present).__module__}.{type(present).__qualname__}"
        thing = present if now == kind and id(present) not in self.claimed else None
        if thing is None and path == "" and self.root_stays:
            raise Error(f"'{self.title(path)}' was recorded as a {kind}")
        if thing is None:
            module, _, name = kind.rpartition(".")
            thing = allowed_global(module, name)()
        self.claimed[id(thing)] = number
        self.made[number] = thing
        set_generator_state(thing, state)
        return thing

    def read_reduced(self, number, path, present, function_name, arguments, state, items, pairs):
        function = self.thing(function_name, None)
        if not may_be_called(function):
            raise Error(f"'{self.title(path)}' was recorded as made by {function_name[1]}.{function_name[2]}, which no "
                        "restore calls")
        fits = self.can_stay(function, arguments, present)
        now_items = list(present) if fits and items is not None else []
        now_pairs = dict(present) if fits and pairs is not None else {}
        now_state = vars(present) if fits and hasattr(present, "__dict__") else None
        if isinstance(now_state, dict):
            now_state = dict(now_state)
        thing, placement = self.take(number, path, present, fits)
        if thing is None:
            thing = function(*[self.thing(one, None) for one in arguments])
        elif items is not None or pairs is not None or hasattr(thing, "clear"):
            thing.clear()
            if function is collections.Counter:
                dict.update(thing, self.thing(arguments[0], None))
        self.keep(number, placement, thing)
        if state is not None:
            self.set_state(thing, self.thing(state, now_state))
        if items is not None:
            thing.extend(self.thing(item, now_items[i] if i < len(now_items) else None) for i, item in enumerate(items))
        if pairs is not None:
            for key, value in self.read_pairs(pairs, now_pairs):
                thing[key] = value
        return thing

    def can_stay(self, function, arguments, present):
        """See `stays`, of recorded arguments."""
        if function is copyreg.__newobj__:
            return len(arguments) == 1 and type(present) is self.thing(arguments[0], None)
        if function is collections.deque:
            return type(present) is function and arguments[1:] == [(_VALUE, present.maxlen)]
        return function in _CONTAINERS and type(present) is function

    @staticmethod
    def set_state(thing, state):
        if hasattr(thing, "__setstate__"):
            return thing.__setstate__(state)
        attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
        if attributes:
            vars(thing).clear()
            vars(thing).update(attributes)
        for name, value in (slots or {}).items():
            setattr(thing, name, value)

    def memory(self, number, path, description, trains, gradient, present):
        root = path == "" and self.root_stays
        kind = _memory.kind_named(description)
        if root:
            if not kind.fits(present, description):
                raise Error(f"'{self.title(path)}' was recorded as {describe(description)}, but is another one here")
            _memory.restore_leaf(self.reader, path, present, description)
            thing = present
        else:
            usable = present if id(present) not in self.claimed else None
            thing = _memory.restore(self.reader, path, usable, description)
        self.claimed[id(thing)] = number
        self.made[number] = thing
        if kind is _memory.Tensors:
            if thing.is_leaf and thing.requires_grad != trains:
                thing.requires_grad_(trains)
            if thing.is_leaf:
                thing.grad = None if gradient is None else self.thing(gradient, thing.grad)
        return thing

    def own(self, number, path, name, present):
        specialist = Specialist.of(present) if present is not None else None
        if specialist is None or specialist.__name__ != name:
            raise Error(f"'{self.title(path)}' keeps its own state ({name}) and can be restored in place alone: it is "
                        "another object here")
        self.made[number] = present
        self.claimed[id(present)] = number
        specialist.read(self, present, path)
        return present


_CONTAINERS = (collections.OrderedDict, collections.defaultdict, collections.Counter, collections.deque)


def stays(function, arguments, thing):
    """The object is made of its class alone, or is a container: all that it holds is in its state and elements."""
    if function is copyreg.__newobj__:
        return len(arguments) == 1
    return function in _CONTAINERS and type(thing) is function


def describe(description):
    kind, name, shape, _, _ = description
    return f"a {kind} {name} [{', '.join(str(size) for size in shape)}]"


def needed(name, module):
    if module is None:
        raise Error(f"the recorded state needs {name}: import it before the loop")
    return module


def find_global(module, name):
    """The object of that name, or None."""
    thing = sys.modules.get(module)
    for part in name.split(".") if name else ():
        thing = getattr(thing, part, None)
    return thing


def may_be_named(module, name):
    """A record may name it."""
    known = module.partition(".")[0] in _MODULES or _is_of_program(module)
    return known and (module != "builtins" or name in _BUILTINS)


def allowed_global(module, name):
    """The class or function, if it is one that a record may name: a record may come from elsewhere."""
    if not may_be_named(module, "bool"):
        raise Error(f"the recorded state names {module}.{name}, which belongs neither to this program nor to the "
                    "libraries whose objects Flor restores")
    if not may_be_named(module, name):
        raise Error(f"the recorded state names {module}.{name}, which no restore calls")
    if find_global(module, name) is None:
        importlib.import_module(module)
    thing = find_global(module, name)
    if thing is None or not _is_at_home(thing, module, name):
        raise Error(f"the recorded state names {module}.{name}, which is not there")
    return thing


def _is_at_home(thing, module, name):
    """It is defined in that module: not, as the module os is in that of torch, only mentioned there."""
    if isinstance(thing, types.ModuleType):
        return name == "" and thing.__name__ == module
    if isinstance(thing, enum.Enum):
        return type(thing).__module__ == module
    numpy = _memory.numpy()
    if numpy is not None and isinstance(thing, numpy.ufunc):
        return module == "numpy"
    return callable(thing) and (getattr(thing, "__module__", None) or "builtins") == module


def may_be_called(function):
    """A restore may make objects with it: classes whose objects are data, and what the program has itself."""
    if function in _MAKERS or function in _CONTAINERS:
        return True
    module = getattr(function, "__module__", None)
    if module == "builtins":
        return function.__name__ in _BUILTINS and isinstance(function, type)
    if module in _DATA and isinstance(function, type):
        return True
    if module == "numpy.random._pickle" or (module == "numpy" and function.__name__ == "dtype"):
        return True
    from . import _host
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return os.path.abspath(file).startswith(_host.root() + os.sep) and "site-packages" not in file and (
        "dist-packages" not in file) or file == _host.file


_MAKERS = (copyreg.__newobj__, copyreg._reconstructor, types.SimpleNamespace)
_DATA = {"collections", "datetime", "decimal", "fractions", "pathlib", "random", "uuid", "flor", "flor._loops", "torch"}


def _is_of_program(module):
    """It is loaded already, and not part of Python's own library."""
    return module in sys.modules and module.partition(".")[0] not in getattr(sys, "stdlib_module_names", sys.builtin_module_names)


def torch_thing(kind, value):
    torch = needed("torch", _memory.torch())
    return {"Size": torch.Size, "device": torch.device, "name": lambda name: getattr(torch, name)}[kind](value)


def generator_state(thing):
    """The state of a random generator, or None for any other object."""
    torch, numpy = _memory.torch(), _memory.numpy()
    if torch is not None and isinstance(thing, torch.Generator):
        return thing.get_state().numpy().tobytes()
    if numpy is not None and isinstance(thing, (numpy.random.Generator, numpy.random.RandomState)):
        bits = thing.bit_generator if hasattr(thing, "bit_generator") else thing._bit_generator
        return marshal.dumps(_numpy_state(thing, bits), 2)
    random = sys.modules.get("random")
    if random is not None and type(thing) is random.Random:
        return marshal.dumps(thing.getstate(), 2)
    return None


def _numpy_state(thing, bits):
    numpy = _memory.numpy()
    state = thing.get_state(legacy=False) if isinstance(thing, numpy.random.RandomState) else bits.state
    return _flat(state)


def _flat(state):
    """The dict with its arrays as bytes."""
    if isinstance(state, dict):
        return {key: _flat(value) for key, value in sorted(state.items())}
    if _memory.is_array(state):
        return ("array", state.dtype.str, state.tobytes())
    return state.item() if hasattr(state, "item") else state


def _round(state):
    if isinstance(state, dict):
        return {key: _round(value) for key, value in state.items()}
    if isinstance(state, tuple) and len(state) == 3 and state[0] == "array":
        return _memory.numpy().frombuffer(state[2], dtype=state[1])
    return state


def set_generator_state(thing, content):
    torch, numpy = _memory.torch(), _memory.numpy()
    if torch is not None and isinstance(thing, torch.Generator):
        thing.set_state(torch.frombuffer(bytearray(content), dtype=torch.uint8))
    elif numpy is not None and isinstance(thing, numpy.random.RandomState):
        thing.set_state(_round(marshal.loads(content)))
    elif numpy is not None and isinstance(thing, numpy.random.Generator):
        thing.bit_generator.state = _round(marshal.loads(content))
    else:
        thing.setstate(marshal.loads(content))

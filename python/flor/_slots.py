"""The registered objects: modules, optimizers, anything with state_dict, objects, locals. See _graph.py for what is
in them."""

import ctypes
import marshal
import weakref

from . import _engine, _graph, _memory

Error = _engine.Error


def _join(path, name):
    return f"{path}.{name}" if path else name


def _beside(path, name):
    """The name of a piece that no user sees."""
    return f"{path}/.{name}" if path else f".{name}"


_ONE = ctypes.c_char(1)
_SCALARS = (type(None), bool, int, float, complex, str)


def _is_scalar(value):
    return type(value) in _SCALARS or (type(value) is tuple and all(_is_scalar(item) for item in value))


class Model(_graph.Specialist):
    """torch.nn.Module: parameters, buffers, gradients, training mode, and the numbers, texts, tensors and containers that
    its modules have as attributes. Parameters stay the objects that they are."""

    @staticmethod
    def keeps(thing):
        torch = _memory.torch()
        return torch is not None and isinstance(thing, torch.nn.Module)

    @staticmethod
    def leaves(module, path):
        """(name, tensor), each tensor once; and (name, name of the tensor) of those that come in twice."""
        leaves, twice, known = [], [], {}
        for prefix, part in module.named_modules():
            for attribute, tensor in [*part._parameters.items(), *part._buffers.items()]:
                if tensor is None:
                    continue
                name = _join(path, _join(prefix, attribute))
                if id(tensor) in known:
                    twice.append((name, known[id(tensor)]))
                else:
                    known[id(tensor)] = name
                    leaves.append((name, tensor))
        return leaves, twice

    internal = None

    @classmethod
    def own(cls, part):
        """The attributes that a class of the program has beside parameters, buffers and modules."""
        if cls.internal is None:
            cls.internal = frozenset(_memory.torch().nn.Module().__dict__)
        internal = cls.internal
        return {name: value for name, value in vars(part).items() if name not in internal}

    @classmethod
    def attributes(cls, part):
        """Numbers and texts among them: `self.steps += 1` in forward() is state as a buffer is."""
        return {name: value for name, value in cls.own(part).items() if _is_scalar(value)}

    @classmethod
    def objects(cls, part):
        """The names of tensors, containers and other objects among them. What cannot be kept is taken for constant."""
        return [name for name, value in cls.own(part).items() if cls.is_state(value)]

    @staticmethod
    def is_state(value):
        if _is_scalar(value) or (callable(value) and not _graph._is_plain_instance(value)):
            return False
        return _graph.can_be_kept(value)

    @classmethod
    def write(cls, encoder, module, path):
        writer = encoder.writer
        leaves, twice = cls.leaves(module, path)
        described = []
        for name, tensor in leaves:
            _memory.Tensors.place(writer, name, tensor, 2)
            gradient = tensor.grad if tensor.is_leaf else None
            if gradient is not None:
                _memory.Tensors.place(writer, f"{name}.grad", gradient, 0)
            if writer.wants_content:
                _memory.Tensors.write(writer, name, tensor)
                if gradient is not None:
                    _memory.Tensors.write(writer, f"{name}.grad", gradient)
                described.append((name, _memory.Tensors.describe(tensor), tensor.requires_grad,
                                  None if gradient is None else _memory.Tensors.describe(gradient)))
        parts = []
        for prefix, part in module.named_modules():
            own = [(name, encoder.reference(getattr(part, name), encoder.unique(_join(path, prefix), name)))
                   for name in cls.objects(part)]
            extra = None
            if type(part).get_extra_state is not _memory.torch().nn.Module.get_extra_state:
                extra = encoder.reference(part.get_extra_state(), encoder.unique(_join(path, prefix), "extra_state"))
            parts.append((prefix, part.training, cls.attributes(part), own, extra))
        if writer.wants_content:
            writer.bytes(_beside(path, "module"), marshal.dumps((described, twice, parts), 2))

    @classmethod
    def read(cls, decoder, module, path):
        reader = decoder.reader
        described, twice, parts = marshal.loads(reader.bytes(_beside(path, "module")))
        leaves, twice_now = cls.leaves(module, path)
        then, now = [name for name, *_ in described], [name for name, _ in leaves]
        if then != now or list(twice) != twice_now:
            odd = sorted(set(then) ^ set(now)) or [name for name, _ in set(twice) ^ set(twice_now)]
            raise Error(f"'{reader.full_name(path)}' has other parameters and buffers than were recorded"
                        f"{': ' + odd[0] if odd else ''}; replay with the model that was recorded, or record again")
        for (name, description, trains, gradient), (_, tensor) in zip(described, leaves):
            if not _shaped_like(tensor, description):
                raise Error(f"'{reader.full_name(name)}' was recorded as {_graph.describe(description)}, but is "
                            f"{_graph.describe(_memory.Tensors.describe(tensor))} here")
            _memory.restore_leaf(reader, name, tensor, description)
            if tensor.is_leaf and tensor.requires_grad != trains:
                tensor.requires_grad_(trains)
            if gradient is None:
                tensor.grad = None
            else:
                tensor.grad = _memory.restore(reader, f"{name}.grad", tensor.grad, gradient)
        cls.read_parts(decoder, module, parts)

    @classmethod
    def read_parts(cls, decoder, module, parts):
        now = dict(module.named_modules())
        for prefix, training, attributes, own, extra in parts:
            part = now.get(prefix)
            if part is None:
                raise Error(f"the module '{prefix}' was recorded, and is not here now")
            part.training = training
            cls.read_attributes(decoder, part, attributes, own)
            if extra is not None:
                part.set_extra_state(decoder.thing(extra, None))


    @classmethod
    def read_attributes(cls, decoder, part, attributes, own):
        """Sets the attributes of a module, or of another object; those that it did not have go."""
        recorded = {*attributes, *(name for name, _ in own)}
        for name in [*cls.attributes(part), *cls.objects(part)]:
            if name not in recorded:
                del vars(part)[name]
        vars(part).update(attributes)
        for name, reference in own:
            present = vars(part).get(name)
            thing = decoder.thing(reference, present)
            if thing is not present:
                vars(part)[name] = thing


def _shaped_like(tensor, description):
    _, name, shape, _, _ = description
    return _memory.type_name(tensor) == name and tuple(tensor.shape) == tuple(shape)


class Optimizer(_graph.Specialist):
    """torch.optim.Optimizer: groups and state, filled in place: its own load_state_dict would copy the state, and turn
    its numbers into the parameters' type."""

    @staticmethod
    def keeps(thing):
        torch = _memory.torch()
        if torch is None or not isinstance(thing, torch.optim.Optimizer):
            return False
        base = torch.optim.Optimizer
        return type(thing).load_state_dict is base.load_state_dict and type(thing).state_dict is base.state_dict

    # Attributes by which learning rate schedulers tell whether a step was taken before theirs; stored apart from the others.
    COUNTS = ("_step_count", "_opt_called")
    # Attributes that torch's own optimizers have; any other belongs to the program's class.
    INTERNAL = ("defaults", "state", "param_groups", "step", "_params", "_numel_cache")

    @classmethod
    def own(cls, optimizer):
        return {name: value for name, value in vars(optimizer).items()
                if name not in cls.INTERNAL and name not in cls.COUNTS and not name.startswith(("_hook", "_zero", "_optimizer_"))}

    @classmethod
    def attributes(cls, optimizer):
        """Numbers and texts that the optimizer has beside its groups and state: `self.t += 1` in step()."""
        return {name: value for name, value in cls.own(optimizer).items() if _is_scalar(value)}

    @classmethod
    def objects(cls, optimizer):
        """The names of tensors and containers among them; those that hold parameters are not state of the optimizer."""
        _, parameters = cls.parameters(optimizer)
        known = {id(parameter) for parameter in parameters}
        return [name for name, value in cls.own(optimizer).items()
                if Model.is_state(value) and id(value) not in known and not _holds(value, known)]

    @staticmethod
    def parameters(optimizer):
        numbers, parameters = {}, []
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if id(parameter) not in numbers:
                    numbers[id(parameter)] = len(parameters)
                    parameters.append(parameter)
        return numbers, parameters

    @classmethod
    def content(cls, optimizer):
        numbers, _ = cls.parameters(optimizer)
        groups = [{key: [numbers[id(parameter)] for parameter in value] if key == "params" else value
                   for key, value in group.items()} for group in optimizer.param_groups]
        state = [(numbers[id(key)] if id(key) in numbers else key, value) for key, value in optimizer.state.items()]
        return groups, sorted(state, key=lambda item: (not isinstance(item[0], int), str(item[0]).zfill(12)))

    @classmethod
    def write(cls, encoder, optimizer, path):
        groups, state = cls.content(optimizer)
        written = []
        for i, group in enumerate(groups):
            name = encoder.unique(path, f"group{i}")
            written.append([(key, encoder.reference(value, encoder.unique(name, key))) for key, value in group.items()])
        states = [(key if isinstance(key, int) else str(key),
                   encoder.reference(value, encoder.unique(path, key))) for key, value in state]
        own = [(name, encoder.reference(getattr(optimizer, name), encoder.unique(path, name)))
               for name in cls.objects(optimizer)]
        if encoder.writer.wants_content:
            counts = {name: getattr(optimizer, name) for name in cls.COUNTS if hasattr(optimizer, name)}
            encoder.writer.bytes(_beside(path, "optimizer"), marshal.dumps(
                (written, states, counts, cls.attributes(optimizer), own), 2))

    @classmethod
    def read(cls, decoder, optimizer, path):
        groups, states, counts, attributes, own = marshal.loads(decoder.reader.bytes(_beside(path, "optimizer")))
        _, parameters = cls.parameters(optimizer)
        title = decoder.title(path)
        if len(groups) != len(optimizer.param_groups):
            raise Error(f"'{title}' was recorded with {len(groups)} parameter groups, and has "
                        f"{len(optimizer.param_groups)} here")
        for written in groups:
            missing = sorted(set(optimizer.defaults) - {key for key, _ in written})
            if missing:
                raise Error(f"'{title}' was recorded as another kind of optimizer: it has no '{missing[0]}', which "
                            f"{type(optimizer).__name__} has")
        numbers, _ = cls.parameters(optimizer)
        for written, group in zip(groups, optimizer.param_groups):
            now = dict(group)
            content = {key: decoder.thing(value, None if key == "params" else now.get(key)) for key, value in written}
            if content.pop("params") != [numbers[id(parameter)] for parameter in group["params"]]:
                raise Error(f"'{title}' has other parameters in its groups than were recorded")
            for key in set(group) - set(content) - {"params"}:
                del group[key]
            group.update(content)
        before = dict(optimizer.state)
        restored = []
        for key, reference in states:
            parameter = parameters[key] if isinstance(key, int) else key
            restored.append((parameter, decoder.thing(reference, before.get(parameter))))
        optimizer.state.clear()
        for parameter, value in restored:
            optimizer.state[parameter] = value
        for name, value in counts.items():
            setattr(optimizer, name, value)
        Model.read_attributes.__func__(cls, decoder, optimizer, attributes, own)


def _holds(value, known, depth=0):
    """The container holds one of the objects with these ids."""
    if depth > 4 or not isinstance(value, (list, tuple, dict, set)):
        return False
    items = [*value, *value.values()] if isinstance(value, dict) else value
    return any(id(item) in known or _holds(item, known, depth + 1) for item in items)


class Stated(_graph.Specialist):
    """Anything with state_dict and load_state_dict, such as a schedule of learning rates."""

    @staticmethod
    def keeps(thing):
        return (callable(getattr(thing, "state_dict", None)) and callable(getattr(thing, "load_state_dict", None))
                and not isinstance(thing, type))

    @staticmethod
    def write(encoder, thing, path):
        state = thing.state_dict()
        if isinstance(state, dict):  # a scheduler's references to itself stay valid in a restore
            state = {name: value for name, value in state.items() if not isinstance(value, weakref.ReferenceType)}
        encoder.held.append(state)
        before = encoder.tensors
        reference = encoder.reference(state, encoder.unique(path, "state"))
        if encoder.writer.wants_content:
            encoder.writer.bytes(_beside(path, "state"), marshal.dumps(reference, 2))
            if encoder.tensors > before:
                encoder.writer.tensor(_beside(path, "filled"), 2, [1], ctypes.addressof(_ONE), 1)

    @staticmethod
    def read(decoder, thing, path):
        reference = marshal.loads(decoder.reader.bytes(_beside(path, "state")))
        state = decoder.thing(reference, None)
        filled = _beside(path, "filled")
        if decoder.reader.has(filled):  # last: tensors are filled at the end of the restore
            decoder.reader.tensor_through(filled, 2, [1], 1, lambda _: thing.load_state_dict(state))
        else:
            thing.load_state_dict(state)


_graph.Specialist.found = [Model, Optimizer, Stated]


class Slot:
    """A registered object."""

    def __init__(self, name, kind, thing):
        self.name = name
        self.kind = kind
        self.thing = thing

    def save(self, writer):
        _graph.write(writer, self.thing, root_stays=True)

    def load(self, reader):
        _graph.read(reader, self.thing, root_stays=True)


class LocalSlot:
    """A variable of the function, or module, that executes a loop: it is bound to the recorded object."""

    kind = "value"

    def __init__(self, name, frame):
        self.name = name
        self.frame = frame

    def save(self, writer):
        variables = self.frame.f_locals
        is_bound = self.name in variables
        if writer.wants_content:
            writer.bytes(".bound", b"1" if is_bound else b"0")
        if is_bound:
            _graph.write(writer, variables[self.name], root_stays=False)

    def load(self, reader):
        variables = self.frame.f_locals
        present = variables.get(self.name)
        if reader.bytes(".bound") == b"0":
            if self.name in variables:
                raise Error(f"the variable {self.name} had no value when this was recorded: give it one before the loop")
            return
        thing = _graph.read(reader, present, root_stays=False)
        if thing is not present or self.name not in variables:
            bind(self.frame, self.name, thing)


def bind(frame, name, thing):
    """Assigns to a variable of a frame that is being executed."""
    variables = frame.f_locals
    variables[name] = thing
    if variables is not frame.f_globals and isinstance(variables, dict):
        # Up to Python 3.12 f_locals is a copy of the variables, which this call writes back.
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))


_FIXED = (type(None), bool, int, float, complex, str, bytes, tuple, frozenset)


def kind_of(thing):
    """The name of unnamed objects of its kind: "model", "optimizer", "scheduler", "value", "object"."""
    if Model.keeps(thing):
        return "model"
    if Optimizer.keeps(thing):
        return "optimizer"
    if Stated.keeps(thing):
        torch = _memory.torch()
        if torch is not None and isinstance(thing, torch.optim.Optimizer):
            return "optimizer"
        return "scheduler" if hasattr(thing, "last_epoch") else "object"
    if isinstance(thing, _FIXED):
        raise _engine.UsageError(
            f"flor.checkpoints: a {type(thing).__name__} cannot be changed in place, so that Flor could not restore it: "
            "keep it in a flor.Cell, or attach the variable by its name: flor.loop(..., attached=\"name\")")
    return "value" if isinstance(thing, (list, dict, set, bytearray)) or _memory.kind_of(thing) else "object"


def slot_of(thing, name=""):
    return Slot(name, kind_of(thing), thing)

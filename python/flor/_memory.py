"""Tensors and arrays as the engine sees them: an address, a shape and a type of elements.

Knows neither torch nor NumPy unless the program has loaded them."""

import ctypes
import sys

from . import _engine

Error = _engine.Error

# The numbers of store::ElementType, by the names of torch and NumPy.
_BYTES = 0
_TYPES = {
    "bool": 1, "uint8": 2, "int8": 3, "int16": 4, "int32": 5, "int64": 6, "float16": 7,
    "bfloat16": 8, "float32": 9, "float64": 10, "complex64": 11, "complex128": 12,
}
# Element types that the store has no number for are stored as integers of the same size.
_OF_SIZE = {1: 2, 2: 4, 4: 5, 8: 6}


def torch():
    """The module, or None where the program has not loaded it."""
    module = sys.modules.get("torch")
    return module if module is not None and hasattr(module, "Tensor") else None


def numpy():
    module = sys.modules.get("numpy")
    return module if module is not None and hasattr(module, "ndarray") else None


def is_tensor(thing):
    module = torch()
    return module is not None and isinstance(thing, module.Tensor)


def is_array(thing):
    module = numpy()
    return module is not None and isinstance(thing, module.ndarray)


def type_name(tensor):
    """"float32" of torch.float32."""
    return str(tensor.dtype).rpartition(".")[2]


def has_type(name):
    """The store has a number for elements of this type."""
    return name in _TYPES


def element_type(name, size):
    return _TYPES.get(name) or _OF_SIZE.get(size, _BYTES)


def name_of(code):
    """The name of a type of elements, the reverse of `element_type`."""
    return next((name for name, number in _TYPES.items() if number == code), "bytes")


def untyped_storage(tensor):
    """The memory of a tensor in the words of this version of torch."""
    if hasattr(tensor, "untyped_storage"):
        return tensor.untyped_storage()
    storage = tensor.storage()
    return storage.untyped() if hasattr(storage, "untyped") else storage._untyped()


class Tensors:
    """torch.Tensor: its memory, copies of it on the host, new ones."""

    @staticmethod
    def describe(tensor):
        """The properties that a new one is made with."""
        strides = None if tensor.is_contiguous() else tuple(tensor.stride())
        return ("tensor", type_name(tensor), tuple(tensor.shape), strides, tensor.device.type)

    @staticmethod
    def check(tensor, title):
        if tensor.layout is not torch().strided or tensor.is_quantized or tensor.device.type == "meta":
            raise Error(f"'{title}' is a sparse, quantized or meta tensor, which Flor for Python cannot keep: "
                        "register a dense one")

    @staticmethod
    def plain(tensor):
        return (tensor.device.type == "cpu" and tensor.is_contiguous() and not tensor.is_conj()
                and not tensor.is_neg())

    @staticmethod
    def write(writer, name, tensor):
        Tensors.check(tensor, writer.full_name(name))
        host = tensor.detach()
        if not Tensors.plain(host):
            host = host.resolve_conj().resolve_neg().cpu().contiguous()
        code = element_type(type_name(host), host.element_size())
        writer.tensor(name, code, list(host.shape), host.data_ptr(), host.numel() * host.element_size())

    @staticmethod
    def place(writer, name, tensor, firmness):
        if tensor.numel() == 0:
            return
        Tensors.check(tensor, writer.full_name(name))
        storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()
        item = tensor.element_size()
        reach = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
        shape = ",".join(str(size) for size in tensor.shape)
        writer.place(name, f"{type_name(tensor)}[{shape}]", storage.data_ptr(), storage.nbytes(),
                     tensor.storage_offset() * item, reach * item, list(tensor.stride()), firmness, tensor)

    @staticmethod
    def fits(tensor, description):
        return (is_tensor(tensor) and tensor.layout is torch().strided
                and Tensors.describe(tensor) == tuple(description) and tensor.grad_fn is None)

    @staticmethod
    def make(description):
        _, name, shape, strides, device = description
        options = {"dtype": getattr(torch(), name), "device": device}
        if strides is None:
            return torch().empty(shape, **options)
        return torch().empty_strided(shape, strides, **options)

    @staticmethod
    def in_block(placement, description):
        """One in the memory that others share, which is made where there is none yet."""
        _, name, shape, _, device = description
        if placement.block is None:
            placement.block = torch().empty(placement.block_bytes, dtype=torch().uint8, device=device)
        block = placement.block
        if not is_tensor(block):
            raise Error("a tensor and a NumPy array shared their memory when recorded, and do not now")
        tensor = torch().empty(0, dtype=getattr(torch(), name), device=device)
        storage = untyped_storage(block)
        offset = placement.offset // tensor.element_size()
        return tensor.set_(storage, offset, shape, placement.strides)

    @staticmethod
    def fill(reader, name, tensor, staged):
        """`staged`: the memory may be given to the tensor later in the same restore."""
        code = element_type(type_name(tensor), tensor.element_size())
        shape, size = list(tensor.shape), tensor.numel() * tensor.element_size()
        if size == 0 or (Tensors.plain(tensor) and not staged):
            reader.tensor_into(name, code, shape, tensor.data_ptr(), size, tensor)
            tensor.detach().reshape(-1)[:0].zero_()  # makes autograd see that the tensor was written
        else:
            reader.tensor_through(name, code, shape, size, lambda address: Tensors.copy(tensor, address, size))

    @staticmethod
    def copy(tensor, address, size):
        memory = (ctypes.c_char * size).from_address(address)
        source = torch().frombuffer(memory, dtype=tensor.dtype).view(tensor.shape)
        target = tensor.detach()
        for dimension, stride in enumerate(target.stride()):
            if stride == 0 and target.shape[dimension] > 1:  # a broadcast dimension: all its elements share one address
                target, source = target.narrow(dimension, 0, 1), source.narrow(dimension, 0, 1)
        with torch().no_grad():
            target.copy_(source)


class Arrays:
    """numpy.ndarray, likewise."""

    @staticmethod
    def describe(array):
        strides = None if array.flags.c_contiguous else tuple(array.strides)
        return ("array", array.dtype.str, tuple(array.shape), strides, "cpu")

    @staticmethod
    def write(writer, name, array):
        host = numpy().ascontiguousarray(array)
        code = element_type(host.dtype.name, host.dtype.itemsize)
        if code == _BYTES:
            return writer.bytes(name, host.tobytes())
        writer.tensor(name, code, list(array.shape), host.ctypes.data, host.nbytes)

    @staticmethod
    def place(writer, name, array, firmness):
        if array.nbytes == 0:
            return
        owner = array
        while is_array(owner.base):
            owner = owner.base
        start, low = owner.ctypes.data, array.ctypes.data
        low += sum((size - 1) * stride for size, stride in zip(array.shape, array.strides) if stride < 0)
        reach = array.itemsize + sum((size - 1) * abs(stride) for size, stride in zip(array.shape, array.strides))
        if not start <= low or low + reach > start + owner.nbytes:
            start = low  # the memory does not belong to `owner`
        shape = ",".join(str(size) for size in array.shape)
        writer.place(name, f"{array.dtype.str}[{shape}]", start, max(owner.nbytes, reach), low - start, reach,
                     list(array.strides), firmness, array)

    @staticmethod
    def fits(array, description):
        return is_array(array) and Arrays.describe(array) == tuple(description) and array.flags.writeable

    @staticmethod
    def make(description):
        _, name, shape, strides, _ = description
        array = numpy().empty(shape, dtype=numpy().dtype(name))
        if strides is None or any(stride < 0 for stride in strides):
            return array
        order = sorted(range(len(shape)), key=lambda i: -strides[i])
        return numpy().empty([shape[i] for i in order], dtype=array.dtype).transpose(
            sorted(range(len(shape)), key=lambda i: order[i]))

    @staticmethod
    def in_block(placement, description):
        _, name, shape, _, _ = description
        if any(stride < 0 for stride in placement.strides):
            raise Error("NumPy arrays with negative strides shared their memory when recorded, and do not now")
        if placement.block is None:
            placement.block = numpy().empty(placement.block_bytes, dtype="u1")
        block = placement.block
        if not is_array(block):
            raise Error("a tensor and a NumPy array shared their memory when recorded, and do not now")
        while is_array(block.base):
            block = block.base
        memory = block.reshape(-1, order="A").view("u1") if block.flags.forc else block
        return numpy().ndarray(shape, numpy().dtype(name), memory, placement.offset, placement.strides)

    @staticmethod
    def fill(reader, name, array, staged):
        code = element_type(array.dtype.name, array.dtype.itemsize)
        if code == _BYTES:
            array[...] = numpy().frombuffer(reader.bytes(name), dtype=array.dtype).reshape(array.shape)
        elif array.nbytes == 0 or (array.flags.c_contiguous and not staged):
            reader.tensor_into(name, code, list(array.shape), array.ctypes.data, array.nbytes, array)
        else:
            reader.tensor_through(name, code, list(array.shape), array.nbytes,
                                  lambda address: Arrays.copy(array, address))

    @staticmethod
    def copy(array, address):
        memory = (ctypes.c_char * array.nbytes).from_address(address)
        array[...] = numpy().frombuffer(memory, dtype=array.dtype).reshape(array.shape)


def kind_of(thing):
    """Tensors or Arrays, or None."""
    return Tensors if is_tensor(thing) else Arrays if is_array(thing) else None


def kind_named(description):
    return Tensors if description[0] == "tensor" else Arrays


def restore(reader, name, present, description):
    """The recorded tensor: `present` where that can stay, else another one, in memory that is shared as it was."""
    kind = kind_named(description)
    if (kind is Tensors and torch() is None) or (kind is Arrays and numpy() is None):
        raise Error(f"'{reader.full_name(name)}' was recorded as a {description[0]}: import its library before the loop")
    placement = reader.placement(name)
    shares = placement is not None and placement.shares
    tensor = present if kind.fits(present, description) and (placement is None or placement.in_place) else None
    if tensor is None and shares and placement.object is not None:
        tensor = placement.object
    elif tensor is None:
        tensor = kind.in_block(placement, description) if shares else kind.make(description)
    if shares:
        _remember(placement, tensor)
    kind.fill(reader, name, tensor, shares)
    return tensor


def restore_leaf(reader, name, leaf, description):
    """The same for a tensor that stays the object that it is, such as a parameter: it may get other memory."""
    placement = reader.placement(name)
    shares = placement is not None and placement.shares
    if placement is not None and not placement.in_place:
        if not is_tensor(leaf):
            raise Error(f"'{reader.full_name(name)}' shares its memory otherwise than when it was recorded, which an "
                        "array cannot be given: attach it by its name")
        leaf.data = Tensors.in_block(placement, description) if shares else torch().empty_like(leaf)
    if shares:
        _remember(placement, leaf)
    kind_named(description).fill(reader, name, leaf, shares)


def _remember(placement, tensor):
    if placement.block is None:
        placement.block = tensor
    if placement.object is None:
        placement.object = tensor

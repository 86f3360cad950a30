"""Objects to a description and back: what was one object is one, what were two are two."""

import collections
import copy
import datetime
import enum
import random
import unittest

import numpy
import torch

from flor import _engine, _graph, _memory


class Memory:
    """A writer and a reader of pieces in memory; nothing is shared between slots."""

    wants_content = True

    def __init__(self):
        self.pieces, self.items = {}, {}
        self.later = []

    def full_name(self, name):
        return name

    def bytes(self, name, content=None):
        if content is None:
            return self.pieces[name]
        self.pieces[name] = content

    def tensor(self, name, code, sizes, address, size):
        import ctypes
        self.items[name] = (code, sizes, size)
        self.pieces[name] = ctypes.string_at(address, size) if size else b""

    def place(self, *_):
        pass

    def placement(self, name):
        return None

    def has(self, name):
        return name in self.pieces

    def tensor_into(self, name, code, sizes, address, size, keep):
        import ctypes
        assert self.items[name] == (code, sizes, size), name
        self.later.append((lambda: ctypes.memmove(address, self.pieces[name], size), keep))

    def tensor_through(self, name, code, sizes, size, assign):
        import ctypes
        assert self.items[name] == (code, sizes, size), name
        buffer = ctypes.create_string_buffer(self.pieces[name], size)
        self.later.append((lambda: assign(ctypes.addressof(buffer)), buffer))

    def finish(self):
        for step, _ in self.later:
            step()


def written(thing):
    memory = Memory()
    _graph.write(memory, thing, root_stays=False)
    return memory


def restored(memory, present=None, root_stays=False):
    memory.later = []
    thing = _graph.read(memory, present, root_stays)
    memory.finish()
    return thing


class Colour(enum.Enum):
    RED = 1


class Plain:
    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return type(other) is Plain and self.value == other.value

    __hash__ = None


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self):
        self.a, self.b = 1, [2]


class GraphTest(unittest.TestCase):
    def test_values_come_back(self):
        for thing in (None, True, 7, -1 << 80, 0.1, float("inf"), 1 + 2j, "text \u00e9", b"bytes", (1, ("a", None)),
                      [1, [2.5, "x"]], {"a": 1, 2: [3]}, {1, 2, 3}, frozenset({"a", "b"}), bytearray(b"abc"),
                      collections.OrderedDict(a=1, b=[2]), collections.deque([1, 2], maxlen=3),
                      collections.Counter("abca"), collections.defaultdict(list, a=[1]), Plain([1]), Colour.RED,
                      datetime.datetime(2026, 1, 2, 3, 4, 5, 6), numpy.float32(0.1), numpy.int64(3), range(3),
                      torch.Size([2, 3]), torch.float32, torch.device("cpu"), int, len, collections.OrderedDict):
            with self.subTest(thing=thing):
                back = restored(written(thing))
                self.assertEqual(back, thing)
                self.assertIs(type(back), type(thing))

    def test_tensors_and_arrays_of_all_types_come_back(self):
        for kind in (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16,
                     torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128):
            tensor = torch.arange(12).reshape(3, 4).to(kind)
            for one in (tensor, tensor.t(), tensor[0, 0], tensor[:0], tensor[:, 1]):
                back = restored(written([one]))[0]
                self.assertTrue(torch.equal(back, one), kind)
                self.assertEqual(back.dtype, kind)
        for kind in ("?", "u1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "S3", "M8[s]"):
            array = numpy.arange(6).astype("i8").astype(kind).reshape(2, 3)
            for one in (array, array.T, array[:0], array[::-1]):
                back = restored(written([one]))[0]
                self.assertTrue(numpy.array_equal(back, one), kind)
                self.assertEqual(back.dtype, array.dtype)

    def test_one_object_stays_one_and_two_stay_two(self):
        shared = [1]
        back = restored(written({"a": shared, "b": shared, "c": [1]}))
        self.assertIs(back["a"], back["b"])
        self.assertIsNot(back["a"], back["c"])
        loop = []
        loop.append(loop)
        back = restored(written(loop))
        self.assertIs(back[0], back)

    def test_two_objects_of_then_are_two_although_they_are_one_now(self):
        memory = written({"a": torch.tensor([1.0]), "b": torch.tensor([2.0]), "c": [1], "d": [2]})
        one, both = torch.tensor([0.0]), [0]
        back = restored(memory, {"a": one, "b": one, "c": both, "d": both})
        self.assertEqual((back["a"].item(), back["b"].item(), back["c"], back["d"]), (1.0, 2.0, [1], [2]))
        self.assertIs(back["a"], one)
        self.assertIsNot(back["b"], one)

    def test_one_object_of_then_is_one_although_they_are_two_now(self):
        shared, content = torch.tensor([1.0]), [5]
        memory = written([shared, shared, content, content])
        back = restored(memory, [torch.tensor([0.0]), torch.tensor([0.0]), [0], [0]])
        self.assertIs(back[0], back[1])
        self.assertIs(back[2], back[3])
        self.assertEqual((back[0].item(), back[2]), (1.0, [5]))

    def test_objects_that_stay_are_filled_in_place(self):
        inner, tensor, plain = [1], torch.ones(2), Plain(3)
        thing = {"inner": inner, "tensor": tensor, "plain": plain}
        memory = written(thing)
        inner.append(2)
        tensor.add_(5)
        plain.value = plain.other = 9
        thing["new"] = 1
        back = restored(memory, thing, root_stays=True)
        self.assertIs(back, thing)
        self.assertEqual(list(thing), ["inner", "tensor", "plain"])
        self.assertEqual((inner, tensor.tolist(), vars(plain)), ([1], [1.0, 1.0], {"value": 3}))
        self.assertIs(thing["inner"], inner)
        self.assertIs(thing["tensor"], tensor)

    def test_equal_states_have_equal_descriptions(self):
        text = "".join(["ab", "c"])
        for a, b in (([text, "abc"], ["abc", "abc"]), ({"x", "yy", "zzz"}, {"zzz", "x", "yy"}),
                     (Plain("abc"), Plain(text))):
            self.assertEqual(written(a).pieces, written(b).pieces)

    def test_generators_continue(self):
        for make, draw in ((lambda: random.Random(3), lambda g: g.random()),
                           (lambda: numpy.random.default_rng(3), lambda g: g.standard_normal()),
                           (lambda: numpy.random.RandomState(3), lambda g: g.randn()),
                           (lambda: torch.Generator().manual_seed(3), lambda g: torch.rand(1, generator=g).item())):
            generator = make()
            draw(generator)
            memory = written([generator])
            expected = [draw(generator) for _ in range(3)]
            self.assertIs(restored(memory, [generator])[0], generator)
            self.assertEqual([draw(generator) for _ in range(3)], expected)

    def test_gradients_and_the_wish_for_them_come_back(self):
        tensor = torch.ones(2, requires_grad=True)
        tensor.grad = torch.tensor([3.0, 4.0])
        memory = written([tensor])
        tensor.grad.zero_()
        tensor.requires_grad_(False)
        restored(memory, [tensor])
        self.assertEqual(tensor.grad.tolist(), [3.0, 4.0])
        self.assertTrue(tensor.requires_grad)

    def test_a_value_that_was_computed_with_gradients_is_a_plain_one_after_it(self):
        tensor = torch.ones(1, requires_grad=True) * 2
        back = restored(written([tensor]), [tensor])[0]
        self.assertIsNot(back, tensor)
        self.assertEqual(back.item(), 2.0)
        self.assertIsNone(back.grad_fn)

    def test_slots_come_back(self):
        thing = Slotted()
        memory = written([thing])
        thing.a, thing.b = 5, None
        restored(memory, [thing])
        self.assertEqual((thing.a, thing.b), (1, [2]))

    def test_what_cannot_be_kept_is_refused_by_name(self):
        stream = open(__file__)
        self.addCleanup(stream.close)
        for thing, words in ((lambda: 1, "<lambda>"), ((i for i in ()), "generator"), (stream, "TextIOWrapper"),
                             ({object()}, "a set of objects")):
            with self.subTest(words=words), self.assertRaisesRegex(_engine.Error, words):
                written({"name": thing})
        with self.assertRaisesRegex(_engine.Error, "'name' is a sparse"):
            written({"name": torch.eye(2).to_sparse()})

    def test_a_record_names_no_function_of_its_choice(self):
        memory = written([1])
        import marshal
        for module, name in (("os", "system"), ("builtins", "eval"), ("subprocess", "Popen")):
            evil = (_graph._NODE, 0), [("", "reduced", (_graph._GLOBAL, module, name), [(_graph._VALUE, "true")], None,
                                        None, None)]
            memory.pieces[".layout"] = marshal.dumps(evil, 2)
            with self.assertRaises(_engine.Error):
                restored(memory)


class ModuleTest(unittest.TestCase):
    def test_a_module_comes_back_with_all_that_it_is(self):
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(2, 2)
                self.norm = torch.nn.BatchNorm1d(2)
                self.tied = self.layer
                self.count, self.seen, self.scale = 0, [], torch.ones(1)
                self.register_buffer("extra", torch.zeros(1), persistent=False)

        net = Net()
        net.norm(torch.randn(4, 2))
        net.layer(torch.randn(4, 2)).sum().backward()
        net.eval()
        net.count, net.seen = 3, [1]
        before = copy.deepcopy(net)
        gradient = net.layer.weight.grad.clone()
        memory = Memory()
        _graph.write(memory, net, root_stays=True)
        with torch.no_grad():
            for tensor in [*net.parameters(), *net.buffers(), net.scale]:
                tensor.add_(1)
        net.layer.weight.grad = None
        net.layer.bias.requires_grad_(False)
        net.train()
        net.count, net.other = 4, 5
        seen = net.seen
        net.seen.append(2)
        weight = net.layer.weight
        restored(memory, net, root_stays=True)
        for a, b in zip([*net.parameters(), *net.buffers(), net.scale],
                        [*before.parameters(), *before.buffers(), before.scale]):
            self.assertTrue(torch.equal(a, b))
            self.assertEqual(a.requires_grad, b.requires_grad)
        self.assertIs(net.layer.weight, weight)
        self.assertTrue(torch.equal(net.layer.weight.grad, gradient))
        self.assertFalse(net.training or net.norm.training)
        self.assertEqual((net.count, net.seen, hasattr(net, "other")), (3, [1], False))
        self.assertIs(net.seen, seen)

    def test_another_shape_is_refused(self):
        memory = Memory()
        _graph.write(memory, torch.nn.Linear(2, 3), root_stays=True)
        with self.assertRaisesRegex(_engine.Error, "'weight' was recorded as a tensor float32 .3, 2."):
            restored(memory, torch.nn.Linear(3, 3), root_stays=True)
        with self.assertRaisesRegex(_engine.Error, "other parameters"):
            restored(memory, torch.nn.Linear(2, 3, bias=False), root_stays=True)

    def test_optimizers_continue_exactly(self):
        makers = {"sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
                  "adam": lambda p: torch.optim.Adam(p, lr=0.1, amsgrad=True),
                  "adamw": lambda p: torch.optim.AdamW(p, lr=0.1), "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.1),
                  "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1), "lbfgs": lambda p: torch.optim.LBFGS(p, lr=0.1),
                  "nadam": lambda p: torch.optim.NAdam(p, lr=0.1), "rprop": lambda p: torch.optim.Rprop(p, lr=0.1),
                  "adamax": lambda p: torch.optim.Adamax(p, lr=0.1), "asgd": lambda p: torch.optim.ASGD(p, lr=0.1)}
        for name, make in makers.items():
            with self.subTest(optimizer=name):
                torch.manual_seed(1)
                net = torch.nn.Linear(3, 1)
                optimizer = make(net.parameters())

                def step():
                    def closure():
                        optimizer.zero_grad()
                        loss = (net(torch.ones(2, 3)) ** 2).sum()
                        loss.backward()
                        return loss
                    optimizer.step(closure)

                step()
                memory, weights = Memory(), Memory()
                _graph.write(memory, optimizer, root_stays=True)
                _graph.write(weights, net, root_stays=True)
                step()
                step()
                expected = [p.clone() for p in net.parameters()]
                optimizer.param_groups[0]["lr"] = 77
                restored(memory, optimizer, root_stays=True)
                restored(weights, net, root_stays=True)
                step()
                step()
                for a, b in zip(net.parameters(), expected):
                    self.assertTrue(torch.equal(a, b))


class ForgedTest(unittest.TestCase):
    """A description that came from elsewhere."""

    def read(self, *node):
        import marshal
        memory = Memory()
        memory.bytes(".layout", marshal.dumps(((7, 0), [("",) + node]), 2))
        return restored(memory)

    def test_nothing_is_called_but_what_makes_data(self):
        text = (0, "true")
        for module, name in (("torch", "os.system"), ("random", "_os.system"), ("posix", "system"), ("os", "system"),
                             ("builtins", "eval"), ("builtins", "__import__"), ("numpy", "memmap"), ("torch", "load"),
                             ("torch.hub", "load"), ("functools", "partial"), ("subprocess", "Popen"), ("types", "FunctionType"),
                             ("builtins", "open"), ("torch.serialization", "load"), ("importlib", "import_module")):
            with self.subTest(f"{module}.{name}"):
                with self.assertRaises(_engine.Error):
                    self.read("reduced", (4, module, name), [text], None, None, None)

    def test_what_makes_data_is_called(self):
        self.assertEqual(self.read("reduced", (4, "fractions", "Fraction"), [(0, "1/3")], None, None, None) * 3, 1)


if __name__ == "__main__":
    unittest.main()

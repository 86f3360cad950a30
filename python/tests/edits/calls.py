"""More of names.py: what calls leave behind."""

EDITS = [
    ('setattr', {
        'train.py': """
class T: pass
t = T(); t.n = 0
def go(o, x): setattr(o, "n", o.n + x)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): go(t, x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", t.n)\n    flor.log("e"'),
        ],
    }),
    ('globals', {
        'train.py': """
n = 0
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): globals()["n"] += x
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", n)\n    flor.log("e"'),
        ],
    }),
    ('exec', {
        'train.py': """
n = 0
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): exec("n += x")
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", n)\n    flor.log("e"'),
        ],
    }),
    ('dataclass', {
        'train.py': """
import dataclasses
@dataclasses.dataclass
class S:
    n: int = 0
    items: list = dataclasses.field(default_factory=list)
    def add(self, x):
        self.n += x
        self.items.append(x)
s = S()
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): s.add(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", str(dataclasses.asdict(s)))\n    flor.log("e"'),
        ],
    }),
    ('dataclass alias', {
        'train.py': """
import dataclasses
@dataclasses.dataclass
class S:
    items: list
    def add(self, x): self.items.append(x)
lst = []
s = S(lst)
def go(x): s.add(x)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): go(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(lst))\n    flor.log("e"'),
        ],
    }),
    ('getter alias', {
        'train.py': """
CACHE = []
def get(): return CACHE
c = get()
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): c.append(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(CACHE))\n    flor.log("e"'),
        ],
    }),
    ('getter alias2', {
        'train.py': """
class H:
    def __init__(self): self.items = []
    def get(self): return self.items
h = H()
def go(x): h.get().append(x)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): go(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(h.items))\n    flor.log("e"'),
        ],
    }),
    ('partial', {
        'train.py': """
import functools
lst = []
def add(l, x): l.append(x)
go = functools.partial(add, lst)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): go(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(lst))\n    flor.log("e"'),
        ],
    }),
    ('bound method', {
        'train.py': """
lst = []
go = lst.append
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): go(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(lst))\n    flor.log("e"'),
        ],
    }),
    ('map append', {
        'train.py': """
lst = []
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): list(map(lst.append, [x]))
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(lst))\n    flor.log("e"'),
        ],
    }),
    ('comprehension append', {
        'train.py': """
lst = []
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): [lst.append(i) for i in range(x)]
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(lst))\n    flor.log("e"'),
        ],
    }),
    ('walrus loop', {
        'train.py': """
m = 0
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4):
        if (m := x + epoch) > 100: break
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", m)\n    flor.log("e"'),
        ],
    }),
    ('loop in comprehension', {
        'train.py': """
for epoch in flor.loop("epoch", 3):
    lst = [x * 2 for x in flor.loop("train", 4)]
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", lst[1])\n    flor.log("e"'),
        ],
    }),
    ('loop via enumerate zip', {
        'train.py': """
for epoch in flor.loop("epoch", 3):
    s = 0
    for i, (x, y) in enumerate(zip(flor.loop("train", [3,4,5]), "abc")): s += x
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", s + i)\n    flor.log("e"'),
        ],
    }),
    ('itertools count', {
        'train.py': """
import itertools
c = itertools.count()
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): next(c)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", str(c))\n    flor.log("e"'),
        ],
    }),
    ('iterator held', {
        'train.py': """
it = iter(range(100))
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): y = next(it)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", it.__length_hint__())\n    flor.log("e"'),
        ],
    }),
    ('for over iterator', {
        'train.py': """
it = iter(range(100))
for epoch in flor.loop("epoch", 3):
    for x, y in zip(flor.loop("train", 4), it): pass
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", it.__length_hint__())\n    flor.log("e"'),
        ],
    }),
    ('lambda default', {
        'train.py': """
lst = []
f = lambda x, l=lst: l.append(x)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): f(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(lst))\n    flor.log("e"'),
        ],
    }),
    ('dict of lambdas', {
        'train.py': """
n = [0]
ops = {"a": lambda x: n.append(x)}
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): ops["a"](x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(n))\n    flor.log("e"'),
        ],
    }),
    ('monkeypatch', {
        'train.py': """
class T:
    def step(self, x): return x
lst = []
def patched(self, x): lst.append(x)
T.step = patched
t = T()
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): t.step(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(lst))\n    flor.log("e"'),
        ],
    }),
    ('decorator count', {
        'train.py': """
calls = {}
def count(f):
    def inner(*a):
        calls[f.__name__] = calls.get(f.__name__, 0) + 1
        return f(*a)
    return inner
@count
def step(x): return x
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): step(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", calls[\'step\'])\n    flor.log("e"'),
        ],
    }),
    ('env', {
        'train.py': """
import os
os.environ["Z"] = "0"
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): os.environ["Z"] = str(x + epoch)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", os.environ[\'Z\'])\n    flor.log("e"'),
        ],
    }),
    ('getenv', {
        'train.py': """
import os
os.environ["Z"] = "0"
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): os.environ["Z"] = str(x + epoch)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", os.getenv(\'Z\'))\n    flor.log("e"'),
        ],
    }),
    ('file', {
        'train.py': """
open("x.txt", "w").close()
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4):
        with open("x.txt", "a") as f: f.write("a")
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(open(\'x.txt\').read()))\n    flor.log("e"'),
        ],
    }),
    ('contextmanager', {
        'train.py': """
import contextlib
depth = []
@contextlib.contextmanager
def scope(x):
    depth.append(x)
    yield
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4):
        with scope(x): pass
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(depth))\n    flor.log("e"'),
        ],
    }),
    ('callable object', {
        'train.py': """
class M:
    def __init__(self): self.n = 0
    def __call__(self, x): self.n += x
m = M()
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): m(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", m.n)\n    flor.log("e"'),
        ],
    }),
    ('inherited files', {
        'train.py': """
from base import Base
class T(Base):
    def show(self): return self.total
t = T()
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): t.run(x)
    flor.log("e", epoch)
""",
        'base.py': """
class Base:
    def __init__(self): self.total = 0
    def run(self, x): self.total += x
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", t.show())\n    flor.log("e"'),
        ],
    }),
    ('match', {
        'train.py': """
for epoch in flor.loop("epoch", 3):
    r = 0
    for x in flor.loop("train", 4):
        match (x, epoch):
            case (a, b): r = a
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", a + b)\n    flor.log("e"'),
        ],
    }),
    ('with as', {
        'train.py': """
import contextlib
@contextlib.contextmanager
def cm(l): yield l
lst = []
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): lst.append(x)
    v = 0
    with cm(lst) as v:
        flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('        flor.log("e"',
             '        flor.log("q", len(v))\n        flor.log("e"'),
        ],
    }),
    ('unknown lib state', {
        'train.py': """
import decimal, configparser
c = configparser.ConfigParser(); c["a"] = {"n": "0"}
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): decimal.getcontext().prec = 3 + x + epoch
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", str(decimal.Decimal(1) / 3))\n    flor.log("e"'),
        ],
    }),
    ('augassign numpy', {
        'train.py': """
import numpy
a = numpy.zeros(3); b = a
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): b += x
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", float(a.sum()))\n    flor.log("e"'),
        ],
    }),
    ('numpy view', {
        'train.py': """
import numpy
a = numpy.zeros(3); b = a.reshape(3, 1); c = a[1:]
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): b[1] = x + epoch
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", float(c.sum()))\n    flor.log("e"'),
        ],
    }),
    ('numpy out', {
        'train.py': """
import numpy
a = numpy.zeros(3)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): numpy.add(a, x, a)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", float(a.sum()))\n    flor.log("e"'),
        ],
    }),
    ('deque partial registered', {
        'train.py': """
import collections
d = collections.deque(maxlen=5)
class S:
    def __init__(self): self.n = 0; self.m = 0
    def state_dict(self): return {"n": self.n}
    def load_state_dict(self, s): self.n = s["n"]
s = S()
flor.checkpoints(d, s)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4):
        d.append(x); s.n += 1; s.m += 2
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", s.m + len(d))\n    flor.log("e"'),
        ],
    }),
    ('star args hook', {
        'train.py': """
class Hooks:
    def __init__(self): self.h = []
    def register(self, f): self.h.append(f)
    def fire(self, *a, **k):
        for f in self.h: f(*a, **k)
hooks = Hooks(); acts = {}
def make(n):
    def hook(*a): acts[n] = acts.get(n, 0) + a[0]
    return hook
hooks.register(make("one"))
w = [0.0]; flor.checkpoints(w)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): hooks.fire(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", acts["one"])\n    flor.log("e"'),
        ],
    }),
    ('torch hook', {
        'train.py': """
import torch
acts = {}
net = torch.nn.Linear(2, 2); net.weight.data.fill_(1); net.bias.data.fill_(0)
net.register_forward_hook(lambda m, i, o: acts.__setitem__("n", acts.get("n", 0) + o.sum().item()))
flor.checkpoints(net)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): net(torch.ones(1, 2) * x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", acts["n"])\n    flor.log("e"'),
        ],
    }),
    ('torch grad unregistered', {
        'train.py': """
import torch
net = torch.nn.Linear(2, 2); net.weight.data.fill_(1); net.bias.data.fill_(0)
other = torch.nn.Linear(2, 2); other.weight.data.fill_(1); other.bias.data.fill_(0)
flor.checkpoints(net)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4):
        l = other(net(torch.ones(1, 2) * x)).sum(); l.backward()
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", other.weight.grad.sum())\n    flor.log("e"'),
        ],
    }),
    ('torch generator keyword', {
        'train.py': """
import torch
g = torch.Generator().manual_seed(3)
w = [0.0]; flor.checkpoints(w)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): y = torch.randperm(5, generator=g)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", g.get_state().double().sum())\n    flor.log("e"'),
        ],
    }),
    ('torch default dtype', {
        'train.py': """
import torch
w = [0.0]; flor.checkpoints(w)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): torch.set_default_dtype(torch.float64)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", str(torch.zeros(1).dtype))\n    flor.log("e"'),
        ],
    }),
    ('torch param alias', {
        'train.py': """
import torch
net = torch.nn.Linear(2, 2); net.weight.data.fill_(1); w0 = net.weight.detach()
ema = [p.detach().clone() for p in net.parameters()]
opt = torch.optim.SGD(net.parameters(), 0.1)
flor.checkpoints(net, opt)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4):
        opt.zero_grad(); net(torch.ones(1, 2)).sum().backward(); opt.step()
        for e, p in zip(ema, net.parameters()): e.mul_(0.9).add_(p.detach(), alpha=0.1)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", w0.sum()); flor.log("q2", ema[0].sum())\n    flor.log("e"'),
        ],
    }),
]

"""Questions outside of a loop, of what it leaves behind in a way that names alone do not show: each is (name, files,
edits by file). The loop is called train; the question, q."""

EDITS = [
    ('attr inner method', {
        'train.py': """
class T:
    def __init__(self): self.total = 0
    def step(self, x): self.inner(x)
    def inner(self, x): self.total += x
trainer = T()
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): trainer.step(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", trainer.total)\n    flor.log("e"'),
        ],
    }),
    ('container alias func', {
        'train.py': """
holder, lst = [], []
holder.append(lst)
def report():
    flor.log("e", 1)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): lst.append(x)
    report()
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(holder[0]))\n    flor.log("e"'),
        ],
    }),
    ('container alias mut', {
        'train.py': """
holder, lst = {}, []
def setup(): holder["a"] = lst
setup()
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): holder["a"].append(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(lst))\n    flor.log("e"'),
        ],
    }),
    ('global in function', {
        'train.py': """
total = 0
def train_epoch():
    global total
    for x in flor.loop("train", 4): total += x
for epoch in flor.loop("epoch", 3):
    total = 0
    train_epoch()
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", total)\n    flor.log("e"'),
        ],
    }),
    ('view before call', {
        'train.py': """
lst = []
def train_epoch():
    for x in flor.loop("train", 4): lst.append(x)
for epoch in flor.loop("epoch", 3):
    view = lst
    train_epoch()
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(view))\n    flor.log("e"'),
        ],
    }),
    ('try finally', {
        'train.py': """
for epoch in flor.loop("epoch", 3):
    total = 0
    try:
        for x in flor.loop("train", 4): total += x
    finally:
        flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('        flor.log("e"',
             '        flor.log("q", total)\n        flor.log("e"'),
        ],
    }),
    ('for else', {
        'train.py': """
for epoch in flor.loop("epoch", 3):
    total = 0
    for i in range(1):
        for x in flor.loop("train", 4): total += x
    else:
        flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('        flor.log("e"',
             '        flor.log("q", total)\n        flor.log("e"'),
        ],
    }),
    ('loop else', {
        'train.py': """
for epoch in flor.loop("epoch", 3):
    total = 0
    for x in flor.loop("train", 4): total += x
    else:
        flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('        flor.log("e"',
             '        flor.log("q", total)\n        flor.log("e"'),
        ],
    }),
    ('except handler', {
        'train.py': """
for epoch in flor.loop("epoch", 3):
    total = 0
    try:
        for x in flor.loop("train", 4): total += x
        raise ValueError
    except ValueError:
        flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('        flor.log("e"',
             '        flor.log("q", total)\n        flor.log("e"'),
        ],
    }),
    ('walrus if', {
        'train.py': """
lst=[]
for epoch in flor.loop("epoch", 3):
    m = 0
    for x in flor.loop("train", 4): lst.append(x)
    if (m := len(lst)) > 0:
        flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('        flor.log("e"',
             '        flor.log("q", m)\n        flor.log("e"'),
        ],
    }),
    ('two classes net', {
        'train.py': """
class Student:
    def __init__(self):
        self.net = [0]
        flor.checkpoints(self.net)
class Ema:
    def __init__(self): self.net = [0]
s, e = Student(), Ema()
def train():
    for x in flor.loop("train", 4):
        s.net[0] += x
        e.net[0] += 1
for epoch in flor.loop("epoch", 3):
    train()
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", e.net[0])\n    flor.log("e"'),
        ],
    }),
    ('two classes net self', {
        'train.py': """
class Student:
    def __init__(self):
        self.net = [0]
        flor.checkpoints(self.net)
class Ema:
    def __init__(self): self.net = [0]
    def show(self): return self.net[0]
s, e = Student(), Ema()
def train():
    for x in flor.loop("train", 4):
        s.net[0] += x
        e.net[0] += 1
for epoch in flor.loop("epoch", 3):
    train()
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", e.show())\n    flor.log("e"'),
        ],
    }),
    ('registered rebound', {
        'train.py': """
stats = []
flor.checkpoints(stats)
stats = []
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): stats.append(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(stats))\n    flor.log("e"'),
        ],
    }),
    ('cond registered', {
        'train.py': """
stats = []
if len(sys.argv) > 5: flor.checkpoints(stats)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): stats.append(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(stats))\n    flor.log("e"'),
        ],
    }),
    ('dropped', {
        'train.py': """
stats = []
c = flor.checkpoints(stats)
c.drop()
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): stats.append(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(stats))\n    flor.log("e"'),
        ],
    }),
    ('with registered', {
        'train.py': """
stats = []
with flor.checkpoints(stats): pass
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): stats.append(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(stats))\n    flor.log("e"'),
        ],
    }),
    ('before barrier', {
        'train.py': """
last = 0
for epoch in flor.loop("epoch", 3):
    flor.log("e", epoch)
    for x in flor.loop("train", 4): last = x * 2 + epoch
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", last)\n    flor.log("e"'),
        ],
    }),
    ('control dep', {
        'train.py': """
total = 0
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): total += x
    if total > 7:
        flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('        flor.log("e"',
             '        flor.log("q", epoch)\n        flor.log("e"'),
        ],
    }),
    ('control dep new', {
        'train.py': """
total = 0
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): total += x
    if total > 7:
        a = 1
    flor.log("z", 1)
""",
    }, {
        'train.py': [
            ('        a = 1',
             "        a = 1\n        flor.log('q', epoch)"),
        ],
    }),
    ('control dep continue', {
        'train.py': """
total = 0
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): total += x
    if total < 7: continue
    a = 1
""",
    }, {
        'train.py': [
            ('    a = 1',
             "    a = 1\n    flor.log('q', epoch)"),
        ],
    }),
    ('control dep return', {
        'train.py': """
total = 0
def report(e):
    if total < 7: return
    a = 1
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): total += x
    report(epoch)
""",
    }, {
        'train.py': [
            ('    a = 1',
             "    a = 1\n    flor.log('q', e)"),
        ],
    }),
    ('mutable default', {
        'train.py': """
def acc(x, seen=[]):
    if x is not None: seen.append(x)
    return len(seen)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): acc(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", acc(None))\n    flor.log("e"'),
        ],
    }),
    ('function attribute', {
        'train.py': """
def step(x): step.calls += 1
step.calls = 0
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): step(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", step.calls)\n    flor.log("e"'),
        ],
    }),
    ('class attribute', {
        'train.py': """
class Conf: n = 0
def step(x): Conf.n += 1
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): step(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", Conf.n)\n    flor.log("e"'),
        ],
    }),
    ('class dict', {
        'train.py': """
class Conf: d = {}
def step(x): Conf.d[x] = x
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): step(x + epoch)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(Conf.d))\n    flor.log("e"'),
        ],
    }),
    ('instance classattr', {
        'train.py': """
class Conf: n = 0
c = Conf()
def step(x): Conf.n += 1
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): step(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", c.n)\n    flor.log("e"'),
        ],
    }),
    ('module global', {
        'train.py': """
import conf
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): conf.step(x)
    flor.log("e", epoch)
""",
        'conf.py': """
total = 0
def step(x):
    global total
    total += x
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", conf.total)\n    flor.log("e"'),
        ],
    }),
    ('module global set', {
        'train.py': """
import conf
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): conf.total += x
    flor.log("e", epoch)
""",
        'conf.py': """
total = 0
def show():
    return total
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", conf.show())\n    flor.log("e"'),
        ],
    }),
    ('pkg relative', {
        'train.py': """
from pkg import run
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): run.step(x)
    run.report(epoch)
""",
        'pkg/__init__.py': """

""",
        'pkg/state.py': """
total = 0
""",
        'pkg/run.py': """
import flor
from . import state
def step(x):
    state.total += x
def report(e):
    flor.log('e', e)
""",
    }, {
        'pkg/run.py': [
            ("    flor.log('e'",
             "    flor.log('q', state.total)\n    flor.log('e'"),
        ],
    }),
    ('star import', {
        'train.py': """
from conf import *
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): lst.append(x)
    flor.log("e", epoch)
""",
        'conf.py': """
lst = []
def show():
    return len(lst)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", show())\n    flor.log("e"'),
        ],
    }),
    ('star import2', {
        'train.py': """
from conf import *
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): step(x)
    flor.log("e", epoch)
""",
        'conf.py': """
lst = []
def step(x):
    lst.append(x)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(lst))\n    flor.log("e"'),
        ],
    }),
    ('star import alias', {
        'train.py': """
from conf import *
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): lst.append(x)
    flor.log("e", epoch)
""",
        'conf.py': """
import other
lst = other.lst
""",
        'other.py': """
lst = []
""",
    }, {
        'train.py': [
            ('from conf import *',
             'from conf import *\nimport other'),
            ('    flor.log("e"',
             '    flor.log("q", len(other.lst))\n    flor.log("e"'),
        ],
    }),
    ('closure counter', {
        'train.py': """
def make():
    n = 0
    def step(x):
        nonlocal n
        n += x
    def show(): return n
    return step, show
step, show = make()
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): step(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", show())\n    flor.log("e"'),
        ],
    }),
    ('property', {
        'train.py': """
class T:
    def __init__(self): self._n = 0
    @property
    def n(self): return self._n
    def step(self, x): self._n += x
t = T()
def go(x): t.step(x)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): go(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", t.n)\n    flor.log("e"'),
        ],
    }),
    ('len dunder', {
        'train.py': """
class T:
    def __init__(self): self._n = 0
    def __len__(self): return self._n
    def step(self, x): self._n += x
t = T()
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): t.step(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(t))\n    flor.log("e"'),
        ],
    }),
    ('str fstring', {
        'train.py': """
class T:
    def __init__(self): self._n = 0
    def __str__(self): return str(self._n)
    def step(self, x): self._n += x
t = T()
def go(x): t.step(x)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): go(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", f\'{t}\')\n    flor.log("e"'),
        ],
    }),
    ('iadd', {
        'train.py': """
class T:
    def __init__(self): self._n = 0
    def __iadd__(self, x):
        self._n += x
        return self
t = T(); u = t
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): t += x
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", u._n)\n    flor.log("e"'),
        ],
    }),
    ('vars dict', {
        'train.py': """
class T:
    def __init__(self): self.n = 0
    def step(self, x): self.n += x
t = T()
def go(x): t.step(x)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): go(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", str(vars(t)))\n    flor.log("e"'),
        ],
    }),
    ('dunder dict write', {
        'train.py': """
class T: pass
t = T(); t.n = 0
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): t.__dict__["n"] += x
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", t.n)\n    flor.log("e"'),
        ],
    }),
]

"""More of names.py: objects and the ways to them."""

EDITS = [
    ('sys modules', {
        'train.py': """
import conf
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): sys.modules['conf'].total += x
    flor.log("e", epoch)
""",
        'conf.py': """
total = 0
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", conf.total)\n    flor.log("e"'),
        ],
    }),
    ('main module', {
        'train.py': """
import conf
total = 0
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): conf.step(x)
    flor.log("e", epoch)
""",
        'conf.py': """
import __main__
def step(x):
    __main__.total += x
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", total)\n    flor.log("e"'),
        ],
    }),
    ('getattr computed', {
        'train.py': """
class T: total = 0
t = T(); n = 'to' + 'tal'
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): setattr(t, n, getattr(t, n) + x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", t.total)\n    flor.log("e"'),
        ],
    }),
    ('attrgetter', {
        'train.py': """
import operator
class T:
    def __init__(self): self.total = 0
    def go(self, x): self.total += x
t = T()
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): t.go(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", operator.attrgetter(\'total\')(t))\n    flor.log("e"'),
        ],
    }),
    ('classmethod', {
        'train.py': """
class T:
    n = 0
    @classmethod
    def go(cls, x): cls.n += x
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): T.go(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", T().n)\n    flor.log("e"'),
        ],
    }),
    ('proxy getattr', {
        'train.py': """
class I: pass
i = I(); i.n = 0
class P:
    def __getattr__(self, k): return getattr(i, k)
p = P()
def go(x): i.n += x
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): go(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", p.n)\n    flor.log("e"'),
        ],
    }),
    ('metaclass', {
        'train.py': """
class M(type):
    def __call__(cls, *a):
        cls.made = getattr(cls, 'made', 0) + 1
        return super().__call__(*a)
class T(metaclass=M): pass
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): T()
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", T.made)\n    flor.log("e"'),
        ],
    }),
    ('singleton', {
        'train.py': """
class S:
    inst = None
    def __new__(cls):
        if cls.inst is None: cls.inst = super().__new__(cls); cls.inst.n = 0
        return cls.inst
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): S().n += x
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", S().n)\n    flor.log("e"'),
        ],
    }),
    ('weakdict', {
        'train.py': """
import weakref
class T: pass
t = T(); d = weakref.WeakKeyDictionary()
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): d[t] = d.get(t, 0) + x
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", d[t])\n    flor.log("e"'),
        ],
    }),
    ('contextvar', {
        'train.py': """
import contextvars
v = contextvars.ContextVar('v', default=0)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): v.set(v.get() + x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", v.get())\n    flor.log("e"'),
        ],
    }),
    ('thread local', {
        'train.py': """
import threading
l = threading.local(); l.n = 0
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): l.n += x
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", l.n)\n    flor.log("e"'),
        ],
    }),
    ('logging handler', {
        'train.py': """
import logging
seen = []
class H(logging.Handler):
    def emit(self, r): seen.append(r)
logging.getLogger().addHandler(H())
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): logging.getLogger().error('x')
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(seen))\n    flor.log("e"'),
        ],
    }),
    ('warnings', {
        'train.py': """
import warnings
lst = []
warnings.showwarning = lambda *a, **k: lst.append(1)
warnings.simplefilter('always')
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): warnings.warn('a')
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(lst))\n    flor.log("e"'),
        ],
    }),
    ('numpy rng', {
        'train.py': """
import numpy
g = numpy.random.default_rng(3)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): g.normal()
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", g.bit_generator.state[\'state\'][\'state\'])\n    flor.log("e"'),
        ],
    }),
    ('singledispatch', {
        'train.py': """
import functools
lst = []
@functools.singledispatch
def f(x): pass
@f.register
def _(x: int): lst.append(x)
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
    ('descriptor', {
        'train.py': """
class D:
    def __init__(self): self.v = 0
    def __get__(self, i, o): return self.v
    def __set__(self, i, v): self.v = v
class T: d = D()
t = T()
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): t.d = t.d + x
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", t.d)\n    flor.log("e"'),
        ],
    }),
    ('property setter', {
        'train.py': """
class T:
    def __init__(self): self._n = 0
    @property
    def n(self): return self._n
    @n.setter
    def n(self, v): self._n = v
t = T()
def go(x): t.n = t.n + x
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): go(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", t._n)\n    flor.log("e"'),
        ],
    }),
    ('subclass list', {
        'train.py': """
class L(list):
    def push(self, x): super().append(x)
l = L(); m = l
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): l.push(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(m))\n    flor.log("e"'),
        ],
    }),
    ('chainmap', {
        'train.py': """
import collections
a = {}; c = collections.ChainMap(a)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): c[x + epoch] = 1
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(a))\n    flor.log("e"'),
        ],
    }),
    ('dict view', {
        'train.py': """
d = {}; v = d.keys()
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): d[x + epoch] = 1
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(v))\n    flor.log("e"'),
        ],
    }),
    ('memoryview', {
        'train.py': """
b = bytearray(4); m = memoryview(b)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): m[x] = x + epoch
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", sum(b))\n    flor.log("e"'),
        ],
    }),
    ('array array', {
        'train.py': """
import array
a = array.array('i', [0]); b = [a]
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): b[0][0] += x
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", a[0])\n    flor.log("e"'),
        ],
    }),
    ('star unpack', {
        'train.py': """
a = []; b = [1]
f, *r = [a, b]
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): r[0].append(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(b))\n    flor.log("e"'),
        ],
    }),
    ('chained', {
        'train.py': """
a = b = []
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): a.append(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(b))\n    flor.log("e"'),
        ],
    }),
    ('swap', {
        'train.py': """
a, b = [], [1]
a, b = b, a
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): a.append(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(b) + len(a))\n    flor.log("e"'),
        ],
    }),
    ('ternary', {
        'train.py': """
a = []; b = []
c = a if len(sys.argv) > 99 else b
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): c.append(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(b))\n    flor.log("e"'),
        ],
    }),
    ('or alias', {
        'train.py': """
a = []; b = [1]
c = a or b
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): c.append(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(b))\n    flor.log("e"'),
        ],
    }),
    ('nested mult', {
        'train.py': """
m = [[0]] * 3; r = m[1]
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): m[0][0] += x
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", r[0])\n    flor.log("e"'),
        ],
    }),
    ('tuple alias', {
        'train.py': """
a = []; t = (a, 1)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): t[0].append(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(a))\n    flor.log("e"'),
        ],
    }),
    ('dict literal', {
        'train.py': """
a = []; t = {'k': a}
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): t['k'].append(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(a))\n    flor.log("e"'),
        ],
    }),
    ('dict ctor', {
        'train.py': """
a = []; t = dict(k=a)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): t['k'].append(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(a))\n    flor.log("e"'),
        ],
    }),
    ('update', {
        'train.py': """
a = []; t = {}; t.update(k=a)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): t['k'].append(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(a))\n    flor.log("e"'),
        ],
    }),
    ('setdefault', {
        'train.py': """
t = {}; a = t.setdefault('k', [])
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): t['k'].append(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(a))\n    flor.log("e"'),
        ],
    }),
    ('zip alias', {
        'train.py': """
a = []; b = []
for p, r in zip([a, b], [1, 2]): last = p
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): last.append(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(b))\n    flor.log("e"'),
        ],
    }),
    ('extend alias', {
        'train.py': """
a = []; l = []; l.extend([a])
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): l[0].append(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(a))\n    flor.log("e"'),
        ],
    }),
    ('func param', {
        'train.py': """
a = []
def put(h, v): h['k'] = v
h = {}; put(h, a)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): h['k'].append(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(a))\n    flor.log("e"'),
        ],
    }),
    ('func param deep', {
        'train.py': """
a = []
def put2(h, v): h['k'] = v
def put(h, v): put2(h, v)
h = {}; put(h, a)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): h['k'].append(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(a))\n    flor.log("e"'),
        ],
    }),
]

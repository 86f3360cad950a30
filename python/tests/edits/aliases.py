"""More of names.py: what Python calls by itself, and objects that have several names."""

EDITS = [
    ('ctor store', {
        'train.py': """
class H:
    def __init__(self, v): self.v = v
a = []; h = H(a)
def go(x): h.v.append(x)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): go(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(a))\n    flor.log("e"'),
        ],
    }),
    ('method store', {
        'train.py': """
class H:
    def put(self, v): self.v = v
a = []; h = H(); h.put(a)
def go(x): h.v.append(x)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): go(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(a))\n    flor.log("e"'),
        ],
    }),
    ('return arg', {
        'train.py': """
a = []
def same(v): return v
b = same(a)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): b.append(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(a))\n    flor.log("e"'),
        ],
    }),
    ('closure capture', {
        'train.py': """
def make(l):
    def f(x): l.append(x)
    return f
a = []; f = make(a)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): f(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(a))\n    flor.log("e"'),
        ],
    }),
    ('global in fn', {
        'train.py': """
n = 0
def go(x):
    global n
    n = n + x
def run(x): go(x)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): run(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", n)\n    flor.log("e"'),
        ],
    }),
    ('nested fn global', {
        'train.py': """
n = 0
def outer(x):
    def inner():
        global n
        n += x
    inner()
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): outer(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", n)\n    flor.log("e"'),
        ],
    }),
    ('except var', {
        'train.py': """
last = None
def go(x):
    global last
    try: raise ValueError(x)
    except ValueError as e: last = e
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): go(x + epoch)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", str(last))\n    flor.log("e"'),
        ],
    }),
    ('del item', {
        'train.py': """
d = {i: i for i in range(20)}
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): d.pop(x + 4 * epoch)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(d))\n    flor.log("e"'),
        ],
    }),
    ('del stmt', {
        'train.py': """
d = {i: i for i in range(20)}
def go(k): del d[k]
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): go(x + 4 * epoch)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(d))\n    flor.log("e"'),
        ],
    }),
    ('slice assign', {
        'train.py': """
a = [0]; b = a
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): b[:] = [x + epoch]
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", a[0])\n    flor.log("e"'),
        ],
    }),
    ('sort', {
        'train.py': """
a = [3, 1, 2]; b = a
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): b.sort(reverse=epoch % 2 == 0)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", a[0])\n    flor.log("e"'),
        ],
    }),
    ('queue', {
        'train.py': """
import queue
qq = queue.Queue()
for i in range(30): qq.put(i)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): y = qq.get()
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", qq.qsize())\n    flor.log("e"'),
        ],
    }),
    ('heapq', {
        'train.py': """
import heapq
h = [5, 6]
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): heapq.heappush(h, x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(h))\n    flor.log("e"'),
        ],
    }),
    ('string io', {
        'train.py': """
import io
s = io.StringIO()
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): print(x, file=s)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(s.getvalue()))\n    flor.log("e"'),
        ],
    }),
    ('yield state', {
        'train.py': """
def gen():
    n = 0
    while True:
        n += 1
        yield n
g = gen()
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): v = next(g)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", g.gi_frame.f_locals[\'n\'])\n    flor.log("e"'),
        ],
    }),
    ('send', {
        'train.py': """
def gen():
    n = 0
    while True:
        n += (yield n) or 0
g = gen(); next(g)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): g.send(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", g.send(0))\n    flor.log("e"'),
        ],
    }),
    ('signal like', {
        'train.py': """
lst = []
class E:
    def __enter__(self): lst.append(1)
    def __exit__(self, *a): pass
def go():
    with E(): pass
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): go()
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(lst))\n    flor.log("e"'),
        ],
    }),
    ('del dunder', {
        'train.py': """
lst = []
class E:
    def __del__(self): lst.append(1)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): E()
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(lst))\n    flor.log("e"'),
        ],
    }),
    ('iter dunder', {
        'train.py': """
class E:
    n = 0
    def __iter__(self): E.n += 1; return iter([])
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): list(E())
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", E.n)\n    flor.log("e"'),
        ],
    }),
    ('hash dunder', {
        'train.py': """
class E:
    n = 0
    def __hash__(self): E.n += 1; return 1
d = {}
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): d[E()] = 1
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", E.n)\n    flor.log("e"'),
        ],
    }),
    ('bool dunder', {
        'train.py': """
class E:
    n = 0
    def __bool__(self): E.n += 1; return True
e = E()
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): y = 1 if e else 2
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", E.n)\n    flor.log("e"'),
        ],
    }),
    ('not dunder', {
        'train.py': """
class E:
    n = 0
    def __bool__(self): E.n += 1; return True
e = E()
def go():
    if e: pass
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): go()
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", E.n)\n    flor.log("e"'),
        ],
    }),
    ('format dunder', {
        'train.py': """
class E:
    n = 0
    def __format__(self, s): E.n += 1; return ''
e = E()
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): y = f'{e}'
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", E.n)\n    flor.log("e"'),
        ],
    }),
    ('unpack dunder', {
        'train.py': """
class E:
    n = 0
    def __iter__(self): E.n += 1; return iter([1, 2])
e = E()
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): a, b = e
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", E.n)\n    flor.log("e"'),
        ],
    }),
    ('default factory', {
        'train.py': """
import collections
n = [0]
def mk(): n[0] += 1; return []
d = collections.defaultdict(mk)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): d[x + epoch]
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", n[0])\n    flor.log("e"'),
        ],
    }),
    ('init subclass', {
        'train.py': """
lst = []
class B:
    def __init_subclass__(cls): lst.append(cls)
def go():
    class D(B): pass
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): go()
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(lst))\n    flor.log("e"'),
        ],
    }),
    ('deep attr', {
        'train.py': """
class A: pass
a = A(); a.b = A(); a.b.c = 0
def go(x): a.b.c += x
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): go(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", a.b.c)\n    flor.log("e"'),
        ],
    }),
    ('attr alias', {
        'train.py': """
class A: pass
a = A(); a.l = []; l = a.l
def go(x): a.l.append(x)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): go(x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(l))\n    flor.log("e"'),
        ],
    }),
    ('print only', {
        'train.py': """
n = [0]
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): n[0] += x
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", str(n))\n    flor.log("e"'),
        ],
    }),
    ('while nested', {
        'train.py': """
n = 0
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): n += x
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", n + 0 * len([i for i in range(2) if i < n]))\n    flor.log("e"'),
        ],
    }),
    ('loop var after', {
        'train.py': """
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): y = x * 2
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", x + y)\n    flor.log("e"'),
        ],
    }),
    ('try except inside', {
        'train.py': """
n = 0
for epoch in flor.loop("epoch", 3):
    try:
        for x in flor.loop("train", 4): n += x
    except Exception:
        pass
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", n)\n    flor.log("e"'),
        ],
    }),
    ('evaluate log stale', {
        'train.py': """
w = [0.0]; flor.checkpoints(w); data = [1, 2, 3]; scale = [1]
def evaluate(w, data):
    s = 0
    for d in data:
        s += d * w[0]
    return s
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): w[0] += x; scale[0] += 1
    flor.log("e", evaluate(w, data))
""",
    }, {
        'train.py': [
            ('        s += d',
             "        flor.log('q', d * scale[0])\n        s += d"),
        ],
    }),
    ('main function', {
        'train.py': """
def main():
    w = [0.0]; total = 0
    flor.checkpoints(w)
    def bump(x):
        nonlocal total
        total += x
    for epoch in flor.loop("epoch", 3):
        for x in flor.loop("train", 4):
            w[0] += x; bump(x)
        flor.log("e", epoch)
main()
""",
    }, {
        'train.py': [
            ('        flor.log("e"',
             '        flor.log("q", total)\n        flor.log("e"'),
        ],
    }),
    ('attached object', {
        'train.py': """
class S:
    def __init__(self): self.n = 0
s = S(); t = s
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4, attached=[s]): s.n += x
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", t.n)\n    flor.log("e"'),
        ],
    }),
    ('attached name alias', {
        'train.py': """
for epoch in flor.loop("epoch", 3):
    s = []; t = s
    for x in flor.loop("train", 4, attached="s"): s = s + [x]
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(t) + len(s))\n    flor.log("e"'),
        ],
    }),
    ('attached rebound alias', {
        'train.py': """
s = []; t = [s]
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4, attached="s"): s = s + [x]; t.append(s)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    flor.log("e"',
             '    flor.log("q", len(t) + len(s))\n    flor.log("e"'),
        ],
    }),
]

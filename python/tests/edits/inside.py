"""More of names.py: questions in code that the loop executes without naming it."""

EDITS = [
    ('wrapper loop', {
        'train.py': """
def batches(n): return flor.loop("train", n)
for epoch in flor.loop("epoch", 3):
    for x in batches(4):
        flor.log("a", x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('        flor.log("a"',
             '        flor.log("q", x*2)\n        flor.log("a"'),
        ],
    }),
    ('wrapper generator', {
        'train.py': """
def batches(n):
    for x in flor.loop("train", n): yield x + 1
for epoch in flor.loop("epoch", 3):
    for x in batches(4):
        flor.log("a", x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('        flor.log("a"',
             '        flor.log("q", x*2)\n        flor.log("a"'),
        ],
    }),
    ('yield from', {
        'train.py': """
def batches(n):
    yield from flor.loop("train", n)
for epoch in flor.loop("epoch", 3):
    for x in batches(4):
        flor.log("a", x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('        flor.log("a"',
             '        flor.log("q", x*2)\n        flor.log("a"'),
        ],
    }),
    ('helper of dunder', {
        'train.py': """
def augment(x):
    return x * 2
class S:
    def __iter__(self):
        for i in range(4): yield augment(i)
s = S()
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", s):
        flor.log("a", x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    return x * 2',
             '    flor.log("q", x)\n    return x * 2'),
        ],
    }),
    ('helper of override', {
        'train.py': """
class B: pass
def helper(x):
    return x * 2
class S(B):
    def forward(self, x): return helper(x)
    def __call__(self, x): return self.forward(x)
s = S()
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4):
        flor.log("a", s(x))
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    return x * 2',
             '    flor.log("q", x)\n    return x * 2'),
        ],
    }),
    ('lambda helper', {
        'train.py': """
def helper(x):
    return x * 2
step = lambda x: helper(x)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4):
        flor.log("a", step(x))
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    return x * 2',
             '    flor.log("q", x)\n    return x * 2'),
        ],
    }),
    ('generator made outside', {
        'train.py': """
def helper(n):
    for i in range(n):
        yield i * 2
for epoch in flor.loop("epoch", 3):
    gen = helper(4)
    for x in flor.loop("train", gen):
        flor.log("a", x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('        yield i * 2',
             '        flor.log("q", i)\n        yield i * 2'),
        ],
    }),
    ('genexp helper', {
        'train.py': """
def helper(x):
    return x * 2
for epoch in flor.loop("epoch", 3):
    gen = (helper(i) for i in range(4))
    for x in flor.loop("train", gen):
        flor.log("a", x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    return x * 2',
             '    flor.log("q", x)\n    return x * 2'),
        ],
    }),
    ('getattr const', {
        'train.py': """
class T:
    def step(self, x):
        return x * 2
t = T()
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4):
        flor.log("a", getattr(t, "step")(x))
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('        return x * 2',
             '        flor.log("q", x)\n        return x * 2'),
        ],
    }),
    ('ctor helper', {
        'train.py': """
def helper(x):
    return x * 2
class T:
    def __init__(self, x): self.x = helper(x)
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4):
        flor.log("a", T(x).x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('    return x * 2',
             '    flor.log("q", x)\n    return x * 2'),
        ],
    }),
    ('ctor inherited', {
        'train.py': """
class B:
    def __init__(self, x):
        self.x = x
class T(B): pass
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4):
        flor.log("a", T(x).x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('        self.x = x',
             '        flor.log("q", x)\n        self.x = x'),
        ],
    }),
    ('ctor class var', {
        'train.py': """
class T:
    def __init__(self, x):
        self.x = x
kinds = {"t": T}
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4):
        flor.log("a", kinds["t"](x).x)
    flor.log("e", epoch)
""",
    }, {
        'train.py': [
            ('        self.x = x',
             '        flor.log("q", x)\n        self.x = x'),
        ],
    }),
    ('control dep call', {
        'train.py': """
total = 0
def report(e):
    a = 1
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): total += x
    if total > 7: report(epoch)
""",
    }, {
        'train.py': [
            ('    a = 1',
             "    a = 1\n    flor.log('q', e)"),
        ],
    }),
    ('helper other file', {
        'train.py': """
import h
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4): h.a(x)
    flor.log("e", epoch)
""",
        'h.py': """
import flor
import g
def a(x):
    return g.b(x)
""",
        'g.py': """
import flor
def b(x):
    return x * 2
""",
    }, {
        'g.py': [
            ('    return x',
             "    flor.log('q', x)\n    return x"),
        ],
    }),
    ('lazy import', {
        'train.py': """
for epoch in flor.loop("epoch", 3):
    for x in flor.loop("train", 4):
        import h
    flor.log("e", epoch)
""",
        'h.py': """
import flor
V = 3
""",
    }, {
        'h.py': [
            ('V = 3',
             "V = 3\nflor.log('q', V)"),
        ],
    }),
]

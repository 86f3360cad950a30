"""Which functions of Flor, and which variables, the expressions of a source mean."""

import ast

FUNCTIONS = ("loop", "log", "log_tensor", "log_histogram", "log_image", "log_table", "checkpoints", "attached", "arg",
             "init", "save_checkpoint", "output", "Cell")
LOGS = ("log", "log_tensor", "log_histogram", "log_image", "log_table")


class Source:
    """A file of the program: its tree, with a parent for each node, and the names by which it calls Flor."""

    def __init__(self, path, text):
        self.path = path
        self.tree = ast.parse(text)
        self.parents = {}
        self.modules, self.functions = set(), {}
        self.starred = []   # modules of `from module import *`
        self.imported = {}  # name in this file: the dotted name that it stands for
        for node in ast.walk(self.tree):
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node
            if isinstance(node, ast.Import):
                for alias in node.names:
                    name = alias.asname or alias.name.partition(".")[0]
                    self.imported[name] = alias.name if alias.asname else name
                    if alias.name == "flor":
                        self.modules.add(name)
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    base = "." * node.level + (node.module or "")
                    if alias.name == "*":
                        self.starred.append(base)
                        continue
                    self.imported[alias.asname or alias.name] = f"{base}.{alias.name}"
                    if node.module == "flor" and not node.level:
                        self.functions[alias.asname or alias.name] = alias.name

    def flor_call(self, node):
        """"loop" where the node is a call of flor.loop; None where it calls no function of Flor."""
        if not isinstance(node, ast.Call):
            return None
        if isinstance(node.func, ast.Name):
            return self.functions.get(node.func.id)
        if (isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name)
                and node.func.value.id in self.modules and node.func.attr in FUNCTIONS):
            return node.func.attr
        return None

    def scope_of(self, node):
        """The innermost function that holds the node, or the module."""
        while node is not self.tree:
            node = self.parents[node]
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                return node
        return self.tree

    def class_of(self, function):
        parent = self.parents.get(function)
        return parent if isinstance(parent, ast.ClassDef) else None

    def statement_of(self, node):
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node


def dotted(node):
    """"a.b.c" of such an expression, else None."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


def attributes_of(node):
    """(expression, names of the attributes taken of it, innermost first) of "a[0].b.c": ("a", ["b", "c"])."""
    names = []
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)):
        if isinstance(node, ast.Attribute):
            names.append(node.attr)
        node = node.value
    return node, names[::-1]


def root_of(node):
    """The expression that attributes and elements are taken of."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)):
        node = node.value
    return node


def mentioned(nodes):
    """All identifiers, also those of attributes."""
    found = set()
    for top in nodes:
        for node in ast.walk(top):
            if isinstance(node, ast.Name):
                found.add(node.id)
            elif isinstance(node, ast.Attribute):
                found.add(node.attr)
            elif isinstance(node, ast.alias):
                found.add((node.asname or node.name).rpartition(".")[2])
                found.add(node.name.rpartition(".")[2])
    return found


def assigned_names(node):
    """The names that a target, or a statement, binds."""
    found = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, (ast.Store, ast.Del)):
            found.add(part.id)
        elif isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(part.name)
        elif isinstance(part, ast.alias):
            found.add(part.asname or part.name.partition(".")[0])
        elif isinstance(part, ast.ExceptHandler) and part.name:
            found.add(part.name)
        elif type(part).__name__ in ("MatchAs", "MatchStar") and part.name:
            found.add(part.name)
        elif type(part).__name__ == "MatchMapping" and part.rest:
            found.add(part.rest)
    return found


def text_of(node, width=40):
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= width else text[:width - 3] + "..."

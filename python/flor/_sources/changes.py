"""The differences between two versions of a source, statement by statement. Formatting, comments and texts of
documentation are none, and neither are statements that only moved to another line."""

import ast
import copy
import difflib

from .names import LOGS, Source, assigned_names, root_of, text_of

_BODIES = ("body", "orelse", "finalbody", "handlers", "cases")


class Change:
    """A statement that came, went, or is another one."""

    def __init__(self, source, node, what, looks, function, line=None, owner=None):
        self.source = source      # the new file; None if it is gone
        self.node = node          # of the new file; None if a statement went
        self.line = line or (node.lineno if node is not None else 1)
        self.what = what          # `logs "norm"`, `'0.8' is now '0.9'`
        self.looks = looks        # it only looks at the computation
        self.function = function  # the new function that holds it, or None
        self.owner = owner        # the statement in whose body something went

    @property
    def where(self):
        return f"{self.source.path if self.source else self.path}:{self.line}"

    path = "a source that is gone"


class _Normal(ast.NodeTransformer):
    """Takes away what changes nothing that is computed: logs hand their value on, options of a loop are Flor's."""

    def __init__(self, source):
        self.source = source

    def visit_Call(self, node):
        self.generic_visit(node)
        called = self.source.flor_call(node)
        if called == "log" and len(node.args) == 2:
            return node.args[1]
        if called == "loop":
            node.keywords = []
        return node


def _key(node):
    return ast.dump(node)


def _is_text(statement):
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _statements(body):
    return [statement for statement in body if not _is_text(statement)]


def _header(node):
    """A compound statement without its bodies."""
    shallow = copy.copy(node)
    for name in _BODIES:
        if hasattr(shallow, name):
            setattr(shallow, name, [])
    return shallow


def _is_compound(node):
    return any(isinstance(getattr(node, name, None), list) for name in _BODIES)


class Comparison:
    """Compares the two versions of one file."""

    def __init__(self, before, now):
        self.before, self.now = before, now
        self.changes = []
        self.names_before = {part.id for part in ast.walk(before.tree) if isinstance(part, ast.Name)} | assigned_names(
            before.tree)
        self.bodies(before.tree, now.tree, None)

    def normal(self, source, node):
        parents, source.parents = source.parents, {}
        try:
            return _Normal(source).visit(copy.deepcopy(node))
        finally:
            source.parents = parents

    def heading(self, source, node):
        """A text that is equal for two statements which are taken for versions of one."""
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return f"{type(node).__name__} {node.name}"
        return _key(self.normal(source, _header(node) if _is_compound(node) else node))

    def bodies(self, before, now, function):
        for name in _BODIES:
            old, new = getattr(before, name, None), getattr(now, name, None)
            if isinstance(old, list) or isinstance(new, list):
                self.lists(_statements(old or []), _statements(new or []), now, function)

    def lists(self, old, new, owner, function):
        matcher = difflib.SequenceMatcher(None, [_key(node) for node in old], [_key(node) for node in new], False)
        for tag, a, b, c, d in matcher.get_opcodes():
            if tag != "equal":
                self.similar(old[a:b], new[c:d], owner, function, new[d] if d < len(new) else None)

    def similar(self, old, new, owner, function, after):
        matcher = difflib.SequenceMatcher(None, [self.heading(self.before, node) for node in old],
                                          [self.heading(self.now, node) for node in new], False)
        for tag, a, b, c, d in matcher.get_opcodes():
            if tag == "equal":
                for before, now in zip(old[a:b], new[c:d]):
                    self.pair(before, now, function)
            else:
                self.replaced(old[a:b], new[c:d], owner, function, new[d] if d < len(new) else after)

    def pair(self, before, now, function):
        """Two versions of one statement."""
        if isinstance(now, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            if isinstance(now, ast.ClassDef):
                inner = function
            else:
                inner = now
            if _key(_header(before)) != _key(_header(now)):
                self.add(now, f"{now.name} is declared otherwise", False, inner)
            return self.bodies(before, now, inner)
        if not _is_compound(now):
            return self.add(now, self.logs_in(now) or "registers otherwise", True, function)
        if _key(_header(before)) != _key(_header(now)):
            self.changes.append(Change(self.now, _header_node(now), self.logs_in(_header(now)) or "registers otherwise",
                                       True, function, now.lineno))
        self.bodies(before, now, function)

    def replaced(self, old, new, owner, function, after):
        went = [node for node in old if not self.looks(self.before, node)]
        came = [node for node in new if not self.looks(self.now, node)]
        for i, node in enumerate(came):
            if i < len(went):
                what = self.difference(went[i], node)
            else:
                what = f"'{text_of(node)}' is new"
            self.add(node, what, False, self.function_at(node, function))
        for node in new:
            if node not in came:
                self.add(node, self.logs_in(node) or f"'{text_of(node)}' is new", True, self.function_at(node, function))
        for node in went[len(came):]:
            self.removed(node, f"'{text_of(node)}' is gone", False, owner, function, after)
        for node in old:
            if node not in went:
                self.removed(node, f"'{text_of(node)}' is gone", True, owner, function, after)

    @staticmethod
    def function_at(node, function):
        return node if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else function

    def add(self, node, what, looks, function):
        self.changes.append(Change(self.now, node, what, looks, function))

    def removed(self, node, what, looks, owner, function, after):
        last = owner.body[-1] if isinstance(owner, ast.Module) and owner.body else owner
        line = after.lineno if after is not None else getattr(last, "end_lineno", None) or 1
        self.changes.append(Change(self.now, None, what, looks, function, line, owner))

    @staticmethod
    def difference(before, now):
        """The smallest parts that differ."""
        while type(before) is type(now) and not _is_compound(now):
            pairs = [(a, b) for a, b in zip(ast.iter_child_nodes(before), ast.iter_child_nodes(now))
                     if _key(a) != _key(b)]
            same = len(list(ast.iter_child_nodes(before))) == len(list(ast.iter_child_nodes(now)))
            if len(pairs) != 1 or not same or not isinstance(pairs[0][1], (ast.expr, ast.keyword)):
                break
            before, now = pairs[0]
        if isinstance(now, ast.keyword):
            before, now = before.value, now.value
        return f"'{text_of(before)}' is now '{text_of(now)}'"

    def logs_in(self, node):
        for part in ast.walk(node):
            if self.now.flor_call(part) in LOGS and part.args:
                name = part.args[0]
                return f'logs "{name.value}"' if isinstance(name, ast.Constant) else f"logs {text_of(name)}"
        return ""

    def looks(self, source, node):
        """The statement only logs or prints, or works on variables that were made for that. What it calls is believed
        to have no effects; the comparison with the record tells."""
        if isinstance(node, (ast.Pass, ast.Import, ast.ImportFrom)):
            return not (assigned_names(node) & self.names_before)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            holder = source.class_of(node)
            return node.name not in self.names_before and (holder is None or not holder.bases)
        if isinstance(node, ast.ClassDef):
            return node.name not in self.names_before
        if isinstance(node, ast.Expr):
            return self.expression_looks(source, node.value)
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            return all(self.is_own(target) for target in targets)
        if isinstance(node, (ast.If, ast.For, ast.With, ast.While)):
            targets = [node.target] if isinstance(node, ast.For) else []
            if isinstance(node, ast.With):
                targets = [item.optional_vars for item in node.items if item.optional_vars is not None]
            if any(source.flor_call(part) == "loop" for part in ast.walk(node)):
                return False
            return all(self.is_own(target) for target in targets) and all(
                self.looks(source, inner) for inner in [*node.body, *getattr(node, "orelse", [])])
        return _is_text(node)

    def expression_looks(self, source, value):
        if isinstance(value, ast.Constant):
            return True
        if not isinstance(value, ast.Call):
            return False
        if source.flor_call(value) in (*LOGS, "checkpoints"):
            return True
        if isinstance(value.func, ast.Name) and value.func.id == "print":
            return True
        return isinstance(value.func, ast.Attribute) and self.is_own(value.func.value)

    def is_own(self, target):
        """It writes to variables that the recorded version does not have."""
        if isinstance(target, (ast.Tuple, ast.List)):
            return all(self.is_own(item) for item in target.elts)
        root = root_of(target)
        return isinstance(root, ast.Name) and root.id not in self.names_before


def _header_node(statement):
    """The part of a compound statement that stands before its body."""
    for name in ("iter", "test", "subject"):
        if hasattr(statement, name):
            return getattr(statement, name)
    return statement.items[0].context_expr if getattr(statement, "items", None) else statement


def compare(path, before, now):
    """The changes of a file, and its new version."""
    old, new = Source(path, before), Source(path, now)
    return Comparison(old, new).changes, new

"""The differences between two versions of a source, statement by statement. Formatting, comments and texts of
documentation are none, and neither are statements that only moved to another line."""

import ast
import builtins
import copy
import difflib

from .names import LOGS, Source, assigned_names, root_of, text_of

_BODIES = ("body", "orelse", "finalbody", "handlers", "cases")


class Change:
    """A statement that came, went, or is another one."""

    def __init__(self, source, node, what, looks, function, line=None, owner=None):
        self.source = source      # the new version of the file; None if the file is gone
        self.node = node          # in the new version; None if a statement was removed
        self.line = line or (node.lineno if node is not None else 1)
        self.what = what          # for the user: `logs "norm"`, `'0.8' is now '0.9'`
        self.looks = looks        # whether it only observes the computation
        self.function = function  # the function of the new version that contains it, or None
        self.owner = owner        # the statement from whose body something was removed

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
            node.keywords = [one for one in node.keywords if one.arg not in ("probed", "attached")]
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

    def __init__(self, before, now, elsewhere=frozenset()):
        self.before, self.now = before, now
        self.changes = []
        self.names_before = _names(before.tree)
        self.elsewhere = elsewhere  # names that other files mention; those may use `from ... import *`
        self.attributes_before = {part.attr for part in ast.walk(before.tree) if isinstance(part, ast.Attribute)}
        self.own = Own(now, self.names_before)
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
        if _is_compound(now) and type(before) is type(now):
            before, now = _header_node(before), _header_node(now)
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
        if any(isinstance(part, ast.NamedExpr) and part.target.id in self.names_before for part in ast.walk(node)):
            return False
        if isinstance(source.parents.get(node), ast.ClassDef) and not isinstance(node, (ast.FunctionDef, ast.Pass)):
            return False  # an attribute of every object of the class
        names = self.names_before
        if source.scope_of(node) is source.tree:
            names = names | self.elsewhere
        if isinstance(node, (ast.Pass, ast.Import, ast.ImportFrom)):
            return not assigned_names(node) & names and not any(alias.name == "*" for alias in getattr(node, "names", ()))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            holder = source.class_of(node)
            if holder is not None and (holder.bases or holder.decorator_list or node.name.startswith("__")
                                       or node.name in self.attributes_before):
                return False
            return node.name not in names and not node.decorator_list
        if isinstance(node, ast.ClassDef):
            return node.name not in names and not node.decorator_list and not node.keywords
        if isinstance(node, ast.Expr):
            return self.expression_looks(source, node.value)
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            return all(self.own.may_write(target) for target in targets) and not names & {
                part.id for target in targets for part in ast.walk(target)
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
        if isinstance(node, ast.Try):
            return all(self.looks(source, inner) for inner in [
                *node.body, *node.orelse, *node.finalbody, *(one for handler in node.handlers for one in handler.body)])
        if isinstance(node, (ast.If, ast.For, ast.With, ast.While)):
            targets = [node.target] if isinstance(node, ast.For) else []
            if isinstance(node, ast.With):
                targets = [item.optional_vars for item in node.items if item.optional_vars is not None]
            if any(source.flor_call(part) == "loop" for part in ast.walk(node)):
                return False
            return all(self.own.may_write(target) for target in targets) and all(
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
        return isinstance(value.func, ast.Attribute) and self.own.may_call(value.func)


class Own:
    """Variables that the recorded version does not have."""

    _COPIES = {"zeros", "zeros_like", "ones", "ones_like", "empty", "empty_like", "full", "full_like", "eye", "arange",
               "linspace", "rand", "randn", "tensor", "array", "deepcopy", "clone", "tolist", "item", "float", "int", "str",
               "bool", "len", "sum", "mean", "norm", "abs", "round", "sorted", "range", "stack", "cat", "format", "join"}

    def __init__(self, source, names_before):
        self.source, self.before = source, names_before
        self.values = {}  # by name: all expressions that the variable is bound to
        for node in ast.walk(source.tree):
            if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and node.value is not None:
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    self.note(target, node.value)
            elif isinstance(node, (ast.For, ast.comprehension)):
                self.note(node.target, node.iter)
            elif isinstance(node, ast.withitem) and node.optional_vars is not None:
                self.note(node.optional_vars, node.context_expr)

    def note(self, target, value):
        for part in ast.walk(target):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                self.values.setdefault(part.id, []).append(value)

    def is_own(self, root):
        return isinstance(root, ast.Name) and root.id not in self.before

    def may_write(self, target):
        """An assignment to it changes nothing that the recorded version has."""
        if isinstance(target, (ast.Tuple, ast.List)):
            return all(self.may_write(item) for item in target.elts)
        root = root_of(target)
        return self.is_own(root) and (target is root or self.holds_copy(root.id))

    def may_call(self, function):
        """A method of such an object changes nothing else, as far as its name tells."""
        root = root_of(function)
        if not self.is_own(root):
            return False
        return self.holds_copy(root.id) or root.id in self.source.imported

    def holds_copy(self, name, depth=0):
        values = self.values.get(name)
        return bool(values) and depth < 5 and all(self.is_copy(value, depth) for value in values)

    def is_copy(self, value, depth):
        """The value has nothing in common with other objects."""
        inner = lambda one: self.is_copy(one, depth + 1)  # noqa: E731
        if isinstance(value, (ast.Constant, ast.JoinedStr, ast.Compare)):
            return True
        if isinstance(value, (ast.List, ast.Tuple, ast.Set)):
            return all(inner(one) for one in value.elts)
        if isinstance(value, ast.Dict):
            return all(inner(one) for one in value.values)
        if isinstance(value, ast.BinOp):
            return True
        if isinstance(value, ast.Name):
            return value.id in self.values and value.id not in self.before and self.holds_copy(value.id, depth + 1)
        if isinstance(value, ast.Call):
            name = value.func.id if isinstance(value.func, ast.Name) else getattr(value.func, "attr", None)
            arguments = [*value.args, *(keyword.value for keyword in value.keywords)]
            return name in self._COPIES or all(
                inner(one) or (isinstance(one, ast.Name) and one.id in dir(builtins)) for one in arguments) and (
                isinstance(value.func, ast.Name) or root_of(value.func) is not value.func and isinstance(
                    root_of(value.func), ast.Name) and root_of(value.func).id in self.source.imported)
        return False


def _names(tree):
    """The identifiers of a file, also those that getattr may be given."""
    found = {part.id for part in ast.walk(tree) if isinstance(part, ast.Name)} | assigned_names(tree)
    return found | {part.value for part in ast.walk(tree) if isinstance(part, ast.Constant) and isinstance(part.value, str)
                    and isinstance(getattr(part, "value", None), str) and part.value.isidentifier()} - _logged(tree)


def _logged(tree):
    """The first arguments of calls: names of values and loops."""
    return {node.args[0].value for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args
            and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str)}


def _header_node(statement):
    """The part of a compound statement that stands before its body."""
    for name in ("iter", "test", "subject"):
        if hasattr(statement, name):
            return getattr(statement, name)
    return statement.items[0].context_expr if getattr(statement, "items", None) else statement


def has_effects(tree):
    """Executing the file does more than to define."""
    return not all(isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom))
                   or _is_text(node) or (isinstance(node, (ast.Assign, ast.AnnAssign)) and all(
                       isinstance(target, ast.Name)
                       for target in (node.targets if isinstance(node, ast.Assign) else [node.target])))
                   or (isinstance(node, ast.If) and "__name__" in {part.id for part in ast.walk(node.test)
                                                                   if isinstance(part, ast.Name)})
                   for node in tree.body)


def compare(path, before, now, elsewhere=frozenset()):
    """The changes of a file, and its new version. `elsewhere`: the names that the other files mention."""
    old, new = Source(path, before), Source(path, now)
    return Comparison(old, new, elsewhere).changes, new

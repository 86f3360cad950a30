"""What a resume would lose: variables that a main loop carries from one iteration to a later one, or to the code after it,
and that nothing keeps."""

import ast
import os

from . import imports
from .effects import ATTRIBUTE, Program, TooMuch
from .names import Source
from .sites import place_of, sites_of
from .slices import Slices, overlap

_CONTAINERS = {"list", "dict", "set", "deque", "defaultdict", "OrderedDict", "Counter", "bytearray", "deepcopy", "copy", "zeros",
               "ones", "empty", "full", "array", "tensor", "zeros_like", "float", "int", "str"}


class Carried:
    """`found`: by whether a nested loop is needed to have it again, the names of variables with their places."""

    def __init__(self, texts, name):
        self.sources = []
        for path, text in sorted(texts.items()):
            try:
                self.sources.append(Source(path, text))
            except (SyntaxError, ValueError, RecursionError):
                continue
        self.program = Program(self.sources)
        slices = Slices(self.program)
        kept_once = self.registered(slices)
        sites = [site for source in self.sources for site in sites_of(source)]
        self.found = {False: [], True: []}
        for site in sites:
            if not site.is_computed and site.name == name and isinstance(site.statement, ast.For):
                others = [other for other in sites if other is not site and other.statement is not None]
                self.look(site, others, frozenset(kept_once | attached(slices, site)))

    def registered(self, slices):
        """Variables that are registered anywhere, if only under a condition."""
        return {slices.key_of(source, one) for source in self.sources for node in ast.walk(source.tree)
                if source.flor_call(node) == "checkpoints"
                for one in [*node.args, *(keyword.value for keyword in node.keywords)]} - {None}

    def look(self, site, others, kept):
        slices = Slices(self.program, kept)
        body = site.statement.body
        assigned, mutated = slices.changes(site.source, body)
        nested_kept = {other: kept | attached(slices, other) for other in others}
        for key in sorted((assigned | mutated) - kept, key=str):
            if key[0] == ATTRIBUTE or not isinstance(key[1], str) or not self.is_state(key, key in assigned):
                continue
            if isinstance(key[0], ast.AST) and key[0] is not site.source.scope_of(site.call):
                continue  # a local variable of a function that has returned
            line = self.read_later(slices, site, key)
            if line is None:
                continue
            needs = any(self.comes_of(other, key, kept, site) for other, kept in nested_kept.items())
            entry = f"'{key[1]}' ({site.source.path}:{line})"
            if entry not in self.found[needs]:
                self.found[needs].append(entry)

    def is_state(self, key, is_assigned):
        """The program makes it itself: not a writer, a loader, or another object of a library."""
        source, scope = self.program.source_of(key)
        if source is None or any(isinstance(node, (ast.For, ast.comprehension)) and key[1] in _targets(node)
                                 for node in ast.walk(scope)):
            return False
        if self.program.holds_immutable(key):
            return True
        values = self.program.bindings(key)
        for value in values:
            name = None
            if isinstance(value, ast.Call):
                name = value.func.id if isinstance(value.func, ast.Name) else getattr(value.func, "attr", None)
            if not isinstance(value, (ast.Constant, ast.List, ast.Dict, ast.Set, ast.Tuple, ast.ListComp, ast.DictComp, ast.BinOp,
                                      ast.Name, ast.IfExp)) and not (
                    name in _CONTAINERS or (is_assigned and isinstance(value, ast.Call))):
                return False
        return bool(values)

    def read_later(self, slices, site, key):
        """The line of a read that may see what an earlier iteration left, or None."""
        for source in self.sources:
            for node in ast.walk(source.tree):
                if not isinstance(node, ast.Name) or node.id != key[1] or self.program.variable(source, node, node.id) != key:
                    continue
                if not isinstance(node.ctx, ast.Load) and not (
                        isinstance(source.parents[node], ast.AugAssign) and source.parents[node].target is node):
                    continue
                if self.is_later(slices, site, source, node, key):
                    return node.lineno
        return None

    def is_later(self, slices, site, source, node, key):
        statement = source.statement_of(node)
        main = source.scope_of(site.call) if source is site.source else None
        while main is not None and source.scope_of(statement) is not main and source.scope_of(statement) is not source.tree:
            function = source.scope_of(statement)
            if not slices.holds(site.statement, function):
                return self.updates_itself(key)  # the function may be called from anywhere
            statement = function  # a function that each iteration defines anew
        if main is None or source.scope_of(statement) is not main:
            return self.updates_itself(key)
        if not slices.holds(site.statement, statement) or statement is site.statement:
            return place_of(statement) > place_of(site.statement)
        return not slices.is_local(source, key, statement) or slices.follow(source, key, statement, site.statement, [])

    def updates_itself(self, key):
        """`n += 1`, `best = max(best, x)`, `seen.append(x)`: each value depends on the one before."""
        if not self.program.holds_immutable(key):
            return True
        source, _ = self.program.source_of(key)
        for node in ast.walk(source.tree):
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id == key[1]:
                return True
            if isinstance(node, ast.Assign) and any(
                    isinstance(part, ast.Name) and part.id == key[1] for part in ast.walk(node.value)) and any(
                    isinstance(part, ast.Name) and part.id == key[1] for target in node.targets for part in ast.walk(target)):
                return True
        return False

    def comes_of(self, nested, key, kept, site):
        """The nested loop changes the variable, or what its values come from."""
        if not site.statement or nested.statement is None:
            return True
        slices = Slices(self.program, frozenset(kept))
        assigned, mutated = slices.changes(nested.source, [nested.statement])
        if key in kept:
            return False
        if key in assigned | mutated:
            return True
        for value in self.program.assignments(key):
            source = self.program.source_holding(value)
            if source is None or not slices.holds(site.statement, value):
                continue
            read = slices.closure(source, source.statement_of(value), nested.statement)
            if overlap(read - {key}, assigned - kept - {key}, mutated - kept - {key}) is not None:
                return True
        return False


def _targets(node):
    return {part.id for part in ast.walk(node.target) if isinstance(part, ast.Name)}


def attached(slices, site):
    """The variables that are attached to the loop by their names."""
    found = set()
    for keyword in site.call.keywords:
        if keyword.arg == "attached":
            for part in ast.walk(keyword.value):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    found |= {slices.program.variable(site.source, site.call, name)
                              for name in part.value.replace(",", " ").split()}
                elif isinstance(part, ast.Name):
                    found.add(slices.key_of(site.source, part))
    return found - {None}


def carried(script, root, name):
    """(what visiting the iterations once more brings back, what it does not) of the main loop of that name: texts, empty
    where there is none."""
    texts = {}
    for path in imports.files_of_program(script, root):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                texts[os.path.relpath(path, root).replace(os.sep, "/")] = file.read()
        except OSError:
            continue
    try:
        found = Carried(texts, name).found
    except (TooMuch, RecursionError):
        return "", ""
    return tuple(" and ".join(found[needs]) for needs in (False, True))

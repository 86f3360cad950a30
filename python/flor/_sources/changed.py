"""The variables that code may leave changed: bound anew, or with another content."""

import ast

from .calls import _QUIET_BUILTINS, _QUIET_LIBRARIES, _QUIET_METHODS, _WRITERS, FILES, LIBRARIES, MUTATORS, consumes, uses_files
from .effects import ATTRIBUTE
from .names import assigned_names, attributes_of

EVERYTHING = (ATTRIBUTE, "*")


class Changes:
    """A part of Slices."""

    def changes(self, source, nodes):
        """(assigned, mutated): variables that are bound anew, and those whose objects may be changed. Those of the
        functions that may be called count, as far as they are not the functions' own."""
        assigned, mutated = self.own_changes(source, nodes)
        for function, owner in self.program.reached(nodes).items():
            self.program.work()
            theirs = self.function_changes(owner, function)
            assigned |= {key for key in theirs[0] if not self.is_inside(owner, key, function)}
            mutated |= {key for key in theirs[1] if not self.is_inside(owner, key, function)}
        if any(isinstance(part, ast.Call) for node in nodes for part in ast.walk(node)):
            mutated |= self.changes_of_lambdas()
        return assigned, self.with_aliases(mutated)

    def changes_of_lambdas(self):
        """Those of functions without a name, which libraries may call."""
        if "lambdas" not in self.known:
            self.known["lambdas"] = {key for owner in self.program.sources for node in ast.walk(owner.tree)
                                     if isinstance(node, ast.Lambda) for key in self.own_changes(owner, [node.body])[1]}
        return self.known["lambdas"]

    def function_changes(self, source, function):
        key = ("changes", function)
        if key not in self.known:
            self.known[key] = None  # while a recursive function is examined, all its parameters count as changed
            self.known[key] = self.own_changes(source, function.body)
        return self.known[key] or ({EVERYTHING}, {(function, one.arg) for one in function.args.args})

    def own_changes(self, source, nodes):
        assigned, mutated = set(), set()
        operators = self.operators_mutate()
        self.program.work()
        for top in nodes:
            for node in ast.walk(top):
                if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
                    assigned.add(self.program.variable(source, node, node.id))
                elif isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, (ast.Store, ast.Del)):
                    self.mutate(source, node, mutated)
                elif isinstance(node, ast.AugAssign):
                    self.mutate(source, node.target, mutated)
                elif isinstance(node, ast.Attribute) and node.attr in MUTATORS:
                    parent = source.parents[node]
                    if not (isinstance(parent, ast.Call) and parent.func is node):
                        self.mutate_within(source, node.value, mutated)
                elif isinstance(node, ast.Call):
                    self.mutate_by_call(source, node, mutated)
                elif isinstance(node, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.ExceptHandler)) or (
                        type(node).__name__ in ("MatchAs", "MatchStar", "MatchMapping")):
                    for name in assigned_names(node) if not hasattr(node, "body") else {node.name} - {None}:
                        assigned.add(self.program.variable(source, node, name))
                elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
                    if not self.program.can_be_iterated_again(source, node.iter):
                        self.mutate_within(source, node.iter, mutated)
                if operators and isinstance(node, self._OPERATIONS) and (
                        not isinstance(node, (ast.For, ast.While, ast.If, ast.With))):
                    for one in ast.iter_child_nodes(node):
                        if isinstance(one, ast.expr):
                            self.mutate_within(source, one, mutated)
        return assigned - {None}, mutated - {None}

    def operators_mutate(self):
        """An operator of the program's own classes may change what it is applied to."""
        if "operators mutate" not in self.known:
            self.known["operators mutate"] = False  # assumed while it is being determined
            self.known["operators mutate"] = any(
                key[0] is function for name in self.program.operators() for owner, function in self.program.functions[name]
                for key in self.function_changes(owner, function)[1])
            for key in [key for key in self.known if isinstance(key, tuple) and key[0] == "changes"]:
                del self.known[key]  # determined under that assumption
        return self.known["operators mutate"]

    def mutate(self, source, node, mutated):
        """The object that the expression denotes, or a part of it, may change."""
        root, names = attributes_of(node)
        if isinstance(node, ast.Name):
            key = EVERYTHING if self.is_self(source, node) else self.key_of(source, node)
            if key is not None and not self.is_immutable(key):
                mutated.add(key)
            return
        found = self.chain(source, node)
        if isinstance(root, ast.Name) and names and self.is_self(source, root):
            found.discard(EVERYTHING)
        mutated |= found
        if isinstance(root, ast.Call):
            if isinstance(root.func, ast.Name) and root.func.id in ("vars", "globals", "locals", "super"):
                mutated.add(EVERYTHING)
            self.mutate_within(source, root, mutated)

    def is_immutable(self, key):
        return key[0] != ATTRIBUTE and self.program.holds_immutable(key)

    def mutate_within(self, source, node, mutated):
        """All objects that the value of the expression may be a part of."""
        key = ("within", node)
        found = self.known.get(key)
        if found is None:
            found = set()
            for owner, one in self.aliased(source, node):
                self.mutate(owner, one, found)
            if not self.returning:
                self.known[key] = found
        mutated |= found

    def aliased(self, source, node, depth=0):
        """(source, expression) of all objects that the value of the expression may be, or hold, or be a part of."""
        if depth > 12:
            return
        more = []
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            yield source, node
            root, names = attributes_of(node)
            for name in names:
                yield from self.returned(name, depth)  # the name may be a property
            if isinstance(node, (ast.Attribute, ast.Subscript)):
                yield from self.returned_by_any("operators", self.program.operators(), depth)
            if isinstance(root, ast.Call):
                more = [root]
        elif isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", None)
            if isinstance(node.func, ast.Attribute) and self.program.library_of(source, node.func) is None:
                more = [node.func.value]
            yield from self.returned(name, depth)
            more += [*node.args, *(keyword.value for keyword in node.keywords)]
            if isinstance(node.func, ast.Name) and self.program.variable(source, node.func, name) is not None and (
                    not self.program.is_stateless(source, node.func)):
                more.append(node.func)  # a callable object
            if name not in self.program.functions and self.program.library_of(source, node.func) is None and (
                    name not in _QUIET_BUILTINS and name not in _QUIET_METHODS and not source.flor_call(node)):
                names = {function.name for function in self.program.anywhere}
                yield from self.returned_by_any("anywhere", names, depth)
        elif isinstance(node, (ast.Constant, ast.JoinedStr, ast.Compare)):
            return
        elif isinstance(node, ast.Lambda):
            more = [one for one in [*node.args.defaults, *node.args.kw_defaults, node.body] if one is not None]
        else:  # containers, conditional expressions, comprehensions, operators
            more = [one for one in ast.iter_child_nodes(node) if isinstance(one, (ast.expr, ast.comprehension))]
            if isinstance(node, ast.comprehension):
                more = [node.iter]
        for one in more:
            yield from self.aliased(source, one, depth + 1)

    def returned_by_any(self, title, names, depth):
        """The same of many functions, each object once."""
        key = ("returned by", title)
        if key not in self.known:
            found, seen = [], set()
            for name in names:
                for owner, one in self.returned(name, depth):
                    text = (owner.path, source_scope(owner, one), ast.dump(one))
                    if text not in seen:
                        seen.add(text)
                        found.append((owner, one))
            if self.returning:
                yield from found
                return
            self.known[key] = found
        yield from self.known[key]

    def returned(self, name, depth):
        """What functions of that name return: objects that they keep elsewhere, perhaps."""
        for owner, function in self.program.functions.get(name, ()):
            key = ("returned", function)
            if key not in self.known:
                if function in self.returning:
                    continue  # a recursive function: its other return values decide
                self.returning.append(function)
                values = [part.value for part in ast.walk(function)
                          if isinstance(part, (ast.Return, ast.Yield, ast.YieldFrom)) and part.value is not None]
                found = [one for value in values for one in self.aliased(owner, value, depth + 1)]
                self.returning.pop()
                if self.returning:
                    yield from found
                    continue
                self.known[key] = found
            yield from self.known[key]

    def mutate_by_call(self, source, call, mutated):
        if source.flor_call(call):
            return
        arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
        name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", None)
        is_alone = isinstance(source.parents.get(call), ast.Expr)  # the value is unused, so the call is for its effects
        self.mutate_beside(source, call, name, mutated)
        library = self.program.library_of(source, call.func)
        if library is not None:
            if library not in _QUIET_LIBRARIES or self.program.changes_process(name):
                mutated.add(LIBRARIES)
            writes = (name in _WRITERS or name.endswith("_") or is_alone or library not in _QUIET_LIBRARIES
                      or (library == "numpy" and len(call.args) > 2))
            if writes:
                for one in arguments:
                    self.mutate_within(source, one, mutated)
            return
        if name in self.program.functions:
            return self.mutate_by_functions(source, call, self.program.functions[name], mutated)
        methods = self.program.called_methods(source, call.func)
        if methods is not None:  # a callable object, which the call changes if it has state
            if not self.program.is_stateless(source, call.func):
                self.mutate(source, call.func, mutated)
            return self.mutate_by_functions(source, call, methods, mutated)
        if isinstance(call.func, ast.Name):
            if self.program.variable(source, call.func, name) is None and name in _QUIET_BUILTINS:
                return
            self.mutate(source, call.func, mutated)
        elif isinstance(call.func, ast.Attribute):
            if name in _QUIET_METHODS and not is_alone and not (name == "get" and self.may_be_queue(source, call.func.value)):
                return
            self.mutate_within(source, call.func.value, mutated)
            if isinstance(call.func.value, ast.Call) and getattr(call.func.value.func, "id", None) == "super":
                mutated.add(EVERYTHING)
        for one in arguments:
            self.mutate_within(source, one, mutated)

    def mutate_beside(self, source, call, name, mutated):
        """What a call changes whatever it calls."""
        if uses_files(source, call):
            mutated.add(FILES)
        if isinstance(call.func, ast.Name) and name in ("setattr", "delattr") and len(call.args) > 1:
            is_known = isinstance(call.args[1], ast.Constant)
            mutated.add((ATTRIBUTE, call.args[1].value) if is_known else EVERYTHING)
        if self.program.is_cached(name):
            mutated.add(LIBRARIES)
        for keyword in call.keywords:
            if keyword.arg in ("out", "generator", "rng", "random_state", "file"):
                self.mutate_within(source, keyword.value, mutated)
        for one in consumes(name, call):
            if not self.program.can_be_iterated_again(source, one):
                self.mutate_within(source, one, mutated)

    def may_be_queue(self, source, node):
        makers = self.program.makers(source, node)
        return any(maker is None or (getattr(maker[1].func, "id", None) or getattr(maker[1].func, "attr", "")).endswith("Queue")
                   for maker in makers)

    def mutate_by_functions(self, source, call, functions, mutated):
        """The arguments that functions of the program change."""
        for owner, function in functions:
            _, theirs = self.function_changes(owner, function)
            theirs = self.with_aliases(theirs)
            parameters = [one.arg for one in [*function.args.posonlyargs, *function.args.args]]
            is_method = owner.class_of(function) is not None
            if is_method and parameters:
                if isinstance(call.func, ast.Attribute) and not self.is_self(source, call.func.value) and (
                        self.changes_attributes(function)):
                    self.mutate_within(source, call.func.value, mutated)
                parameters = parameters[1:]
            for i, one in enumerate(call.args):
                known = parameters[i] if i < len(parameters) and not isinstance(one, ast.Starred) else None
                if known is None or (function, known) in theirs:
                    self.mutate_within(source, one, mutated)
            for keyword in call.keywords:
                if keyword.arg is None or (function, keyword.arg) in theirs:
                    self.mutate_within(source, keyword.value, mutated)

    def changes_attributes(self, function):
        """The function, or one that it may call, changes an attribute of some object."""
        key = ("changes attributes", function)
        if key not in self.known:
            self.known[key] = True
            functions = {**self.program.reached_by(function.body), function: None}
            found = False
            for one in functions:
                assigned, mutated = self.function_changes(self.program.owners[one], one)
                found = found or any(key[0] == ATTRIBUTE for key in assigned | mutated)
            self.known[key] = found
        return self.known[key]

    def with_aliases(self, mutated):
        """Those that the changed objects may be parts of, or hold, too."""
        found, waiting = set(), list(mutated)
        while waiting:
            key = waiting.pop()
            if key not in found:
                found.add(key)
                waiting.extend(self.sources_of(key) - found)
        return found

    def sources_of(self, key):
        """The variables that an object in this one may come from."""
        known = ("sources", key)
        if known not in self.known:
            self.program.work()
            if key[0] == ATTRIBUTE:
                values = self.program.attribute_values(key[1])
            else:
                values = [(self.program.source_holding(value), value) for value in self.program.assignments(key)]
            found = set()
            for source, value in values:
                if source is not None and not self.program.gives_copies(source, value):
                    self.mutate_within(source, value, found)
            self.known[known] = found
        return self.known[known]


def source_scope(source, node):
    """Where the names in the expression have their meaning."""
    return id(source.scope_of(node))

"""The variables that a question may read, and that a loop may leave changed. Both err on one side: one too many."""

import ast

from .effects import _QUIET_BUILTINS, _QUIET_LIBRARIES, _QUIET_METHODS, _WRITERS, ATTRIBUTE, UNKNOWN
from .names import assigned_names, mentioned, root_of

EVERYTHING = (ATTRIBUTE, "*")


class Slices:
    def __init__(self, program):
        self.program = program
        self.known = {}
        self.anywhere = [(source, function) for entries in program.functions.values() for source, function in entries
                         if program.is_anywhere(source, function)]

    # Reading ----------------------------------------------------------------------------------------------------------

    def key_of(self, source, node):
        """The variable of a name, or the attribute of `self`; None for what is none."""
        if isinstance(node, ast.Attribute) and self.is_self(source, node.value):
            return (ATTRIBUTE, node.attr)
        if isinstance(node, ast.Name):
            if self.is_self(source, node):
                parent = source.parents.get(node)
                if isinstance(parent, ast.Attribute):
                    return None
                return EVERYTHING
            return self.program.variable(source, node, node.id)
        return None

    @staticmethod
    def is_self(source, node):
        if not isinstance(node, ast.Name) or node.id not in ("self", "cls"):
            return False
        return source.class_of(source.scope_of(node)) is not None

    def names_read(self, source, node):
        """The variables that are read at the node, and those that the functions it may call read outside of
        themselves."""
        found = self.own_reads(source, node)
        functions = list(self.program.reached([node]).items())
        may_call, operates = self.may_call_anything(source, node), self.operates(node)
        functions += [(function, owner) for owner, function in self.anywhere
                      if may_call or (function.name.startswith("__")
                                      and (operates or function.name in ("__getattr__", "__getattribute__")))]
        for function, owner in functions:
            found |= {key for key in self.own_reads(owner, function) if not self.is_inside(owner, key, function)}
        return found

    _OPERATIONS = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript, ast.comprehension, ast.For, ast.With, ast.AugAssign,
                   ast.BoolOp, ast.FormattedValue, ast.While, ast.If, ast.IfExp, ast.Starred)

    def operates(self, node):
        """It has operators, or functions of Python itself, which call methods such as __len__ and __add__."""
        return any(isinstance(part, self._OPERATIONS) or (
            isinstance(part, ast.Call) and isinstance(part.func, ast.Name)) for part in ast.walk(node))

    def is_of_library(self, source, function):
        """The method is one of an object that a library has just made."""
        maker = root_of(function)
        while isinstance(maker, ast.Call):
            if self.program.library_of(source, maker.func) in _QUIET_LIBRARIES:
                return True
            maker = root_of(maker.func)
        return False

    def may_call_anything(self, source, node):
        """Something is called at the node that is neither a function known by its name nor a quiet one of a library."""
        for part in ast.walk(node):
            if not isinstance(part, ast.Call) or source.flor_call(part):
                continue
            name = part.func.id if isinstance(part.func, ast.Name) else getattr(part.func, "attr", None)
            if self.program.library_of(source, part.func) in _QUIET_LIBRARIES:
                continue
            if isinstance(part.func, ast.Attribute) and (name in _QUIET_METHODS or self.is_of_library(source, part.func)):
                continue
            if isinstance(part.func, ast.Name) and name in _QUIET_BUILTINS and (
                    self.program.variable(source, part.func, name) is None) and name not in self.program.functions:
                continue
            return True
        return False

    def own_reads(self, source, node):
        key = ("reads", node)
        if key not in self.known:
            found = set()
            for part in ast.walk(node):
                if isinstance(part, (ast.Name, ast.Attribute)) and isinstance(part.ctx, ast.Load):
                    found.add(self.key_of(source, part))
                elif isinstance(part, ast.AugAssign):
                    found.add(self.key_of(source, root_of(part.target)))
            self.known[key] = found - {None}
        return self.known[key]

    def is_inside(self, source, key, function):
        """The variable is the function's own."""
        scope = key[0]
        while isinstance(scope, ast.AST) and scope in source.parents:
            if scope is function:
                return True
            scope = source.scope_of(source.parents[scope])
        return False

    def closure(self, source, statement, barrier, kept):
        """All variables that the statement's values may come from, as they are when the statement `barrier` ends.
        Those that are `kept` come back by themselves."""
        found, seen, waiting = set(), set(), []
        expression = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else statement
        self.push(waiting, source, expression, is_placed=True)
        while waiting:
            variable, owner, at = waiting.pop()
            if (variable, at) in seen or variable in kept:
                continue
            seen.add((variable, at))
            if at is not None and self.is_local(owner, variable, at):
                if not self.follow(owner, variable, at, barrier, waiting):
                    continue
            if variable not in found:
                found.add(variable)
                self.push_values(waiting, variable, found)
        return found

    def is_local(self, source, variable, statement):
        scope = source.scope_of(statement)
        return variable[0] is scope or (scope is source.tree and variable[0] == source.path)

    def push(self, waiting, source, node, is_placed):
        """`is_placed`: what is read at the node is followed back from where it stands."""
        own = set()
        for part in ast.walk(node):
            if isinstance(part, (ast.Name, ast.Attribute)) and isinstance(part.ctx, ast.Load):
                key = self.key_of(source, part)
            elif isinstance(part, ast.AugAssign):
                key = self.key_of(source, root_of(part.target))
            else:
                continue
            if key is not None:
                own.add(key)
                waiting.append((key, source, source.statement_of(part) if is_placed else None))
        waiting.extend((key, source, None) for key in self.names_read(source, node) - own)

    def push_values(self, waiting, variable, found):
        """Whatever the variable may be assigned, anywhere."""
        values = self.program.assignments(variable)
        if not values and isinstance(variable[0], ast.AST):
            found.add(UNKNOWN)  # a parameter that these sources give no value
        for value in values:
            source = self.program.source_holding(value)
            if source is not None:
                self.push(waiting, source, value, is_placed=False)
        if variable[0] == ATTRIBUTE:
            for source, value in self.program.attribute_values(variable[1]):
                self.push(waiting, source, value, is_placed=False)

    def follow(self, source, variable, statement, barrier, waiting):
        """Goes back from the statement to where the variable got its value. True: it may have it from before."""
        node = statement
        while True:
            parent = source.parents.get(node)
            if parent is None:
                return True
            siblings = self.list_with(parent, node)
            for other in reversed(siblings[:siblings.index(node)] if siblings else []):
                if other is barrier or self.holds(other, barrier):
                    return True
                if self.mentions(source, other, variable):
                    if self.sets(source, other, variable):
                        self.push(waiting, source, other.value, is_placed=True)
                        return False
                    if not isinstance(other, (ast.FunctionDef, ast.ClassDef)):
                        self.push(waiting, source, other, is_placed=True)
            if isinstance(parent, (ast.For, ast.While)) and siblings is not None:
                if isinstance(parent, ast.For) and variable[1] in assigned_names(parent.target):
                    self.push(waiting, source, parent.iter, is_placed=True)
                    return False
                if parent is barrier:
                    return True
                for other in siblings:  # what an earlier iteration left
                    if self.mentions(source, other, variable):
                        self.push(waiting, source, other, is_placed=True)
            if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)):
                return True
            node = parent

    def mentions(self, source, node, variable):
        """The statement may bind the variable, or change its object."""
        if variable[1] not in mentioned([node]) | assigned_names(node):
            return False
        key = ("changes at", node)
        if key not in self.known:
            assigned, mutated = self.changes(source, [node])
            self.known[key] = assigned | mutated
        return variable in self.known[key]

    @staticmethod
    def list_with(parent, node):
        for name in ("body", "orelse", "finalbody", "handlers"):
            body = getattr(parent, name, None)
            if isinstance(body, list) and node in body:
                return body
        return None

    def holds(self, node, inner):
        return inner is not None and any(part is inner for part in ast.walk(node))

    def sets(self, source, statement, variable):
        """An assignment that gives the variable a new value, whatever it had."""
        if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is None:
            return False
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        names = [part for target in targets
                 for part in (target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target])]
        return any(isinstance(part, ast.Name) and part.id == variable[1] for part in names)

    # Changing ---------------------------------------------------------------------------------------------------------

    def changes(self, source, nodes):
        """(assigned, mutated): variables that are bound anew, and those whose objects may be changed. Those of the
        functions that may be called count, as far as they are not the functions' own."""
        assigned, mutated = self.own_changes(source, nodes)
        functions = list(self.program.reached(nodes).items())
        functions += [(function, owner) for owner, function in self.anywhere]
        for function, owner in functions:
            theirs = self.function_changes(owner, function)
            assigned |= {key for key in theirs[0] if not self.is_inside(owner, key, function)}
            mutated |= {key for key in theirs[1] if not self.is_inside(owner, key, function)}
        return assigned, self.with_aliases(mutated)

    def function_changes(self, source, function):
        key = ("changes", function)
        if key not in self.known:
            self.known[key] = None  # of a function that calls itself all parameters count
            self.known[key] = self.own_changes(source, function.body)
        return self.known[key] or (set(), {(function, one.arg) for one in function.args.args})

    def own_changes(self, source, nodes):
        assigned, mutated = set(), set()
        for top in nodes:
            for node in ast.walk(top):
                if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
                    assigned.add(self.program.variable(source, node, node.id))
                elif isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, (ast.Store, ast.Del)):
                    self.mutate(source, node, mutated)
                elif isinstance(node, ast.AugAssign):
                    self.mutate(source, node.target, mutated)
                elif isinstance(node, ast.Call):
                    self.mutate_by_call(source, node, mutated)
                elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
                    if not self.program.can_be_iterated_again(source, node.iter):
                        self.mutate_within(source, node.iter, mutated)
        return assigned - {None}, mutated - {None}

    def mutate(self, source, node, mutated):
        """The object that the expression denotes, or a part of it, may change."""
        chain = node
        while isinstance(chain, (ast.Attribute, ast.Subscript, ast.Starred)):
            if isinstance(chain, ast.Attribute) and self.is_self(source, chain.value):
                return mutated.add((ATTRIBUTE, chain.attr))
            chain = chain.value
        if isinstance(chain, ast.Name):
            key = self.key_of(source, chain)
            if key is not None and not (isinstance(node, ast.Name) and self.is_immutable(key)):
                mutated.add(key)
        elif isinstance(chain, ast.Call):
            self.mutate_within(source, chain, mutated)

    def is_immutable(self, key):
        return key[0] != ATTRIBUTE and self.program.holds_immutable(key)

    def mutate_within(self, source, node, mutated):
        """All objects that the value of the expression may be a part of."""
        for one in self.aliased(node):
            self.mutate(source, one, mutated)

    def aliased(self, node):
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            yield node
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):
                yield from self.aliased(node.func.value)
            for one in [*node.args, *(keyword.value for keyword in node.keywords)]:
                yield from self.aliased(one)
        elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            for one in node.elts:
                yield from self.aliased(one)
        elif isinstance(node, ast.Dict):
            for one in node.values:
                yield from self.aliased(one)
        elif isinstance(node, (ast.IfExp, ast.Starred, ast.Await, ast.NamedExpr, ast.BoolOp)):
            for one in ast.iter_child_nodes(node):
                yield from self.aliased(one)

    def mutate_by_call(self, source, call, mutated):
        if source.flor_call(call):
            return
        arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
        name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", None)
        library = self.program.library_of(source, call.func)
        if library is not None:
            writes = (name in _WRITERS or name.endswith("_") or any(one.arg == "out" for one in call.keywords)
                      or library not in _QUIET_LIBRARIES)
            if writes:
                for one in arguments:
                    self.mutate_within(source, one, mutated)
            return
        if name in self.program.functions:
            return self.mutate_by_functions(source, call, self.program.functions[name], mutated)
        methods = self.program.called_methods(source, call.func)
        if methods is not None:  # of an object that is called, which is changed as far as it has state
            if not self.program.is_stateless(source, call.func):
                self.mutate(source, call.func, mutated)
            return self.mutate_by_functions(source, call, methods, mutated)
        if isinstance(call.func, ast.Name):
            if self.program.variable(source, call.func, name) is None and name in _QUIET_BUILTINS:
                return
            self.mutate(source, call.func, mutated)
        elif isinstance(call.func, ast.Attribute):
            if name in _QUIET_METHODS:
                return
            self.mutate_within(source, call.func.value, mutated)
        for one in arguments:
            self.mutate_within(source, one, mutated)

    def mutate_by_functions(self, source, call, functions, mutated):
        """The arguments that functions of the program change."""
        for owner, function in functions:
            _, theirs = self.function_changes(owner, function)
            theirs = self.with_aliases(theirs)
            parameters = [one.arg for one in [*function.args.posonlyargs, *function.args.args]]
            is_method = owner.class_of(function) is not None
            if is_method and parameters:
                if isinstance(call.func, ast.Attribute) and any(
                        key[0] == ATTRIBUTE for key in theirs | self.function_changes(owner, function)[0]):
                    self.mutate_within(source, call.func.value, mutated)
                parameters = parameters[1:]
            for i, one in enumerate(call.args):
                known = parameters[i] if i < len(parameters) and not isinstance(one, ast.Starred) else None
                if known is None or (function, known) in theirs:
                    self.mutate_within(source, one, mutated)
            for keyword in call.keywords:
                if keyword.arg is None or (function, keyword.arg) in theirs:
                    self.mutate_within(source, keyword.value, mutated)

    def with_aliases(self, mutated):
        """Those that the changed objects may be parts of, or hold, too."""
        found, waiting = set(), list(mutated)
        while waiting:
            key = waiting.pop()
            if key in found:
                continue
            found.add(key)
            if key[0] == ATTRIBUTE:
                continue
            for value in self.program.assignments(key):
                source = self.program.source_holding(value)
                if source is not None and not self.program.gives_copies(source, value):
                    more = set()
                    self.mutate_within(source, value, more)
                    waiting.extend(more)
        return found


def overlap(read, changed, first=()):
    """A variable that is in both, rather one of `first`; or None."""
    if UNKNOWN in read and changed:
        return UNKNOWN
    common = read & changed
    if EVERYTHING in read or EVERYTHING in changed:
        common |= {key for key in (read if EVERYTHING in changed else changed) if key[0] == ATTRIBUTE}
    named = sorted(common, key=lambda key: (key not in first, key[1]))
    return named[0] if named else None

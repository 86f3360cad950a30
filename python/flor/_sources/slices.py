"""The variables that a question may read, and that a loop may leave changed. Both err on one side: one too many.

Attributes are known by their name alone, of whatever object: (ATTRIBUTE, "total"). State of libraries and of the
process is one variable, and so are files."""

import ast

from .calls import (_QUIET_BUILTINS, _QUIET_LIBRARIES, _QUIET_METHODS, _WRITERS, FILES, LIBRARIES, MUTATORS, consumes,
                    uses_files)
from .changed import EVERYTHING, Changes
from .effects import ATTRIBUTE, UNKNOWN
from .names import assigned_names, attributes_of, mentioned, root_of

OBJECT = "object"  # (OBJECT, variable): the object that the variable was bound to, even if it is bound to another since


class Slices(Changes):
    """`kept`: variables whose objects come back by themselves, with all that is in them."""

    def __init__(self, program, kept=frozenset(), by_name=frozenset()):
        self.program = program
        self.kept = kept
        self.by_name = by_name  # those of `kept` that a restore may bind to another object
        self.known = {}
        self.returning = []  # functions whose return values are being determined

    # Names ------------------------------------------------------------------------------------------------------------

    def key_of(self, source, node):
        """The variable of a name, or the attribute of `self`; None for what is none."""
        if isinstance(node, ast.Attribute) and self.is_self(source, node.value):
            return (ATTRIBUTE, node.attr)
        if isinstance(node, ast.Name):
            if self.is_self(source, node):
                parent = source.parents.get(node)
                return None if isinstance(parent, ast.Attribute) else EVERYTHING
            return self.program.variable(source, node, node.id)
        return None

    @staticmethod
    def is_self(source, node):
        if not isinstance(node, ast.Name) or node.id not in ("self", "cls"):
            return False
        return source.class_of(source.scope_of(node)) is not None

    def chain(self, source, node):
        """All variables that "a[0].b.c" may denote: `a`, and the attributes b and c of any object. What is taken of an
        object that is kept is kept as well."""
        root, names = attributes_of(node)
        found = set()
        is_self = self.is_self(source, root)
        if isinstance(root, ast.Name):
            key = self.key_of(source, root) if not (is_self and names) else None
            if key is not None:
                found.add(key)
                if key in self.kept:
                    return found
        if isinstance(root, ast.Name) and self.program.library_of(source, root) is not None:
            names = [name for name in names if self.program.is_changed_of_library(name)]
        for name in names:
            key = (ATTRIBUTE, name)
            found.add(key)
            if key in self.kept:
                return found
            if isinstance(root, ast.Name) and not is_self and root.id in source.imported:
                found |= self.program.globals_named(name)  # a variable of an imported module
        if "__dict__" in names:
            found.add(EVERYTHING)
        return found

    # Reading ----------------------------------------------------------------------------------------------------------

    def names_read(self, source, node):
        """The variables that are read at the node, and those that the functions it may call read outside of
        themselves."""
        found = set(self.own_reads(source, node))
        functions = dict(self.program.reached_by([node]))
        if self.may_call_anything(source, node):
            functions.update(self.program.reached_anywhere)
        elif self.operates(node):
            functions.update(self.program.reached_by_operators())
        elif any(isinstance(part, ast.Attribute) for part in ast.walk(node)):
            functions.update(self.program.reached_by_attributes())
        for function, owner in functions.items():
            self.program.work()
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
            self.known[key] = {one for part in ast.walk(node) for one in self.reads_of(source, part)}
        return self.known[key]

    def reads_of(self, source, part):
        """The variables that this very node reads."""
        if isinstance(part, ast.AugAssign):
            return self.chain(source, part.target)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
            key = self.key_of(source, part)
            found = {key} - {None}
            parent = source.parents.get(part)
            if found and not found & self.kept and not isinstance(parent, (ast.Attribute, ast.Subscript)) and (
                    self.program.may_be_of_program(source, part)):
                found.add(EVERYTHING)  # the whole object is passed on, so any part of it may be read
            return found
        if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Load):
            parent = source.parents.get(part)
            if isinstance(parent, (ast.Attribute, ast.Subscript)) and parent.value is part:
                return set()  # the outer attribute or subscript stands for the whole chain
            return self.chain(source, part)
        if isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Load):
            return self.chain(source, part)
        if isinstance(part, ast.Call):
            return self.reads_of_call(source, part)
        return set()

    def reads_of_call(self, source, call):
        name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", None)
        found = set()
        if isinstance(call.func, ast.Name) and name in ("vars", "eval", "exec", "globals", "locals", "dir") or (
                name == "getattr" and len(call.args) > 1 and not isinstance(call.args[1], ast.Constant)):
            found.add(EVERYTHING)
        if isinstance(call.func, ast.Name) and name == "getattr" and len(call.args) > 1 and (
                isinstance(call.args[1], ast.Constant)):
            found.add((ATTRIBUTE, call.args[1].value))
        if name == "getenv":
            found.add((ATTRIBUTE, "environ"))
        if uses_files(source, call):
            found.add(FILES)
        library = self.program.library_of(source, call.func)
        if library is not None and (library not in _QUIET_LIBRARIES or self.program.asks_process(name)):
            found.add(LIBRARIES)
        if self.program.is_cached(name):
            found.add(LIBRARIES)
        return found

    def is_inside(self, source, key, function):
        """The variable is the function's own, and does not outlive its call."""
        scope = key[0]
        if isinstance(scope, ast.AST) and self.program.has_lasting_default(*key):
            return False
        while isinstance(scope, ast.AST) and scope in source.parents:
            if scope is function:
                return True
            scope = source.scope_of(scope)
        return False

    def closure(self, source, statement, barrier, expression=None):
        """All variables that the statement's values may come from, as they are when the statement `barrier` ends.
        Those that are `kept` come back by themselves."""
        found, seen, waiting = set(), set(), []
        if expression is None:
            expression = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else statement
        self.push(waiting, source, expression, is_placed=True)
        self.push_conditions(waiting, source, statement, set())
        direct = set(waiting)
        while waiting:
            self.program.work()
            variable, owner, at = waiting.pop()
            if (variable, at) in seen:
                continue
            if variable in self.kept:
                if variable in self.by_name and (variable, owner, at) not in direct and (
                        not self.program.holds_immutable(variable)):
                    found.add((OBJECT, variable))  # another variable refers to the object that this variable had
                continue
            seen.add((variable, at))
            if variable[0] == OBJECT:
                if variable[1] not in self.kept or variable[1] in self.by_name:
                    found.add(variable)
                    self.push_object_values(waiting, variable[1])
                continue
            if at is not None and self.is_local(owner, variable, at):
                if not self.follow(owner, variable, at, barrier, waiting):
                    continue
            if variable not in found:
                found.add(variable)
                self.push_values(waiting, variable, found)
        return found

    def push_conditions(self, waiting, source, statement, seen):
        """Whether the statement is executed: the conditions around it and before it, and around the calls of its
        function."""
        node = statement
        while node in source.parents and not isinstance(node, ast.Module):
            parent = source.parents[node]
            for header in self.headers(parent):
                if header is not node:
                    self.push(waiting, source, header, is_placed=True)
            siblings = self.list_with(parent, node)
            for other in siblings[:siblings.index(node)] if siblings else []:
                if not isinstance(other, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    self.push_jumps(waiting, source, other)
            if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)) and parent not in seen:
                seen.add(parent)
                for owner, call in self.program.calls.get(parent.name, ()):
                    self.push_conditions(waiting, owner, owner.statement_of(call), seen)
            node = parent

    def push_jumps(self, waiting, source, statement):
        """A statement that may leave the block: what decides that it does."""
        for part in ast.walk(statement):
            if not isinstance(part, (ast.Break, ast.Continue, ast.Return, ast.Raise, ast.Assert)):
                continue
            headers, node = [], part
            while True:
                headers += self.headers(node)
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) or (
                        isinstance(part, (ast.Break, ast.Continue)) and isinstance(node, (ast.For, ast.AsyncFor, ast.While))):
                    break  # it leaves only this function or loop
                if node is statement:
                    for header in headers:
                        self.push(waiting, source, header, is_placed=True)
                    break
                node = source.parents[node]

    @staticmethod
    def headers(node):
        """What a compound statement decides by."""
        if isinstance(node, (ast.If, ast.While, ast.Assert)):
            return [node.test]
        if isinstance(node, (ast.For, ast.AsyncFor)):
            return [node.iter]
        if isinstance(node, (ast.With, ast.AsyncWith)):
            return [item.context_expr for item in node.items]
        if type(node).__name__ == "Match":
            return [node.subject]
        if type(node).__name__ == "match_case":
            return [one for one in (node.pattern, node.guard) if one is not None]
        return []

    def is_local(self, source, variable, statement):
        """It is one of the scope that the statement stands in, which no inner function binds."""
        scope = source.scope_of(statement)
        if not (variable[0] is scope or (scope is source.tree and variable[0] == source.path)):
            return False
        return not self.program.is_bound_by_others(source, scope, variable)

    def push(self, waiting, source, node, is_placed):
        """`is_placed`: what is read at the node is followed back from where it stands."""
        own = set()
        if isinstance(getattr(node, "ctx", None), ast.Store):
            waiting.extend((key, source, None) for key in self.chain(source, node))
        deferred = {one for part in ast.walk(node) if isinstance(part, (ast.Lambda, ast.GeneratorExp))
                    for one in ast.walk(part)}  # read when the lambda or generator is executed
        for part in ast.walk(node):
            statement = source.statement_of(part) if is_placed and part not in deferred else None
            for key in self.reads_of(source, part):
                own.add(key)
                waiting.append((key, source, statement))
        waiting.extend((key, source, None) for key in self.names_read(source, node) - own)

    def push_values(self, waiting, variable, found):
        """Whatever the variable may be assigned, anywhere."""
        if variable in (UNKNOWN, FILES, LIBRARIES, EVERYTHING):
            return
        values = self.program.assignments(variable) if variable[0] != ATTRIBUTE else []
        if isinstance(variable[0], ast.AST) and (not values or self.program.may_be_given_more(*variable)):
            found.add(UNKNOWN)  # a parameter to which these sources pass no value
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
            if parent is None or isinstance(parent, ast.ClassDef):
                return True
            siblings = self.list_with(parent, node)
            for other in reversed(siblings[:siblings.index(node)] if siblings else []):
                if self.leads_to(source, other, barrier):
                    return True
                if not self.mentions(source, other, variable):
                    continue
                if self.sets(source, other, variable):
                    self.push_set(waiting, source, other.value)
                    return False
                if not isinstance(other, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    self.push(waiting, source, other, is_placed=True)
            if isinstance(parent, ast.For) and siblings is parent.body and variable[1] in self.target_names(parent.target):
                self.push_set(waiting, source, parent.iter)
                return False
            if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)) or parent is barrier:
                return True
            if self.comes_around(source, parent, siblings, variable, barrier, waiting):
                return True
            node = parent

    def comes_around(self, source, parent, siblings, variable, barrier, waiting):
        """The other parts of the compound statement: what came before in it, and earlier iterations. True: the variable
        may have its value from there in a way that is not followed."""
        if isinstance(parent, (ast.With, ast.AsyncWith)) or type(parent).__name__ in ("Match", "match_case"):
            return any(variable[1] in assigned_names(one) for one in self.heads(parent))
        if any(isinstance(part, ast.NamedExpr) for one in self.headers(parent) for part in ast.walk(one)):
            return True
        others = []
        for name in ("body", "handlers", "orelse", "finalbody"):
            body = getattr(parent, name, None)
            is_own = body is siblings
            exclusive = isinstance(parent, ast.If) or (isinstance(parent, ast.Try) and is_own)
            if isinstance(body, list) and not exclusive:
                others += body
        for other in others:
            if self.leads_to(source, other, barrier):
                return True
            if self.mentions(source, other, variable):
                self.push(waiting, source, other, is_placed=True)
        return False

    @staticmethod
    def heads(node):
        if isinstance(node, (ast.With, ast.AsyncWith)):
            return node.items
        return [one for one in (getattr(node, "pattern", None), getattr(node, "guard", None),
                                getattr(node, "subject", None)) if one is not None]

    @staticmethod
    def target_names(target):
        return {part.id for part in ast.walk(target) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}

    def push_set(self, waiting, source, value):
        """The value that a variable was given there; an object in it may have been changed since."""
        self.push(waiting, source, value, is_placed=True)
        self.push_objects(waiting, source, value)

    def push_objects(self, waiting, source, value):
        for owner, one in self.aliased(source, value):
            for key in self.chain(owner, one):
                if key[0] == ATTRIBUTE:
                    waiting.append((key, owner, None))
                elif not self.program.holds_immutable(key) and not self.is_batch(key):
                    waiting.append(((OBJECT, key), owner, None))

    def is_batch(self, variable):
        """It only ever holds what a DataLoader has just made."""
        values = self.program.bindings(variable)
        return bool(values) and all(self.program.gives_copies(self.program.source_holding(value), value)
                                    for value in values)

    def push_object_values(self, waiting, variable):
        """What may be put into the object that a variable holds, and the objects that it may be a part of."""
        for value in self.program.bindings(variable):
            source = self.program.source_holding(value)
            if source is not None and not self.program.gives_copies(source, value):
                self.push_objects(waiting, source, value)
        for value in self.program.inserted(variable):
            source = self.program.source_holding(value)
            if source is not None:
                self.push(waiting, source, value, is_placed=False)

    def leads_to(self, source, node, barrier):
        """The statement holds the barrier, or may call the function that does."""
        if barrier is None:
            return False
        if node is barrier or self.holds(node, barrier):
            return True
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return False
        key = ("leads", node, barrier)
        if key not in self.known:
            self.known[key] = any(function is barrier or self.holds(function, barrier)
                                  for function in self.program.reached([node]))
        return self.known[key]

    def mentions(self, source, node, variable):
        """The statement may bind the variable, or change its object."""
        key = ("changes at", node)
        if key not in self.known:
            assigned, mutated = self.changes(source, [node])
            self.known[key] = assigned | mutated
        return variable in self.known[key]

    @staticmethod
    def list_with(parent, node):
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            body = getattr(parent, name, None)
            if isinstance(body, list) and node in body:
                return body
        return None

    def holds(self, node, inner):
        key = ("holds", node)
        if key not in self.known:
            self.known[key] = set(ast.walk(node))
        return inner in self.known[key]

    def sets(self, source, statement, variable):
        """An assignment that gives the variable a new value, whatever it had."""
        if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is None:
            return False
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        names = [part for target in targets
                 for part in (target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target])]
        return any(isinstance(part, ast.Name) and part.id == variable[1] for part in names)


def overlap(read, assigned, mutated, first=()):
    """A variable that is in both, rather one of `first`; or None."""
    changed = assigned | mutated
    read = {key[1] if key[0] == OBJECT else key for key in read if key[0] != OBJECT or key[1] in mutated}
    if UNKNOWN in read and changed:
        return UNKNOWN
    common = read & changed
    if EVERYTHING in read or EVERYTHING in changed:
        common |= {key for key in (read if EVERYTHING in changed else changed) if key[0] == ATTRIBUTE}
    named = sorted(common, key=lambda key: (key not in first, str(key[1])))
    return named[0] if named else None

"""The variables that code may read and change, as far as names tell. When in doubt, a variable is changed: of a call that
these sources do not show all arguments are, and the object that it is a method of.

A variable is (scope, name): the scope is a function, or the file of a global. An attribute of `self`, or of an object
that has no name, is ("attribute", name)."""

import ast

from .calls import (_IMMUTABLE_MAKERS, _QUIET_BUILTINS, _QUIET_LIBRARIES, _QUIET_METHODS, _STATELESS, _WRITERS, asks_process,
                    changes_process)
from .flows import Flows
from .names import assigned_names, dotted, mentioned, root_of

ATTRIBUTE = "attribute"
UNKNOWN = ("unknown", "")

_STEPS = 15000


class TooMuch(Exception):
    """The sources are more than can be followed in a few seconds."""


class Program(Flows):
    """All sources of the program, as they are now."""

    def __init__(self, sources):
        self.sources = sources
        self.functions, self.owners, self.classes = {}, {}, {}
        self.calls = {}  # by name of the function: (source, call)
        self.values = set()  # names of functions and classes that are used as values
        self.computes_names = False
        self.unknown_changes = False  # eval and exec may change any variable
        self.known = {}
        self.steps, self.is_bounded = 0, False
        self.judged = []  # variables for which holds_immutable is being determined
        for source in sources:
            for node in ast.walk(source.tree):
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    self.functions.setdefault(node.name, []).append((source, node))
                    self.owners[node] = source
                elif isinstance(node, ast.ClassDef):
                    self.classes.setdefault(node.name, []).append((source, node))
                elif isinstance(node, ast.Call):
                    self.note_call(source, node)
        for source in sources:
            self.note_values(source)
        self.anywhere = {function: source for entries in self.functions.values() for source, function in entries
                         if self.is_anywhere(source, function)}
        self.reached_anywhere = self.reached_by(list(self.anywhere))
        self.reached_anywhere.update(self.anywhere)
        self.is_bounded = True

    def note_call(self, source, node):
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", None)
        if name:
            self.calls.setdefault(name, []).append((source, node))
        if isinstance(node.func, ast.Name) and (name in ("eval", "exec", "globals", "locals", "vars") or (
                name == "getattr" and len(node.args) > 1 and not isinstance(node.args[1], ast.Constant))):
            self.computes_names = True
        computes = name in ("setattr", "delattr") and not isinstance((node.args + [None] * 2)[1], ast.Constant)
        if isinstance(node.func, ast.Name) and (name in ("eval", "exec", "globals", "locals") or computes):
            self.unknown_changes = True
        if name in ("getattr", "hasattr", "methodcaller", "attrgetter"):
            self.values |= {one.value for one in node.args if isinstance(one, ast.Constant)}

    def note_values(self, source):
        types = set()
        for node in ast.walk(source.tree):
            for one in (getattr(node, "annotation", None), getattr(node, "returns", None)):
                if isinstance(one, ast.AST):
                    types.update(ast.walk(one))
        for node in ast.walk(source.tree):
            name = node.id if isinstance(node, ast.Name) else getattr(node, "attr", None)
            if node in types:
                continue
            if isinstance(name, str) and isinstance(getattr(node, "ctx", None), ast.Load):
                parent = source.parents[node]
                named = isinstance(parent, ast.Call) and parent.func is node
                if not named and not (isinstance(parent, ast.ClassDef) and node in parent.bases):
                    self.values.add(name)
            elif isinstance(node, ast.Lambda):
                self.values |= mentioned([node.body])  # the lambda may be called anywhere
            elif isinstance(node, ast.GeneratorExp) and not isinstance(source.parents[node], ast.Call):
                self.values |= mentioned([node])

    def is_anywhere(self, source, function):
        """It may be called without a mention of its name."""
        owner = source.class_of(function)
        if function.name in ("__init__", "__new__", "__post_init__") and not self.computes_names and owner is not None:
            return self.is_made_anywhere(owner.name)
        if isinstance(function, ast.AsyncFunctionDef) or any(
                isinstance(part, (ast.Yield, ast.YieldFrom)) for part in walk_scope(function)):
            return True  # a generator or coroutine: its body is executed where its result is used
        quiet = {"staticmethod", "classmethod", "no_grad", "inference_mode", "enable_grad", "lru_cache", "cache"}
        decorated = any((dotted(one.func if isinstance(one, ast.Call) else one) or "?").rpartition(".")[2] not in quiet
                        for one in function.decorator_list)
        is_override = owner is not None and any(dotted(base) != "object" for base in owner.bases)
        is_inner = source.scope_of(function) is not source.tree if function in source.parents else False
        return (self.computes_names or decorated or is_override or function.name in self.values
                or function.name.startswith("__") or (is_inner and function.name in self.values))

    def is_made_anywhere(self, name):
        """Objects of the class, or of one that derives from it, may be made without a mention of its name."""
        return "__class__" in self.values or bool(self.with_derived(name) & self.values)

    def with_derived(self, name):
        """The names of the class and of those that derive from it."""
        found, more = set(), {name}
        while more - found:
            found |= more
            more = {node.name for entries in self.classes.values() for _, node in entries for base in node.bases
                    if (dotted(base) or "").rpartition(".")[2] in found}
        return found

    _CALLS = (ast.Call, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript, ast.Attribute, ast.comprehension, ast.For,
              ast.AsyncFor, ast.With, ast.AsyncWith, ast.AugAssign, ast.Await, ast.If, ast.While, ast.IfExp, ast.Starred,
              ast.FormattedValue, ast.BoolOp, ast.Delete)

    def reached(self, nodes):
        """The functions that the nodes may call: by the names they mention, through others, and those that may be called
        without a mention."""
        found = self.reached_by(nodes)
        if any(isinstance(part, self._CALLS) for node in nodes for part in ast.walk(node)):
            found.update(self.reached_anywhere)
        return found

    def mentions(self, node):
        key = ("mentions", node)
        if key not in self.known:
            self.known[key] = mentioned([node])
        return self.known[key]

    def reached_by(self, nodes):
        """By the names that the nodes mention, through others."""
        found, waiting = {}, [name for node in nodes for name in self.mentions(node)]
        seen = set()
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            if name not in self.functions and name not in self.classes:
                continue
            self.work()
            for source, function in self.functions.get(name, ()):
                if function not in found:
                    found[function] = source
                    waiting.extend(self.mentions(function))
            for source, node in self.classes.get(name, ()):  # calling a class calls the functions that make its objects
                for base in node.bases:
                    waiting.extend(self.mentions(base))
                for part in node.body:
                    if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)):
                        if not part.name.startswith("__"):
                            continue
                        found[part] = source
                    waiting.extend(self.mentions(part))
        return found

    def operators(self):
        """The names of the methods of the program's classes that Python calls by itself."""
        return [name for name in self.functions if name.startswith("__") and name not in (
            "__init__", "__new__", "__post_init__")]

    def reached_by_operators(self):
        if "by operators" not in self.known:
            functions = [function for name in self.operators() for _, function in self.functions[name]]
            properties = [function for function in self.anywhere if function.decorator_list]
            self.known["by operators"] = self.reached_by(functions + properties)
            self.known["by operators"].update({one: self.owners[one] for one in functions + properties})
        return self.known["by operators"]

    def is_imported_late(self, source):
        """An import statement inside a function, or a loop, may be the first that executes the file."""
        if "late" not in self.known:
            self.known["late"] = {name.rpartition(".")[2] for other in self.sources for node in ast.walk(other.tree)
                                  if isinstance(node, (ast.Import, ast.ImportFrom))
                                  and not isinstance(other.parents[node], ast.Module)
                                  for name in [*(alias.name for alias in node.names), getattr(node, "module", None) or ""]}
            self.known["dynamic"] = any(name in ("importlib", "runpy", "imp") or name.startswith("importlib.")
                                        for other in self.sources for name in other.imported.values())
        stem = source.path[:-3].replace("/__init__", "").rpartition("/")[2]
        return stem in self.known["late"] or self.known["dynamic"] or self.computes_names

    def reached_by_attributes(self):
        """Those that taking an attribute calls."""
        if "by attributes" not in self.known:
            functions = [function for function in self.anywhere if function.decorator_list or function.name in (
                "__getattr__", "__getattribute__", "__get__")]
            self.known["by attributes"] = self.reached_by(functions)
            self.known["by attributes"].update({one: self.owners[one] for one in functions})
        return self.known["by attributes"]

    def work(self):
        """Counted, so that every process comes to the same end."""
        self.steps += 1
        if self.is_bounded and self.steps > _STEPS:
            raise TooMuch

    def is_cached(self, name):
        """Functions of that name keep their results."""
        return any((dotted(one.func if isinstance(one, ast.Call) else one) or "").rpartition(".")[2] in (
            "lru_cache", "cache", "cached_property") for _, function in self.functions.get(name, ())
            for one in function.decorator_list)

    # Variables --------------------------------------------------------------------------------------------------------

    def locals_of(self, source, scope):
        """The names that a function binds, without those of functions inside."""
        key = ("locals", scope)
        if key not in self.known:
            found, outer = set(), set()
            if not isinstance(scope, ast.Module):
                arguments = scope.args
                every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
                every += [one for one in (arguments.vararg, arguments.kwarg) if one]
                found |= {one.arg for one in every}
            for node in walk_scope(scope):
                if isinstance(node, ast.Global):
                    outer |= set(node.names)
                elif isinstance(node, ast.Nonlocal):
                    outer |= set(node.names)
                elif isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
                    found.add(node.id)
                elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    found.add(node.name)
                elif isinstance(node, ast.alias):
                    found.add(node.asname or node.name.partition(".")[0])
                elif type(node).__name__ in ("ExceptHandler", "MatchAs", "MatchStar", "MatchMapping"):
                    found.add(getattr(node, "name", None) or getattr(node, "rest", None))
            self.known[key] = found - outer - {None}
        return self.known[key]

    def variable(self, source, node, name):
        """The variable that a name means at a node; None for what a library or Python itself has of that name."""
        scope = source.scope_of(node)
        while scope is not source.tree:
            if name in self.locals_of(source, scope):
                return (scope, name)
            scope = source.scope_of(scope)
        if name in self.locals_of(source, source.tree):
            if name in source.imported:
                return self.imported_variable(source, name)
            return None if self.is_definition(source, name) else (source.path, name)
        return self.starred_variable(source, name) if source.starred else None

    def globals_named(self, name):
        return {(source.path, name) for source in self.sources if name in self.locals_of(source, source.tree)}

    def has_lasting_default(self, scope, name):
        """A parameter whose default is an object, which is the same in every call."""
        if not isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return False
        key = ("lasting default", scope, name)
        if key not in self.known:
            default = self.default_of(scope, name)
            self.known[key] = default is not None and not self.is_immutable(self.owners[scope], default)
        return self.known[key]

    def may_be_given_more(self, scope, name):
        """A parameter that callers which these sources do not show may give a value."""
        arguments = scope.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        return scope in self.anywhere and any(one is not None and one.arg == name for one in every)

    def is_bound_by_others(self, source, scope, variable):
        """A function binds the variable that is not its own: by `global`, `nonlocal`, or as a global of a module."""
        key = ("bound by others", variable)
        if key not in self.known:
            name = variable[1]
            self.known[key] = any(
                isinstance(node, (ast.Global, ast.Nonlocal)) and name in node.names for node in ast.walk(scope)) or (
                scope is source.tree and bool(self.attribute_stores(name)))
        return self.known[key]

    def attribute_stores(self, name):
        """(source, target) of all assignments to an attribute of that name."""
        if "attribute stores" not in self.known:
            self.known["attribute stores"] = index = {}
            for source in self.sources:
                for node in ast.walk(source.tree):
                    if isinstance(node, ast.Attribute) and isinstance(node.ctx, (ast.Store, ast.Del)):
                        index.setdefault(node.attr, []).append((source, node))
        return self.known["attribute stores"].get(name, [])

    def is_changed_of_library(self, name):
        """The program may change what a library has by that name: `os.environ`, `torch.backends.cudnn.benchmark`."""
        return name in ("environ", "path", "modules", "argv", "__dict__") or any(
            isinstance(root_of(target), ast.Name) and root_of(target).id in source.imported
            for source, target in self.attribute_stores(name))

    def may_be_of_program(self, source, node):
        """The object may be one of a class of the program, whose attributes functions may read unseen."""
        if not self.classes or self.is_immutable(source, node):
            return False
        for maker in self.makers(source, node):
            if maker is None:
                return True
            other, call = maker
            name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", None)
            if name in self.classes or (self.library_of(other, call.func) not in _QUIET_LIBRARIES
                                        and not other.flor_call(call) and name not in _QUIET_BUILTINS
                                        and name not in _QUIET_METHODS):
                return True
        return False

    def imported_variable(self, source, name):
        """A global of another file of the program."""
        return self.global_of(source.imported[name].lstrip("."), set())

    def global_of(self, full, seen):
        """The global that "module.name" means, through files that only hand it on."""
        module, _, own = full.rpartition(".")
        if not module or full in seen:
            return None
        seen.add(full)
        for other in self.sources:
            stem = other.path[:-3].replace("/__init__", "").replace("/", ".")
            if stem != module and not stem.endswith("." + module):
                continue
            if own in other.imported:
                return self.global_of(other.imported[own].lstrip("."), seen)
            if own not in self.locals_of(other, other.tree):
                return self.starred_variable(other, own, seen)
            return None if self.is_definition(other, own) else (other.path, own)
        return None

    def starred_variable(self, source, name, seen=None):
        """The same of a name that `from module import *` brings."""
        seen = set() if seen is None else seen
        for module in source.starred:
            found = self.global_of(f"{module.lstrip('.')}.{name}", seen)
            if found is not None:
                return found
        return None

    @staticmethod
    def is_definition(source, name):
        return any(isinstance(top, (ast.FunctionDef, ast.ClassDef)) and top.name == name for top in source.tree.body)

    def source_of(self, variable):
        scope = variable[0]
        if isinstance(scope, ast.AST):
            return self.owners[scope], scope
        for source in self.sources:
            if source.path == scope:
                return source, source.tree
        return None, None

    def bindings(self, variable):
        """All expressions that the variable may be bound to."""
        key = ("bindings", variable)
        if key not in self.known:
            self.known[key] = []
            source, scope = self.source_of(variable)
            if source is not None:
                self.known[key] = list(self.find_bindings(source, scope, variable))
        return self.known[key]

    def assignments(self, variable):
        """All expressions that the variable may be bound to, and whose objects may become a part of its own."""
        key = ("assigned", variable)
        if key not in self.known:
            self.known[key] = self.bindings(variable) + self.inserted(variable)
        return self.known[key]

    def binding_nodes(self, source, scope, variable):
        """The statements that may bind the variable."""
        key = ("binding nodes", scope)
        if key not in self.known:
            self.known[key] = index = {}
            for node in walk_scope(scope) if isinstance(variable[0], ast.AST) else ast.walk(source.tree):
                if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.For, ast.AsyncFor,
                                     ast.comprehension, ast.withitem)) or type(node).__name__ == "Match":
                    targets = [getattr(node, name) for name in ("target", "optional_vars") if getattr(node, name, None)]
                    targets += getattr(node, "targets", []) or (targets and []) or ([node] if not targets else [])
                    for name in {name for target in targets for name in assigned_names(target)}:
                        index.setdefault(name, []).append(node)
        return self.known[key].get(variable[1], [])

    def inserted(self, variable):
        """The expressions whose objects may become a part of the variable's."""
        return [value for source in self.sources for one, value in self.insertions(source).get(variable[1], ())
                if one is not None and self.variable(source, one, variable[1]) == variable]

    def find_bindings(self, source, scope, variable):
        name = variable[1]
        for node in self.binding_nodes(source, scope, variable):
            if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr)) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if any(self.binds(source, target, variable) for target in targets):
                    yield node.value
                    yield from [target for target in targets[:8] if len(targets) > 1]  # chained targets: a = b = []
            elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)) and self.binds(source, node.target, variable):
                yield node.iter
            elif isinstance(node, ast.withitem) and node.optional_vars is not None:
                if self.binds(source, node.optional_vars, variable):
                    yield node.context_expr
            elif type(node).__name__ == "Match" and name in assigned_names(node):
                yield node.subject
        if isinstance(variable[0], ast.AST):
            yield from self.given(variable[0], name)
            for node in ast.walk(scope):  # assignments to `nonlocal` variables in inner functions
                if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and node.value is not None and (
                        source.scope_of(node) is not scope):
                    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                    if any(self.binds(source, target, variable) for target in targets):
                        yield node.value

    def binds(self, source, target, variable):
        return any(isinstance(part, ast.Name) and part.id == variable[1]
                   and self.variable(source, part, part.id) == variable for part in ast.walk(target)
                   if isinstance(getattr(part, "ctx", None), (ast.Store, ast.Del)))

    def given(self, function, name):
        """The arguments that callers give a parameter."""
        arguments = [*function.args.posonlyargs, *function.args.args]
        names = [one.arg for one in arguments]
        every = names + [one.arg for one in function.args.kwonlyargs]
        if name not in every and name not in [one.arg for one in (function.args.vararg, function.args.kwarg) if one]:
            return
        default = self.default_of(function, name)
        if default is not None:
            yield default
        owner = self.owners[function].class_of(function)
        is_method = owner is not None
        called = owner.name if is_method and function.name in ("__init__", "__new__") else function.name
        for source, call in self.calls.get(called, ()):
            offset = 1 if is_method else 0
            position = names.index(name) - offset if name in names else None
            if position is None or any(isinstance(one, ast.Starred) for one in call.args):
                yield from call.args
                yield from (keyword.value for keyword in call.keywords)
                continue
            if 0 <= position < len(call.args):
                yield call.args[position]
            for keyword in call.keywords:
                if keyword.arg == name or keyword.arg is None:
                    yield keyword.value
            if position < 0 and isinstance(call.func, ast.Attribute):
                yield call.func.value

    @staticmethod
    def default_of(function, name):
        """The expression of the parameter's default, or None."""
        arguments = [*function.args.posonlyargs, *function.args.args]
        pairs = list(zip(reversed(arguments), reversed(function.args.defaults)))
        pairs += list(zip(function.args.kwonlyargs, function.args.kw_defaults))
        return next((default for one, default in pairs if one.arg == name), None)

    asks_process, changes_process = staticmethod(asks_process), staticmethod(changes_process)

    # Immutable values, and calls that leave their arguments alone -----------------------------------------------------------------

    def library_of(self, source, node):
        """"torch" of torch.nn.functional.relu; None where it is of no imported module."""
        name = dotted(node)
        if name is None:
            return None
        first = name.partition(".")[0]
        full = source.imported.get(first)
        if full is None or self.variable(source, node, first) is not None:
            return None
        top = full.partition(".")[0]
        shown = any(other.path[:-3].replace("/", ".").partition(".")[0] == top for other in self.sources)
        return None if shown and top not in _QUIET_LIBRARIES else top

    def is_immutable(self, source, node, depth=0):
        """The expression is a number, a text, or of those."""
        if depth > 6:
            return False
        inner = lambda one: self.is_immutable(source, one, depth + 1)  # noqa: E731
        if isinstance(node, (ast.Constant, ast.JoinedStr)):
            return True
        if isinstance(node, ast.Compare):
            return all(inner(one) for one in [node.left, *node.comparators])
        if isinstance(node, (ast.BinOp,)):
            return inner(node.left) and inner(node.right)
        if isinstance(node, ast.UnaryOp):
            return inner(node.operand)
        if isinstance(node, ast.IfExp):
            return inner(node.body) and inner(node.orelse)
        if isinstance(node, ast.Tuple):
            return all(inner(one) for one in node.elts)
        if isinstance(node, ast.Name):
            variable = self.variable(source, node, node.id)
            return variable is not None and self.holds_immutable(variable, depth + 1)
        if isinstance(node, ast.Call):
            called = source.flor_call(node)
            if called == "arg":
                return True
            if called == "loop":
                return all(inner(one) for one in node.args[1:])
            if isinstance(node.func, ast.Attribute) and node.func.attr == "item" and "item" not in self.functions:
                return True
            name = dotted(node.func) or ""
            library = self.library_of(source, node.func)
            if name in _IMMUTABLE_MAKERS and self.variable(source, node, name) is None and name not in self.functions:
                return name in ("int", "float", "str", "bool", "len") or all(inner(one) for one in node.args)
            return library == "torch" and name.rpartition(".")[2] in ("device", "is_available")
        return False

    def holds_immutable(self, variable, depth=0):
        if depth > 6:
            return False
        key = ("immutable", variable)
        if key in self.known:
            return self.known[key]
        if variable in self.judged:
            return True  # a variable that is assigned from itself: its other values decide
        self.judged.append(variable)
        source, _ = self.source_of(variable)
        values = self.bindings(variable)
        found = bool(values) and source is not None and all(
            self.is_immutable(self.source_holding(value) or source, value, depth + 1) for value in values)
        self.judged.pop()
        if not self.judged:
            self.known[key] = found
        return found

    def source_holding(self, node):
        for source in self.sources:
            if node in source.parents:
                return source
        return None

    def makers(self, source, node, depth=0):
        """The calls that an object may come from; None among them where that is not known."""
        key = ("makers", node, depth)
        if key not in self.known:
            self.work()
            self.known[key] = [None] if depth > 4 else self.find_makers(source, node, depth)
            if len(self.known[key]) > 30:
                self.known[key] = [None]
        return self.known[key]

    def find_makers(self, source, node, depth):
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", None)
            if self.library_of(source, node.func) is None and name in self.functions:
                found = []
                for other, function in self.functions[name]:
                    for part in walk_scope(function):
                        if isinstance(part, ast.Return) and part.value is not None:
                            values = part.value.elts if isinstance(part.value, ast.Tuple) else [part.value]
                            for value in values:
                                found += self.makers(other, value, depth + 1)
                return found or [None]
            return [(source, node)]
        if isinstance(node, ast.Name):
            variable = self.variable(source, node, node.id)
            values = self.bindings(variable) if variable is not None else []
            found = []
            for value in values:
                found += self.makers(self.source_holding(value) or source, value, depth + 1)
            return found or [None]
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            found = []
            for other, value in self.attribute_values(node.attr):
                found += self.makers(other, value, depth + 1)
            return found or [None]
        if isinstance(node, (ast.List, ast.Tuple, ast.Dict, ast.ListComp, ast.DictComp, ast.Constant)):
            return []
        return [None]

    def is_stateless(self, source, node):
        """Calling the object changes nothing of it: a loss, an activation."""
        makers = self.makers(source, node)
        return bool(makers) and all(
            maker is not None and self.library_of(maker[0], maker[1].func) == "torch"
            and ((dotted(maker[1].func) or "").endswith("Loss")
                 or (dotted(maker[1].func) or "").rpartition(".")[2] in _STATELESS) for maker in makers)

    def gives_copies(self, source, node):
        """The expression is what a `for` iterates, a DataLoader, whose batches are made anew."""
        parent = source.parents.get(node)
        if not isinstance(parent, (ast.For, ast.AsyncFor)) or parent.iter is not node:
            return False
        while source.flor_call(node) == "loop" and node.args:
            node = node.args[-1]
        makers = self.makers(source, node)
        return bool(makers) and all(
            maker is not None and (dotted(maker[1].func) or "").rpartition(".")[2] == "DataLoader" for maker in makers)

    def called_methods(self, source, node):
        """The methods that a call of the object executes, where it is made by classes of the program or of torch alone
        (whose modules leave what they are given alone); None where that is not known."""
        methods = []
        for maker in self.makers(source, node) or [None]:
            if maker is None:
                return None
            other, call = maker
            own = self.classes.get(call.func.id, ()) if isinstance(call.func, ast.Name) else ()
            if not own and self.library_of(other, call.func) != "torch":
                return None
            for holder, node in own:
                found = [part for part in node.body if getattr(part, "name", None) in ("forward", "__call__")]
                if not found:
                    return None
                methods += [(holder, method) for method in found]
        return methods

    def can_be_iterated_again(self, source, node):
        """Iterating it changes nothing of it: a container, a DataLoader without a generator or sampler of its own."""
        if source.flor_call(node) == "loop":
            return all(self.can_be_iterated_again(source, one) for one in node.args[1:])
        if self.is_immutable(source, node):
            return True
        for maker in self.makers(source, node):
            if maker is None:
                return False
            other, call = maker
            name = (dotted(call.func) or "").rpartition(".")[2]
            quiet = name in ("list", "tuple", "dict", "sorted", "range", "set", "loop", "TensorDataset", "Subset") or (
                name == "DataLoader" and not {keyword.arg for keyword in call.keywords} & {
                    "generator", "sampler", "batch_sampler", None}) or (
                self.library_of(other, call.func) in ("torch", "numpy", "torchvision") and name not in ("iter",))
            if not quiet:
                return False
        return True


def walk_scope(scope):
    """The nodes of a function, or of a file, without those of functions inside it; lambdas and comprehensions are its
    own."""
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            waiting.extend(ast.iter_child_nodes(node))
        elif isinstance(node, ast.ClassDef):
            waiting.extend(child for child in ast.iter_child_nodes(node)
                           if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)))

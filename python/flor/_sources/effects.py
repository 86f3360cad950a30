"""The variables that code may read and change, as far as names tell. When in doubt, a variable is changed: of a call that
these sources do not show all arguments are, and the object that it is a method of.

A variable is (scope, name): the scope is a function, or the file of a global. An attribute of `self`, or of an object
that has no name, is ("attribute", name)."""

import ast
import builtins

from .names import dotted, mentioned

ATTRIBUTE = "attribute"
UNKNOWN = ("unknown", "")

# Libraries whose functions leave their arguments alone, but for those below; what they keep themselves are generators.
_QUIET_LIBRARIES = {"torch", "numpy", "math", "random", "time", "itertools", "collections", "functools", "statistics",
                    "copy", "datetime", "json", "os", "sys", "tqdm", "sklearn", "scipy", "torchvision", "torchmetrics",
                    "flor", "logging", "pathlib", "typing", "string", "re", "warnings", "operator"}
_WRITERS = {"shuffle", "copyto", "put", "putmask", "place", "fill_diagonal", "heappush", "heappop", "setattr", "next",
            "delattr", "exec", "eval", "backward", "to_", "seed", "insort"}
_QUIET_BUILTINS = (set(dir(builtins)) - {"setattr", "delattr", "next", "exec", "eval", "iter", "map", "filter", "zip"}) | {
    "map", "filter", "zip"}
# Methods of tensors, arrays, texts and containers that leave their object alone.
_QUIET_METHODS = {
    "item", "detach", "cpu", "cuda", "numpy", "clone", "mean", "sum", "argmax", "argmin", "max", "min", "size", "dim",
    "float", "double", "half", "long", "int", "bool", "view", "reshape", "flatten", "squeeze", "unsqueeze", "permute",
    "transpose", "t", "to", "type", "norm", "std", "var", "abs", "exp", "log", "sqrt", "pow", "eq", "ne", "lt", "gt",
    "le", "ge", "all", "any", "tolist", "keys", "values", "items", "get", "copy", "format", "join", "split", "strip",
    "lower", "upper", "startswith", "endswith", "astype", "numel", "nelement", "matmul", "mm", "bmm", "dot", "softmax",
    "log_softmax", "sigmoid", "tanh", "relu", "topk", "sort", "argsort", "cumsum", "expand", "repeat", "chunk", "gather",
    "index_select", "masked_select", "contiguous", "backward", "isnan", "isinf", "count", "index", "parameters", "named_parameters",
    "state_dict", "buffers", "named_buffers", "children", "modules", "named_modules", "get_last_lr", "cpu", "add", "sub",
    "mul", "div", "shape", "ndim", "element_size", "data_ptr", "stride", "is_contiguous", "bfloat16", "round", "clamp"}
_QUIET_METHODS -= {"sort", "add"}  # of lists and sets they change the object
_IMMUTABLE_MAKERS = {"int", "float", "str", "bool", "len", "range", "tuple", "abs", "round", "min", "max", "sum"}
_STATELESS = {"ReLU", "Softmax", "LogSoftmax", "Sigmoid", "Tanh", "Flatten", "Identity", "GELU", "Dropout"}


class Program:
    """All sources of the program, as they are now."""

    def __init__(self, sources):
        self.sources = sources
        self.functions, self.owners, self.classes = {}, {}, {}
        self.calls = {}  # by name: (source, call)
        self.values = set()  # names of functions that are handed on
        self.computes_names = False
        self.known = {}
        for source in sources:
            for node in ast.walk(source.tree):
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    self.functions.setdefault(node.name, []).append((source, node))
                    self.owners[node] = source
                elif isinstance(node, ast.ClassDef):
                    self.classes[node.name] = (source, node)
                elif isinstance(node, ast.Call):
                    self.note_call(source, node)
        for source in sources:
            self.note_values(source)

    def note_call(self, source, node):
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", None)
        if name:
            self.calls.setdefault(name, []).append((source, node))
        if isinstance(node.func, ast.Name) and (name in ("eval", "exec", "globals", "locals", "vars") or (
                name == "getattr" and len(node.args) > 1 and not isinstance(node.args[1], ast.Constant))):
            self.computes_names = True

    def note_values(self, source):
        for node in ast.walk(source.tree):
            name = node.id if isinstance(node, ast.Name) else getattr(node, "attr", None)
            if name in self.functions and isinstance(getattr(node, "ctx", None), ast.Load):
                parent = source.parents[node]
                if not (isinstance(parent, ast.Call) and parent.func is node):
                    self.values.add(name)

    def is_anywhere(self, source, function):
        """It may be called without a mention of its name."""
        owner = source.class_of(function)
        if function.name in ("__init__", "__new__", "__post_init__") and not self.computes_names:
            return False  # code that makes an object mentions its class
        quiet = {"staticmethod", "classmethod", "no_grad", "inference_mode", "enable_grad", "lru_cache", "cache"}
        decorated = any((dotted(one.func if isinstance(one, ast.Call) else one) or "?").rpartition(".")[2] not in quiet
                        for one in function.decorator_list)
        is_override = owner is not None and any(dotted(base) != "object" for base in owner.bases)
        is_inner = source.scope_of(source.parents[function]) is not source.tree if function in source.parents else False
        return (self.computes_names or decorated or is_override or function.name in self.values
                or function.name.startswith("__") or (is_inner and function.name in self.values))

    def reached(self, nodes):
        """The functions that the nodes may call, by the names they mention, through others."""
        found, waiting = {}, list(mentioned(nodes))
        seen = set()
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            for source, function in self.functions.get(name, ()):
                if function not in found:
                    found[function] = source
                    waiting.extend(mentioned([function]))
            for source in self.sources:  # a class is called: what makes its objects is
                for node in source.tree.body:
                    if isinstance(node, ast.ClassDef) and node.name == name:
                        for method in node.body:
                            if isinstance(method, ast.FunctionDef) and method.name.startswith("__"):
                                found[method] = source
        return found

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
                elif isinstance(node, ast.ExceptHandler) and node.name:
                    found.add(node.name)
            self.known[key] = found - outer
        return self.known[key]

    def variable(self, source, node, name):
        """The variable that a name means at a node; None for what a library or Python itself has of that name."""
        scope = source.scope_of(node)
        while scope is not source.tree:
            if name in self.locals_of(source, scope):
                return (scope, name)
            scope = source.scope_of(source.parents[scope])
        if name in self.locals_of(source, source.tree):
            if name in source.imported:
                return self.imported_variable(source, name)
            if any(isinstance(top, (ast.FunctionDef, ast.ClassDef)) and top.name == name for top in source.tree.body):
                return None
            return (source.path, name)
        return None

    def imported_variable(self, source, name):
        """A global of another file of the program."""
        full = source.imported[name].lstrip(".")
        module, _, own = full.rpartition(".")
        for other in self.sources:
            stem = other.path[:-3].replace("/__init__", "").replace("/", ".")
            if module and (stem == module or stem.endswith("." + module)) and own in self.locals_of(other, other.tree):
                if any(getattr(top, "name", None) == own for top in other.tree.body):
                    return None
                return (other.path, own)
        return None

    def source_of(self, variable):
        scope = variable[0]
        if isinstance(scope, ast.AST):
            return self.owners[scope], scope
        for source in self.sources:
            if source.path == scope:
                return source, source.tree
        return None, None

    def assignments(self, variable):
        """All expressions that the variable may be bound to, or that its values come from."""
        key = ("assigned", variable)
        if key not in self.known:
            self.known[key] = []
            source, scope = self.source_of(variable)
            if source is not None:
                self.known[key] = list(self.find_assignments(source, scope, variable))
        return self.known[key]

    def find_assignments(self, source, scope, variable):
        name = variable[1]
        nodes = walk_scope(scope) if isinstance(variable[0], ast.AST) else ast.walk(source.tree)
        for node in nodes:
            if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr)) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if any(self.binds(source, target, variable) for target in targets):
                    yield node.value
            elif isinstance(node, (ast.For, ast.AsyncFor)) and self.binds(source, node.target, variable):
                yield node.iter
            elif isinstance(node, ast.withitem) and node.optional_vars is not None:
                if self.binds(source, node.optional_vars, variable):
                    yield node.context_expr
        if isinstance(variable[0], ast.AST):
            yield from self.given(variable[0], name)

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
        owner = self.owners[function].class_of(function)
        is_method = owner is not None
        called = owner.name if is_method and function.name in ("__init__", "__new__", "__call__") else function.name
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

    def attribute_values(self, name):
        """The expressions that an attribute of that name may be assigned, of any object."""
        key = ("attribute values", name)
        if key not in self.known:
            self.known[key] = []
            for source in self.sources:
                for node in ast.walk(source.tree):
                    if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and node.value is not None:
                        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                        if any(isinstance(part, ast.Attribute) and part.attr == name for target in targets
                               for part in ast.walk(target)):
                            self.known[key].append((source, node.value))
        return self.known[key]

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
        if isinstance(node, (ast.Constant, ast.JoinedStr, ast.Compare)):
            return True
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
            if isinstance(node.func, ast.Attribute) and node.func.attr == "item":
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
        if key not in self.known:
            self.known[key] = True  # of a variable that is assigned from itself, what else it is assigned decides
            source, _ = self.source_of(variable)
            values = self.assignments(variable)
            self.known[key] = bool(values) and source is not None and all(
                self.is_immutable(self.source_holding(value) or source, value, depth + 1) for value in values)
        return self.known[key]

    def source_holding(self, node):
        for source in self.sources:
            if node in source.parents:
                return source
        return None

    def makers(self, source, node, depth=0):
        """The calls that an object may come from; None among them where that is not known."""
        if depth > 6:
            return [None]
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
            values = self.assignments(variable) if variable is not None else []
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
            own = self.classes.get(call.func.id) if isinstance(call.func, ast.Name) else None
            if own is None:
                if self.library_of(other, call.func) != "torch":
                    return None
                continue
            found = [part for part in own[1].body if getattr(part, "name", None) in ("forward", "__call__")]
            if not found:
                return None
            methods += [(own[0], method) for method in found]
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

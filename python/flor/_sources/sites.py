"""The loops of the sources, and what is registered and attached where they are executed."""

import ast

from .effects import ATTRIBUTE


class Site:
    """A flor.loop in the sources, and the statement that iterates it; None where that may be anywhere."""

    def __init__(self, source, call, statement):
        self.source, self.call, self.statement = source, call, statement
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        first = call.args[0] if call.args else given.get("name")
        count = len(call.args) + len({"name", "iterable"} & set(given))
        is_text = isinstance(first, ast.Constant) and isinstance(first.value, str)
        is_none = first is None or (isinstance(first, ast.Constant) and first.value is None)
        self.is_computed = None in given or any(isinstance(one, ast.Starred) for one in call.args) or (
            count > 1 and not is_text and not is_none)
        self.name = _safe(first.value) if is_text and first.value else "loop"

    def is_at(self, file, line):
        return self.call.lineno <= line <= (self.call.end_lineno or line)

    def holds(self, change):
        if self.statement is None:
            return True
        if change.source is not self.source:
            return False
        if change.node is not None:
            return any(part is change.node for part in ast.walk(self.statement))
        return change.owner is not None and any(part is change.owner for part in ast.walk(self.statement))


def _safe(name):
    return "".join("_" if c in "/~,@" or ord(c) < 32 else c for c in name)


def sites_of(source):
    for node in ast.walk(source.tree):
        if source.flor_call(node) == "loop":
            yield Site(source, node, _statement(source, node))


def _statement(source, node):
    """The `for` that iterates the loop; the function in which one may; None where what it yields, or the loop itself, is
    handed to code elsewhere, which is executed between its iterations."""
    holder = node
    while not isinstance(holder, (ast.stmt, ast.Module)):
        if isinstance(holder, (ast.Lambda, ast.Yield, ast.YieldFrom, ast.Await, ast.GeneratorExp)):
            return None
        holder = source.parents[holder]
    scope = source.scope_of(node)
    yields = any(isinstance(part, (ast.Yield, ast.YieldFrom, ast.Await)) for part in ast.walk(holder))
    if yields or isinstance(holder, (ast.AsyncFor, ast.Return)):
        return None
    if isinstance(holder, ast.For) and any(part is node for part in ast.walk(holder.iter)):
        return holder
    parent = node
    while not isinstance(parent, ast.stmt):
        parent = source.parents[parent]
        if isinstance(parent, ast.comprehension):
            return holder
    if scope is source.tree:
        return scope  # the loop object may be iterated anywhere in the module, or by what the module calls
    names = {part.id for part in ast.walk(holder) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    escapes = any(isinstance(part, (ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal)) or (
        isinstance(part, (ast.Attribute, ast.Subscript)) and isinstance(part.ctx, ast.Store)) for part in ast.walk(scope))
    return None if escapes or not names else scope


def place_of(node):
    return (node.lineno, node.col_offset)


class Registered:
    """The variables that flor.checkpoints registers, as far as they always hold the object that was registered."""

    def __init__(self, program, slices, sources):
        self.program, self.slices = program, slices
        drops = any(isinstance(part, ast.Attribute) and part.attr == "drop" and isinstance(part.ctx, ast.Load)
                    and not getattr(source.parents[part], "args", None) for source in sources
                    for part in ast.walk(source.tree))
        self.entries = []  # (variable, source, call, the `with` statement during which it is registered)
        for source in sources:
            for node in ast.walk(source.tree):
                if source.flor_call(node) == "checkpoints" and not drops:
                    self.note(source, node)

    def note(self, source, call):
        statement = source.statement_of(call)
        block = statement if isinstance(statement, ast.With) else None
        if self.is_conditional(source, statement):
            return
        for one in [*call.args, *(keyword.value for keyword in call.keywords)]:
            key = self.slices.key_of(source, one)
            if key is None or not self.keeps_all(source, one):
                continue
            stays = self.attribute_stays if key[0] == ATTRIBUTE else self.variable_stays
            if stays(source, statement, key):
                self.entries.append((key, source, call, block))

    def is_conditional(self, source, statement):
        node = statement
        while node in source.parents:
            parent = source.parents[node]
            if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
                return parent.name not in self.program.calls and not parent.name.startswith("__") and (
                    parent.name not in self.program.values)
            if isinstance(parent, ast.If) and "__name__" in {
                    part.id for part in ast.walk(parent.test) if isinstance(part, ast.Name)}:
                node = parent
                continue
            if isinstance(parent, (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try)) or type(parent).__name__ == "match_case":
                return True
            node = parent
        return False

    def keeps_all(self, source, node):
        """Not an object of a class of the program that says itself what of it is kept."""
        own = ("state_dict", "load_state_dict", "__getstate__", "__setstate__", "__reduce__", "__reduce_ex__")
        for maker in self.program.makers(source, node):
            name = None if maker is None else getattr(maker[1].func, "id", None)
            for one in [name] if name else []:
                for _, node in self.program.classes.get(one, ()):
                    if any(getattr(part, "name", None) in own for part in node.body):
                        return False
        return True

    def variable_stays(self, source, statement, key):
        """The variable is bound before it is registered, in the same function, and never after."""
        scope = source.scope_of(statement)
        owner, holder = self.program.source_of(key)
        if owner is None:
            return False
        binds = [part for part in ast.walk(holder) if isinstance(part, ast.Name) and part.id == key[1]
                 and isinstance(part.ctx, (ast.Store, ast.Del)) and self.program.variable(owner, part, part.id) == key]
        if not isinstance(holder, ast.Module) and any(isinstance(part, ast.arg) and part.arg == key[1]
                                                      for part in ast.walk(holder.args)):
            binds.append(holder)
        if holder is source.tree and self.program.attribute_stores(key[1]) and any(
                isinstance(target.value, ast.Name) and target.value.id in other.imported
                for other, target in self.program.attribute_stores(key[1])):
            return False
        if holder is scope:
            return all(one is holder or (owner.scope_of(one) is scope and place_of(one) < place_of(statement))
                       or self.is_within(owner, one, statement) for one in binds)
        return len(binds) == 1

    @staticmethod
    def is_within(source, node, statement):
        return source.statement_of(node) is statement

    def attribute_stays(self, source, statement, key):
        """The attribute is assigned once, by the class that registers it, of which there is one object."""
        function = source.scope_of(statement)
        owner = source.class_of(function)
        stores = self.program.attribute_stores(key[1])
        if owner is None:
            return False
        for other, target in stores:
            method = other.scope_of(target)
            if other is not source or other.class_of(method) is not owner or not self.slices.is_self(other, target.value):
                return False
            if method is function:
                if place_of(target) >= place_of(statement):
                    return False
            elif method.name != "__init__":
                return False
        if function.name == "__init__":
            return True
        made = [call for name in self.program.with_derived(owner.name) for call in self.program.calls.get(name, ())]
        return len(made) <= 1

    def at(self, site):
        """The variables that are registered while the loop is executed."""
        kept = set()
        for key, source, call, block in self.entries:
            if block is not None and (site.statement is None or not any(
                    part is site.statement for part in ast.walk(block))):
                continue
            if source is site.source and source.scope_of(call) is source.scope_of(site.call) and (
                    place_of(call) > place_of(site.call)):
                continue
            kept.add(key)
        return kept

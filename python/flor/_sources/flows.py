"""Where the values of attributes come from, and what calls and assignments put into objects."""

import ast

from .calls import _QUIET_BUILTINS, _QUIET_LIBRARIES, _QUIET_METHODS, _WRITERS
from .names import attributes_of, dotted


class Flows:
    """A part of Program."""

    def insertions(self, source):
        """By names of variables and attributes: (expression, value) where the value may become a part of the object."""
        key = ("all insertions", source)
        if key not in self.known:
            direct, calls = self.direct_insertions(source)
            self.known[key] = found = {name: list(entries) for name, entries in direct.items()}
            for name, call in calls:
                if self.inserts(name):
                    self.note_mixed(found, call)
        return self.known[key]

    def direct_insertions(self, source):
        """Those of its own statements; and the calls of functions of the program: (name, call)."""
        key = ("insertions", source)
        if key not in self.known:
            found, calls = {}, []
            self.known[key] = (found, calls)
            for node in ast.walk(source.tree):
                if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and node.value is not None:
                    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                    for target in targets:
                        for part in ast.walk(target):
                            if isinstance(part, (ast.Attribute, ast.Subscript)) and isinstance(part.ctx, ast.Store):
                                self.note_insertion(found, part.value, node.value)
                elif isinstance(node, ast.Call) and not source.flor_call(node):
                    self.note_inserting_call(source, node, found, calls)
                elif isinstance(node, ast.For):
                    for part in ast.walk(node.target):
                        if isinstance(part, (ast.Attribute, ast.Subscript)) and isinstance(part.ctx, ast.Store):
                            self.note_insertion(found, part.value, node.iter)
        return self.known[key]

    def note_inserting_call(self, source, node, found, calls):
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", None)
        library = self.library_of(source, node.func)
        if library in _QUIET_LIBRARIES and name not in _WRITERS:
            return
        quiet = (isinstance(node.func, ast.Attribute) and name in _QUIET_METHODS and name not in self.functions) or (
            isinstance(node.func, ast.Name) and name in _QUIET_BUILTINS and name not in self.functions)
        if quiet:
            return
        if name in self.functions and library is None:
            calls.append((name, node))
            return
        if library is None and self.called_methods(source, node.func) == []:
            return  # an object of torch, which keeps no argument
        self.note_mixed(found, node)

    def note_mixed(self, found, call):
        """Each argument may become a part of the others, and of the object that is called."""
        arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
        holders = list(arguments)
        if isinstance(call.func, ast.Attribute):
            holders.append(call.func.value)
        for holder in holders:
            for one in arguments:
                if one is not holder and not isinstance(one, ast.Constant):
                    self.note_insertion(found, holder, one)

    def inserts(self, name):
        """A function of that name may put an argument into another, or into its object."""
        key = ("inserts", name)
        if key not in self.known:
            functions = {**self.reached_by([ast.Name(name, ast.Load())])}
            self.known[key] = any(self.puts_into_parameters(owner, function) for function, owner in functions.items())
        return self.known[key]

    def puts_into_parameters(self, source, function):
        parameters = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
        return any(root is not None and root.id in parameters and source.scope_of(root) is function
                   for entries in self.direct_insertions(source)[0].values() for root, _ in entries)

    def note_insertion(self, found, holder, value):
        root, names = attributes_of(holder)
        if isinstance(root, ast.Name):
            found.setdefault(root.id, []).append((root, value))
        for name in names:
            found.setdefault(name, []).append((None, value))

    def attribute_values(self, name):
        """The expressions that an attribute of that name may be assigned, of any object."""
        key = ("attribute values", name)
        if key not in self.known:
            self.known[key] = found = list(self.attribute_index().get(name, ()))
            for source in self.sources:
                found += [(source, value) for one, value in self.insertions(source).get(name, ()) if one is None]
            for made in self.classes_with_field(name):
                for source, call in self.calls.get(made, ()):
                    found += [(source, one) for one in call.args]
        return self.known[key]

    def attribute_index(self):
        if "attributes" not in self.known:
            self.known["attributes"] = index = {}
            for source in self.sources:
                for node in ast.walk(source.tree):
                    if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and node.value is not None:
                        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                        in_class = isinstance(source.parents[node], ast.ClassDef)
                        names = {part.attr for target in targets for part in ast.walk(target) if isinstance(part, ast.Attribute)}
                        names |= {target.id for target in targets if in_class and isinstance(target, ast.Name)}
                        for name in names:
                            index.setdefault(name, []).append((source, node.value))
                            if len(targets) > 1:
                                index[name] += [(source, target) for target in targets]
                    elif isinstance(node, ast.Call):
                        for keyword in node.keywords:
                            if keyword.arg is not None:
                                index.setdefault(keyword.arg, []).append((source, keyword.value))
        return self.known["attributes"]

    def classes_with_field(self, name):
        """Classes of which Python itself makes the function that assigns the attribute, such as dataclasses."""
        found = set()
        for entries in self.classes.values():
            for _, node in entries:
                if any(isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name) and part.target.id == name
                       for part in node.body):
                    found |= self.with_derived(node.name)
        return found

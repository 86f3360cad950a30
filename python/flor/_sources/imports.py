"""Which files of the repository a program is made of, by its import statements."""

import ast
import os
import sys

# A source that uses one of these may import any file of the repository.
_DYNAMIC = ("importlib", "__import__", "exec", "eval", "runpy", "imp")


def modules_of(tree, package):
    """The names that import statements may mean, and whether more may be imported that no statement names."""
    names, dynamic = set(), False
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".") if package else []
                kept = parts[:len(parts) - (node.level - 1)] if node.level > 1 else parts
                base = ".".join([*kept, base] if base else kept)
            names.add(base)
            names.update(f"{base}.{alias.name}" if base else alias.name for alias in node.names)
        elif isinstance(node, ast.Name) and node.id in _DYNAMIC:
            dynamic = True
    dynamic = dynamic or any(name.partition(".")[0] in ("importlib", "runpy", "imp") for name in names)
    return names - {""}, dynamic


def _as_file(name):
    return name.replace(".", "/")


class Imports:
    """The files that one of them needs. `sources`: texts by path, relative to the root of the repository."""

    def __init__(self, sources):
        self.sources = sources
        self.by_ending = {}
        for path in sources:
            stem = path[:-3]
            if stem.endswith("/__init__"):
                stem = stem[:-len("/__init__")]
            parts = stem.split("/")
            for i in range(len(parts)):
                self.by_ending.setdefault("/".join(parts[i:]), []).append(path)

    def closure(self, start):
        """All files that the paths of `start` may import, those themselves included; everything where an import is
        computed. A module is found by the end of its path, whatever sys.path has: rather one file too many."""
        found, waiting = set(), [path for path in start if path in self.sources]
        while waiting:
            path = waiting.pop()
            if path in found:
                continue
            found.add(path)
            try:
                tree = ast.parse(self.sources[path])
            except (SyntaxError, ValueError):
                continue
            directory = os.path.dirname(path)
            names, dynamic = modules_of(tree, directory.replace("/", "."))
            if dynamic:
                return set(self.sources)
            for name in names:
                parts = name.split(".")
                for i in range(1, len(parts) + 1):  # importing a.b.c executes a and a.b, too
                    waiting.extend(self.by_ending.get("/".join(parts[:i]), ()))
        return found


def _sources_below(root):
    sources = {}
    skipped = {".git", "__pycache__", "node_modules", "build", "site-packages", ".venv", "venv"}
    for directory, below, files in os.walk(root):
        below[:] = sorted(name for name in below if name not in skipped)
        for name in sorted(files):
            if name.endswith(".py"):
                path = os.path.join(directory, name)
                try:
                    with open(path, encoding="utf-8", errors="replace") as file:
                        sources[os.path.relpath(path, root).replace(os.sep, "/")] = file.read()
                except OSError:
                    continue
    return sources


def files_of_program(script, root):
    """Absolute paths, sorted: by import statements, and all that is loaded from there."""
    sources = _sources_below(root)
    start = os.path.relpath(script, root).replace(os.sep, "/")
    found = {os.path.join(root, path) for path in Imports(sources).closure([start])}
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if path and path.endswith(".py") and os.path.abspath(path).startswith(root + os.sep):
            if "site-packages" not in path:
                found.add(os.path.abspath(path))
    return sorted(found | {script})

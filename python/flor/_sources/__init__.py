"""Which loops of a Python program a change of its sources concerns, from its syntax trees: loops whose statement changed,
loops from which changed code may be called, and loops that leave what a new log statement reads in variables that are not
kept. When in doubt, a loop is concerned."""

import ast
import os

from . import imports
from .calls import FILES, LIBRARIES
from .changes import Change, compare, has_effects
from .effects import ATTRIBUTE, UNKNOWN, Program, TooMuch
from .names import Source
from .sites import Registered, sites_of
from .slices import EVERYTHING, OBJECT, Slices, overlap


def _common_ending(a, b):
    """How many of their last components two paths have in common."""
    count = 0
    for x, y in zip(reversed(a.split("/")), reversed(b.replace(os.sep, "/").split("/"))):
        if x != y:
            break
        count += 1
    return count


class Findings:
    """The answers that a replay asks for; see runtime/sources/concerns.h."""

    def __init__(self, changed, rest, program, nested, main, complete):
        self.nested, self.main, self.complete = set(nested), set(main), complete
        self.touched, self.computation, self.looking, self.walk = [], [], [], ""
        self.why_unproven = "of Python no source proves what all code may do"
        self.failed = ""
        self.changes, self.sources = [], []
        texts = {path: now for path, _, now in changed if now is not None}
        texts.update(dict(rest))
        before = {path: old for path, old, _ in changed if old is not None}
        before.update(dict(rest))
        own = self.files_of_program(texts, before, program)
        self.starred = set()
        self.note_starred({path: text for path, text in before.items() if path in own})
        self.read([file for file in changed if file[0] in own], [file for file in rest if file[0] in own])
        self.note_newly_imported(texts, before, own)
        self.nothing_changed = not self.changes
        self.program = Program(self.sources)
        self.slices = Slices(self.program)
        self.is_too_much = False
        self.sliced = {}  # by the set of kept variables
        self.sites = [site for source in self.sources for site in sites_of(source)]
        self.registered = Registered(self.program, self.slices, self.sources)
        self.reasons = {}
        if self.changes:
            self.conclude()

    def files_of_program(self, texts, before, program):
        """The files that the program imports now, or imported then. Without a known script: all."""
        every = self.files_before = set(texts) | set(before)
        best = max((_common_ending(path, program) for path in every), default=0)
        start = [path for path in every if best and _common_ending(path, program) == best]
        if not start:
            return every
        self.files_before = imports.Imports(before).closure(start)
        return imports.Imports(texts).closure(start) | self.files_before

    def read(self, changed, rest):
        for path, before, now in changed:
            try:
                self.read_changed(path, before, now)
            except (SyntaxError, ValueError, RecursionError):
                # The file may be written for another version of Python.
                self.failed = f"{path} changed, and cannot be read as Python"
                change = Change(None, None, "changed", False, None)
                change.path = path
                self.changes.append(change)
        for path, text in rest:
            try:
                self.sources.append(Source(path, text))
            except (SyntaxError, ValueError, RecursionError):
                continue

    def read_changed(self, path, before, now):
        if now is None:
            change = Change(None, None, "is gone", False, None)
            change.path = path
            self.changes.append(change)
            return
        changes, source = compare(path, before or "", now, self.starred)
        self.sources.append(source)
        if before is not None:
            self.changes += changes
            return
        # A new file does nothing by itself: what imports it and calls its functions has changed, too. Only what it logs
        # counts.
        self.changes += [change for change in changes if change.looks and change.what.startswith("logs")]
        if has_effects(source.tree):
            self.changes.append(Change(source, source.tree.body[0], "is a new file that does something when it is imported",
                                       False, None))

    def note_starred(self, texts):
        """The names that files mention which import all of another one."""
        for text in texts.values():
            try:
                tree = ast.parse(text)
            except (SyntaxError, ValueError, RecursionError):
                continue
            if any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in ast.walk(tree)):
                self.starred |= {part.id for part in ast.walk(tree) if isinstance(part, ast.Name)}

    def note_newly_imported(self, texts, before, own):
        """Files that are as they were, but that the program did not execute."""
        for path in sorted(own & set(texts) & set(before)):
            if texts[path] == before[path] and path not in self.files_before:
                source = next((one for one in self.sources if one.path == path), None)
                if source is not None and has_effects(source.tree):
                    self.changes.append(Change(source, source.tree.body[0], "is imported now, and does something then",
                                               False, None))

    # Why a loop must be executed --------------------------------------------------------------------------------------

    def conclude(self):
        told = set()
        for site in self.sites:
            if site.is_computed or site.name not in self.nested or site.name in told:
                continue
            reason = self.why(site)
            if reason is not None:
                told.add(site.name)
                self.touched.append((site.name, *reason))
        for site in self.sites:
            if not site.is_computed and site.name in self.main and not self.walk:
                self.walk = self.why_from_start(site)
        self.sort_changes()

    def why(self, site):
        """(why, question) of the loop at that place, or None."""
        if site.call not in self.reasons:
            try:
                self.reasons[site.call] = self.find_why(site)
            except (TooMuch, RecursionError):
                self.is_too_much = True
                self.reasons[site.call] = (f"{self.explain(self.changes[0])}, and the sources are more than can be followed", "")
        return self.reasons[site.call]

    def find_why(self, site):
        if self.failed:
            return self.failed, ""
        if site.statement is None:
            change = self.changes[0]
            return f"{self.explain(change)}, and code that is executed in its iterations may stand anywhere", ""
        inside = [change for change in self.changes if site.holds(change) and change.what != "registers otherwise"]
        if inside:
            return self.explain(min(inside, key=lambda change: not change.what.startswith("logs"))), ""
        reached = self.program.reached([site.statement])
        for change in self.changes:
            if change.what != "registers otherwise" and self.may_execute(site, reached, change):
                return self.explain(change, label=True), ""
        if not self.complete:
            return "not all sources of the program could be read", ""
        return self.why_read(site)

    def may_execute(self, site, reached, change):
        """The loop may call the changed function, or import the changed file."""
        if change.function is not None:
            return change.function in reached
        return change.source is not None and change.source is not site.source and self.program.is_imported_late(change.source)

    def why_read(self, site):
        kept = self.kept_by(site, self.attached(site) | self.attached_to_main(site))
        found = self.first_read(site, kept, [change for change in self.questions() if not site.holds(change)])
        if found is None:
            return None
        change, variable = found
        return (f"{self.explain(change)}{self.left(variable)} that the loop may leave behind and that is not registered",
                self.question_of(change))

    def why_from_start(self, site):
        """A question uses what earlier epochs leave in variables that are not kept."""
        if site.statement is None:
            return f"{self.explain(self.changes[0])}, and code that {site.name} executes may stand anywhere"
        found = self.first_read(site, self.kept_by(site, self.attached(site)), self.questions())
        if found is None:
            return ""
        change, variable = found
        return f"{self.explain(change)}{self.left(variable)} that {site.name} changes and that is not registered"

    def first_read(self, site, kept, questions):
        """The first question that reads what the loop may leave changed and what is not kept, and the variable. Where the
        sources are too many to be followed, the first question."""
        try:
            return self.find_read(site, kept, questions)
        except (TooMuch, RecursionError):
            self.is_too_much = True
            return (questions[0], UNKNOWN) if questions else None

    def find_read(self, site, kept, questions):
        by_name = frozenset(self.named(site))
        slices = self.sliced.setdefault((frozenset(kept), by_name), Slices(self.program, frozenset(kept), by_name))
        assigned, mutated = slices.changes(site.source, [site.statement])
        for change in questions:
            if self.program.unknown_changes or self.is_too_much:
                return change, UNKNOWN
            statement = change.source.statement_of(change.node)
            expression = None if change.node is statement else change.node
            read = slices.closure(change.source, statement, site.statement, expression)
            changed = [{key for key in keys - kept if self.outlives(key, site, change)} for keys in (assigned, mutated)]
            variable = overlap(read, *changed, slices.own_reads(change.source, change.node))
            if variable is None:
                variable = next((key[1] for key in read if key[0] == OBJECT and key[1] in by_name & (assigned | mutated)), None)
            if variable is not None:
                return change, variable
        return None

    def named(self, site):
        """Variables that are attached to the loop, or to the main loop, by their names."""
        return {self.program.variable(other.source, other.call, name)
                for other in self.sites if other is site or other.name in self.main
                for keyword in other.call.keywords if keyword.arg == "attached"
                for part in ast.walk(keyword.value) if isinstance(part, ast.Constant) and isinstance(part.value, str)
                for name in part.value.replace(",", " ").split()} - {None}

    def outlives(self, key, site, change):
        """The variable is not one of a function that has returned when the question is asked, and that leaves none of
        its variables to others. Where its object came from, or went, is among the variables by itself."""
        function = key[0]
        if not isinstance(function, ast.AST) or self.program.has_lasting_default(*key) or any(
                isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.Yield, ast.YieldFrom, ast.GeneratorExp))
                for one in function.body for part in ast.walk(one)):
            return True
        return any(part is node for node in (site.statement, change.node) for part in ast.walk(function))

    def kept_by(self, site, attached):
        """The variables whose objects are restored, and that the loop does not bind to others."""
        try:
            assigned, _ = self.slices.changes(site.source, [site.statement])
        except (TooMuch, RecursionError):
            self.is_too_much = True
            return attached
        return (self.registered.at(site) - assigned) | attached

    def questions(self):
        """New statements that only look at the computation, and read something of it."""
        return [change for change in self.changes
                if change.looks and change.node is not None and change.what != "registers otherwise"
                and not isinstance(change.node, (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom))]

    def attached(self, site):
        """The variables that are attached to the loop."""
        kept = set()
        for keyword in site.call.keywords:
            if keyword.arg == "attached":
                self.note_attached(site.source, keyword.value, site.call, kept)
        return kept - {None}

    def note_attached(self, source, node, call, kept):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for name in node.value.replace(",", " ").split():
                kept.add(self.program.variable(source, call, name))
        elif isinstance(node, (ast.List, ast.Tuple)):
            for one in node.elts:
                self.note_attached(source, one, call, kept)
        elif isinstance(node, ast.Call):
            for one in [*node.args, *(keyword.value for keyword in node.keywords)]:
                self.note_attached(source, one, call, kept)
        else:
            # The object is stored; a variable that the loop binds to another object is not.
            key = self.slices.key_of(source, node)
            if key not in self.slices.own_changes(source, [source.statement_of(call)])[0]:
                kept.add(key)

    def attached_to_main(self, site):
        kept = set()
        for other in self.sites:
            if other.name in self.main and other is not site:
                kept |= self.attached(other)
        return kept

    # Places -----------------------------------------------------------------------------------------------------------

    def sites_at(self, file, line):
        most = max((_common_ending(source.path, file) for source in self.sources), default=0)
        if most == 0:
            return []
        return [site for site in self.sites if _common_ending(site.source.path, file) == most and site.is_at(file, line)]

    def touched_at(self, file, line, name):
        if not self.changes:
            return []
        sites = self.sites_at(file, line)
        if not sites:
            return [(name, f"the loop {name} is not found in the sources, which changed", "")]
        for site in sites:
            reason = self.why(site)
            if reason is not None:
                return [(name, *reason)]
        return []

    def may_leave_function(self, file, line):
        """Whether a return in the loop may leave its function; None where the loop is not found."""
        sites = self.sites_at(file, line)
        if not sites:
            return None
        return any(site.statement is None or isinstance(part, (ast.Return, ast.Yield, ast.YieldFrom, ast.Await))
                   for site in sites for part in ast.walk(site.statement or site.call))

    # Words ------------------------------------------------------------------------------------------------------------

    def explain(self, change, label=False):
        holder = f" ({change.function.name})" if label and change.function is not None else ""
        return f"{change.where}{holder} {change.what}"

    def left(self, variable):
        if self.is_too_much:
            return ", with more sources than can be followed, so with all"
        if variable == UNKNOWN:
            return ", with values of unknown origin"
        if variable in (FILES, LIBRARIES):
            return f", with {variable[1]}"
        if variable == EVERYTHING:
            return ", with attributes of an object"
        name = f".{variable[1]}" if variable[0] == ATTRIBUTE else variable[1]
        return f", with '{name}'"

    @staticmethod
    def question_of(change):
        return change.what[len("logs "):] if change.what.startswith("logs ") else change.what

    def nested_site(self, change):
        for site in self.sites:
            if not site.is_computed and site.name in self.nested and site.holds(change):
                return site
        return None

    def sort_changes(self):
        told = set()
        for change in self.changes:
            if change.looks or change.where in told:
                continue
            told.add(change.where)
            site = self.nested_site(change)
            self.computation.append((site.name if site else "", self.explain(change), ""))
        for change in self.changes:
            if change.looks and change.where not in told and self.nested_site(change) is None:
                told.add(change.where)
                self.looking.append(self.explain(change))


def analyze(changed, rest, program, nested, main, complete):
    """`changed`: (path, text before, text now), either None where there is no file; `rest`: (path, text)."""
    return Findings(changed, rest, program, nested, main, complete)

"""Reads a store from docs/internals/format.md and docs/internals/format-codecs.md alone: without SQLite, the catalog, or code of Flor.

read_store.py HOME prints what runs/ and packs/ hold: a line for each fact, contents as digests, all of it checked. What is
damaged is named on standard error. read_files.py knows the files, read_codecs.py the codecs; this is what events mean.
"""
import heapq
import json
import pathlib
import re
import struct
import sys
from types import SimpleNamespace

from read_codecs import Block
from read_files import Packs, blocks_of, digest, events, report
from read_resume import forget_after

CHUNK = 1 << 20
BOUNDARY, LOOP_END, STEP, SAVED = range(4)
OF_THE_JOURNAL = {"event", "writer", "after_loss", "time", "items", "chunks", "packs"}


def key_of(checkpoint):
    return tuple(vars(checkpoint).values())


class Run:
    """What the journals of a run say in the end: the facts that their events leave, by what they are and their keys."""

    def __init__(self, directory):
        self.facts, self.found, self.after_loss, self.layouts = {}, {}, set(), {}
        self.packs = set()  # of this home for sure
        writers = sorted((each for each in directory.iterdir() if each.name.isdecimal()), key=lambda each: int(each.name))
        for event in heapq.merge(*map(events, writers), key=lambda event: (event.time, int(event.writer))):
            self.apply(event, self.facts)

    def apply(self, event, facts):
        if event.after_loss:
            self.after_loss.add(event.writer)
        if not facts and event.event not in ("run", "copy"):
            return None  # nothing counts before these, nor after `drop`
        match event.event:
            case "argument":
                facts["argument", event.argument.name] = event.argument
            case "input":
                said = SimpleNamespace(use=0, **vars(event.file))
                facts.setdefault(("used_file", 0, said.name, said.digest, said.source), said)
            case "output":
                said = SimpleNamespace(use=1, **vars(event.file))
                for key in [key for key in facts if key[:3] == ("used_file", 1, said.name)]:
                    del facts[key]
                facts["used_file", 1, said.name, said.digest, said.source] = said
            case "progress":
                said = event.progress
                facts.update({("main_loop", each.ordinal): each for each in said.loops})
                facts.update({("iteration", each.main_loop, each.iteration): each for each in said.iterations})
                facts.update({("execution", each.main_loop, each.iteration, each.loop): each for each in said.executions})
                facts.update({("decision", each.main_loop, each.first): each for each in said.decisions})
            case "values":
                self.log(event)
            case "found":
                self.found.setdefault(event.writer, []).append(event)
            case "parts":
                found = self.found.pop(event.writer, [])
                if event.writer in self.after_loss:
                    self.after_loss.remove(event.writer)
                    return report(f"what a replay found is lost, parts {[each.part for each in event.parts]}")
                for each in found:
                    self.log(each)
                facts.update({("part", event.replay, each.part): each for each in event.parts})
            case "checkpoint" | "object":
                layout = digest(event.items).hex()
                self.layouts[layout] = event.items
                event.layout = event.layout if event.event == "checkpoint" else layout
                self.packs |= {mark.name for mark in event.packs if not event.foreign}
                facts[(event.event, *(key_of(event.info.key) if event.event == "checkpoint" else [event.digest]))] = event
                if event.event == "checkpoint":
                    deleted = [key for key in facts if key[0] == "discarded" and key[1:5] == key_of(event.info.key)]
                    for key in [key for key in deleted if facts[key].info.digest == event.info.digest]:
                        del facts[key]
            case "discard":
                for key in self.named("checkpoint", event):
                    stored = facts.pop(key)
                    said = {"discarded_us": event.at_us, "collected_us": 0}
                    facts["discarded", *key[1:], stored.time] = SimpleNamespace(**vars(stored) | said)
            case "undiscard":
                for key in self.named("discarded", event):
                    facts.setdefault(("checkpoint", *key[1:5]), facts.pop(key))
            case "collected":
                for key in self.named("discarded", event):
                    facts[key].collected_us = event.at_us
            case "forget":
                for key in event.checkpoints:
                    facts.pop(("checkpoint", *key_of(key)), None)
            case "gaps":
                for key in [key for key in facts if key[0] == "gap"]:
                    del facts[key]
                facts.update({("gap", each.first): each for each in event.gaps})
            case "saved":
                self.save(event.saved)
            case "score" if ("saved", event.number) in facts:
                facts["saved", event.number].scores[event.metric] = event.value
            case "replay_end" if ("replay", event.replay) in facts:
                facts["replay", event.replay].result = event.result
            case "resume":
                forget_after(facts, event.resumption.point)
                facts["resumption", event.time] = event.resumption
                for key in [("end",), ("interrupt",)]:
                    facts.pop(key, None)
            case "reopen":
                facts.pop(("end",), None)
            case "origin":
                facts["run",].origin = event.origin
            case "drop":
                facts.clear()
            case "copy" | "merge":  # as a database, which is not read here
                for key in [key for key in facts if event.event == "copy" and key[0] not in ("run", "label")]:
                    del facts[key]
                facts[event.event, event.time] = SimpleNamespace(origin=event.origin, bytes=len(event.database))
            case "label":
                known = facts.get(("label", event.kind, event.name))
                if not known or (known.said_us, known.value) < (event.said_us, event.value):
                    facts["label", event.kind, event.name] = event
            case "strategy":
                facts["strategy",] = event.strategy
            case "replay":
                facts["replay", event.key] = event
            case "run" | "end" | "interrupt":
                facts[event.event,] = event
            case "launch" | "join":
                facts[event.event, event.time] = event

    def log(self, event):
        alone = (event.epoch, event.step, event.inner, event.ordinal), event.type, event.text
        for (epoch, step, inner, ordinal), kind, value in Block(event.block).values() if event.block else [alone]:
            self.facts["value", event.name, event.path, epoch, step, inner, ordinal, event.replay] = SimpleNamespace(
                name=event.name, path=event.path, epoch=epoch, step=step, inner=inner, ordinal=ordinal,
                replay=event.replay, type=kind, value=value)

    def named(self, what, event):
        """The checkpoints that the event names, and that are still those that it means."""
        names = {(key_of(each.key), each.digest) for each in event.checkpoints.names}
        return [key for key, fact in self.facts.items() if key[0] == what and (key[1:5], fact.info.digest) in names]

    def save(self, saved):
        """Replaces what has the number, the name or the place of the checkpoint."""
        def place(of):
            return *vars(of.place).values(), of.ordinal
        for each in [fact for key, fact in self.facts.items() if key[0] == "saved"]:
            if each.number == saved.number or each.name == saved.name or place(each) == place(saved):
                del self.facts["saved", each.number]
                for key in [key for key in self.facts if key[0] in ("checkpoint", "discarded") and key[4] == each.name]:
                    if key[1] == SAVED and key != ("checkpoint", *key_of(saved.key)):
                        del self.facts[key]
        self.facts["saved", saved.number] = saved

    def items(self, event, packs):
        """Name, element type, sizes and content of each item of a checkpoint or an object, all digests checked."""
        layout, chunks, result = self.layouts[event.layout], iter(event.chunks), []
        digests = [layout]
        for block in blocks_of(layout):
            length = sum(size for *_, size in block)
            contents = [packs.chunk(next(chunks), event.foreign) for _ in range(-(-length // CHUNK))]
            if None in contents:
                raise ValueError("a chunk is not found")
            content, at = b"".join(contents), 0
            digests.append(digest_of(content))
            for *item, size in block:
                result.append((*item, content[at:at + size]))
                at += size
        if digest(b"".join(digests)).hex() != (event.digest if event.event == "object" else event.info.digest):
            raise ValueError("it has another digest")
        return result


def digest_of(content):
    """The digest of an item or a slab."""
    chunks = [digest(content[at:at + CHUNK]) for at in range(0, len(content), CHUNK)]
    return chunks[0] if len(chunks) == 1 else digest(b"".join(chunks))


def read(home):
    """The runs by their keys, and the packs."""
    runs = {path.name: Run(path) for path in sorted((home / "runs").glob("??/*"))
            if re.fullmatch("[0-9a-f]{16}", path.name) and path.name[:2] == path.parent.name}
    runs = {name: run for name, run in runs.items() if run.facts or report(f"{name}: no journal says how it began")}
    return runs, Packs(home / "packs", {name for run in runs.values() for name in run.packs})


def plain(value):
    """As JSON has it; a NaN as its bits."""
    if isinstance(value, SimpleNamespace):
        return {name: plain(each) for name, each in vars(value).items() if name not in OF_THE_JOURNAL}
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {name: plain(each) for name, each in sorted(value.items())}
    return struct.pack(">d", value).hex() if value != value else value


def main():
    runs, packs = read(pathlib.Path(sys.argv[1]))
    for name, run in runs.items():
        print("run", name)
        for key, fact in sorted(run.facts.items(), key=lambda entry: entry[0]):
            print(" ", key[0], json.dumps(plain(fact), ensure_ascii=False))
            try:
                for item, element, sizes, content in run.items(fact, packs) if key[0] in ("checkpoint", "object") else []:
                    print("   ", item, element, sizes, len(content), "bytes", digest_of(content).hex())
            except (KeyError, ValueError) as damage:
                report(f"run {name}: {' '.join(map(str, key))}: {damage}")


if __name__ == "__main__":
    main()

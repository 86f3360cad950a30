"""The reader that was written from the documents says what Flor says: read_store_test.py FLOR STORES

FLOR is the command, STORES the directory of golden stores. Ends with status 77 where Python has no zstandard or no xxhash.
"""
import json
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

try:
    import read_store
    import zstandard
    from read_codecs import ELEMENTS, decode
    from read_files import EVENTS, STRUCTURES, crc64
except ModuleNotFoundError as missing:
    print(f"skipped: needs Python's {missing.name} (Debian: python3-{missing.name})")
    sys.exit(77)

FLOR, STORES = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
BOUNDARY, LOOP_END, STEP, SAVED = range(4)
KINDS = ["boundary", "loop_end", "step", "saved"]
NOT_COPIED = ("values", "found")
TYPES = ["boolean", "integer", "real", "text", "json", "tensor", "histogram", "image", "table"]
# Tables of the catalog, and what facts have of their columns.
TABLES = {
    "argument": "name type value",
    "checkpoint": "kind main_loop iteration loop raw_bytes created_us digest",
    "discarded": "kind main_loop iteration loop raw_bytes created_us digest discarded_us collected_us",
    "decision": "main_loop first last reason cost computed",
    "execution": "main_loop iteration loop iterations broke seconds",
    "gap": "first last why",
    "iteration": "main_loop iteration seconds record_seconds",
    "label": "kind name value said_us",
    "main_loop": "ordinal name first_epoch iterations ended broke",
    "resumption": "resumed_us main_loop iteration epoch boundary loop step program_digest",
    "saved": "number name main_loop iteration path epoch step inner ordinal",
    "strategy": "num_to_keep score_order tie",
    "used_file": "use name digest source kind place bytes files epoch",
    "value": "name path epoch step inner ordinal type value",
}


def flat(fact):
    """The fields of a fact and of its structures, by their names; its own before those of a structure."""
    inner = {}
    for value in vars(fact).values():
        inner |= flat(value) if hasattr(value, "__dict__") else {}
    return inner | read_store.plain(fact)


def rows_of_reader(home):
    """For each table its rows, each with the run's key before it."""
    rows = {table: [] for table in TABLES}
    for key, run in read_store.read(home)[0].items():
        for (what, *_), fact in run.facts.items():
            if what in TABLES and not (what == "value" and fact.replay):
                fields = flat(fact)
                row = [fields[column] for column in TABLES[what].split()]
                rows[what].append((key, *(int(each) if isinstance(each, bool) else each for each in row)))
    return {table: sorted(each, key=repr) for table, each in rows.items()}


def flor(home, *words):
    done = subprocess.run([FLOR, *words], env={**os.environ, "FLOR_HOME": str(home)}, capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


def ask(home, sql):
    return [tuple(row.values()) for row in json.loads(flor(home, "sql", "--json", sql))["rows"]]


def rows_of_flor(home):
    """The same from the index, which has a NaN as its bytes."""
    special = {"digest": "lower(hex(digest)) AS d", "collected_us": "coalesce(collected_us, 0) AS c",
               "value": "iif(typeof(value) = 'blob', 'NaN ' || lower(hex(value)), value) AS v"}
    rows = {}
    for table, columns in TABLES.items():
        chosen = ", ".join(special.get(each, f"{table}.{each}") for each in columns.split())
        if table == "value":
            said = ask(home, f"SELECT run, {chosen} FROM logged AS value WHERE replay = 0")
        else:
            said = ask(home, f"SELECT run.key, {chosen} FROM {table} JOIN run ON run.id = {table}.run")
        rows[table] = sorted((tuple(in_order(each) for each in row) for row in said), key=repr)
    return rows


def in_order(value):
    """The bytes of a NaN as the reader prints them, from those of the catalog."""
    return bytes.fromhex(value[4:])[::-1].hex() if str(value).startswith("NaN ") else value


def item_text(item, element, sizes, content):
    return f"  {item} {element} {sizes} {len(content)} bytes {read_store.digest_of(content).hex()}"


def golden_text(home):
    """Checkpoints and what the runs logged, in the form of expected.txt; a run's lines in any order."""
    runs, packs = read_store.read(home)
    lines = []
    for key, run in runs.items():
        for (what, *_), fact in run.facts.items():
            if what == "checkpoint":
                of = fact.info.key
                items = [item_text(*item) for item in run.items(fact, packs)]
                lines.append("\n".join([f"checkpoint {KINDS[of.kind]} main_loop {of.main_loop} iteration {of.iteration} "
                                        f"'{of.loop}' {fact.info.raw_bytes} bytes {fact.info.digest}", *items]))
            elif what == "value" and not fact.replay:
                value = fact.value if fact.type < 2 else f'"{fact.value}"'
                if fact.type == 2:
                    value = "real " + struct.pack(">d", fact.value).hex()
                lines.append(f"value {fact.name} at '{fact.path}' {fact.epoch} {fact.step} '{fact.inner}' #{fact.ordinal} "
                             f"replay 0 {TYPES[fact.type]} {value}")
                if fact.type in (5, 7):
                    [item] = run.items(run.facts["object", fact.value], packs)
                    lines[-1] += "\n" + item_text(*item)
    return sorted(lines)


def contents_of(home):
    """The digests of the items of each checkpoint."""
    runs, packs = read_store.read(home)
    return {(key, *name): [item_text(*item) for item in run.items(fact, packs)]
            for key, run in runs.items() for name, fact in run.facts.items() if name[0] == "checkpoint"}


def frames_in(data):
    """Where each frame of a sound journal begins and ends, and its kind."""
    at = 32
    while at < len(data):
        kind, length = struct.unpack_from("<4xH10xI", data, at)
        end = at + 40 + -(-length // 8) * 8
        yield at, end, kind
        at = end


def copy_of(data):
    """The copy that the document wants of a journal without pieces."""
    copied = (data[at:end] for at, end, kind in frames_in(data) if EVENTS[kind][0] not in NOT_COPIED)
    return bytes(data[:32]) + b"".join(copied)


def golden_material(width, sparse):
    """Base and chunk, as codec_golden.h makes them."""
    base, raw = b"", b""
    for i in range(70):
        upper = 0x3c00 + i % 7 * 0x80 + i * i % 97 + (0x8000 if i % 5 == 0 else 0) << 8 * width - 16
        base += upper.to_bytes(width, "little")
        raw += (0 if sparse and i % 3 == 1 else upper + (i * 37 % 251 if i % 4 else 0)).to_bytes(width, "little")
    return base + bytes(width - 1), raw + bytes(range(0xa0, 0xa0 + width - 1))


def field(number, content):
    return struct.pack("<HHI", number, 0, len(content)) + content


def encoded(kind, value):
    match kind:
        case "int" | "bool": return struct.pack("<q", value)
        case "real": return struct.pack("<d", value)
        case "text": return value.encode()
        case "digest": return bytes.fromhex(value)
        case "digests": return bytes.fromhex("".join(value))
    if kind.startswith("packed "):
        return zstandard.ZstdCompressor().compress(encoded(kind[7:], value))
    return value if kind == "bytes" else fields_in_bytes(STRUCTURES[kind], value)


def fields_in_bytes(fields, values):
    data = b""
    for number, (name, kind) in fields.items():
        value = values.get(name)
        if kind.endswith("[]"):
            inner = kind[:-2]
            data += b"".join(field(number, encoded(inner, each) if inner in STRUCTURES else field(1, encoded(inner, each)))
                             for each in value or [])
        elif value is not None:
            data += field(number, encoded(kind, value))
    return data


class Journal:
    """A journal that is written as the document says."""

    def __init__(self, home, key):
        self.key, self.path = key, home / f"runs/{key[:2]}/{key}/1/journal"
        self.identity, self.number, self.time = int(key, 16), 0, 10**15
        header = b"FLORFRMS" + struct.pack("<IIQ", 2, 32, self.identity)
        self.data = header + crc64(header).to_bytes(8, "little")
        self.say("writer", run=key, number=1, process=1, host="here")

    def say(self, event, **values):
        kind, fields = next((kind, fields) for kind, (name, fields) in EVENTS.items() if name == event)
        self.time += 1
        payload = fields_in_bytes(fields, {"time": self.time} | values)
        padded = payload + bytes(-len(payload) % 8)
        header = struct.pack("<4sHHQIIQ", b"FRME", kind, 0, self.number, len(payload), 0, crc64(padded))
        self.data += header + crc64(header, self.identity).to_bytes(8, "little") + padded
        self.number += 1

    def write(self):
        self.path.parent.mkdir(parents=True)
        self.path.write_bytes(self.data)


def tell_a_story(home, chance, checkpoint, layout):
    """A run of which is said what no program would, in no order, and which is resumed at any points."""
    key = f"{chance.getrandbits(64):016x}"
    journal = Journal(home, key)
    journal.say("run", key=key, start={"experiment": "story", "started_us": 10**15}, origin={"kind": 0})
    loops = ["epoch", "tune", "last"]

    def place():
        """Main loop, iteration, and the epoch where each main loop has three."""
        main_loop, iteration = chance.randrange(3), chance.randrange(4)
        return main_loop, iteration, 3 * main_loop + iteration

    def checkpoint_key(saved):
        main_loop, iteration, _ = place()
        kind = chance.randrange(3)
        loop = chance.choice(["train", "train~2", "test"])
        names = ["", chance.choice([loop, loop + "@begin"]), f"{loop}@{chance.randrange(1, 4)}", saved]
        kind = 3 if saved else kind
        return {"kind": kind, "main_loop": main_loop, "iteration": iteration, "loop": names[kind]}

    def store(of):
        journal.say("checkpoint", info=vars(checkpoint.info) | {"key": of}, layout=checkpoint.layout, items=layout,
                    chunks=checkpoint.chunks)

    for number in range(chance.randrange(20, 60)):
        main_loop, iteration, epoch = place()
        loop, step = chance.choice(["train", "train~2", "test"]), chance.randrange(4)
        path = chance.choice(["", loops[main_loop], f"{loops[main_loop]}/{loop}", f"{loops[main_loop]}/{loop}/deep"])
        match chance.randrange(10):
            case 0 | 1:
                of_value = {"epoch": epoch if path else -1, "step": step if "/" in path else -1}
                journal.say("values", name=chance.choice("ab"), path=path, text=str(number), ordinal=0, type=3, **of_value)
            case 2:
                journal.say("progress", progress={
                    "loops": [{"ordinal": main_loop, "name": loops[main_loop], "first_epoch": 3 * main_loop,
                               "iterations": iteration, "ended": chance.randrange(2)}],
                    "iterations": [{"main_loop": main_loop, "iteration": iteration, "seconds": 0.5}],
                    "executions": [{"main_loop": main_loop, "iteration": iteration, "loop": loop, "iterations": step}],
                    "decisions": [{"main_loop": main_loop, "first": iteration, "last": iteration + step, "reason": 4}]})
            case 3 | 4:
                store(checkpoint_key(""))
            case 5:
                of = checkpoint_key(chance.choice(["s1", "s2", "s3"]))
                store(of)
                journal.say("saved", saved={"number": chance.randrange(1, 4), "name": of["loop"], "key": of,
                                            "place": {"path": path, "epoch": epoch, "step": step}, "ordinal": number % 2})
            case 6:
                names = {"names": [{"key": checkpoint_key(""), "digest": checkpoint.info.digest} for _ in range(6)]}
                journal.say(chance.choice(["discard", "discard", "undiscard", "collected"]), at_us=number, checkpoints=names)
                journal.say("gaps", gaps=[{"first": epoch, "last": epoch + step, "why": "full"}])
            case 8:
                journal.say("label", said_us=chance.randrange(4), kind=chance.randrange(2), name=chance.choice(["", "x"]),
                            value=chance.choice(["", "1", "2"]))
            case 9:
                file = {"kind": chance.randrange(3), "name": chance.choice("ab"), "place": "/x", "bytes": number, "files": 1,
                        "digest": chance.choice("12") * 32, "epoch": chance.choice([-1, epoch]),
                        "source": chance.choice(["", "0123456789abcdef"])}
                journal.say(chance.choice(["input", "output"]), file=file)
            case 7 if chance.randrange(3) == 0:
                point = {"main_loop": main_loop, "iteration": iteration, "epoch": epoch, "boundary": 1}
                if chance.randrange(2):
                    point |= {"loop": loop, "step": step, "kept": [each for each in ["train", "test"] if each != loop]}
                elif chance.randrange(3) == 0:
                    point |= {"iteration": 0, "epoch": 3 * main_loop, "boundary": None}
                journal.say("resume", resumption={"resumed_us": number, "point": point, "program_digest": "00"})
    journal.write()


def reference_of(key, run, checkpoint):
    """How users name it; not what was stored before the first epoch."""
    if checkpoint.kind == SAVED:
        return [f"{key}@{checkpoint.loop}"]
    loop = run.facts.get(("main_loop", checkpoint.main_loop))
    epoch = (loop.first_epoch if loop else 0) + checkpoint.iteration - (checkpoint.kind == BOUNDARY)
    of_loop = ["--loop", checkpoint.loop] if checkpoint.kind == LOOP_END else []
    return [f"{key}@{epoch}", *of_loop] if epoch >= 0 else None


class ReadStoreTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="flor-read-store-"))
        self.addCleanup(shutil.rmtree, self.place)
        self.home = self.place / "home"
        shutil.copytree(STORES / "format-2", self.home)

    def expect_same(self):
        """Facts, and each checkpoint that has a name for users, exported by Flor, bit for bit."""
        self.assertEqual(rows_of_reader(self.home), rows_of_flor(self.home))
        runs, packs = read_store.read(self.home)
        exported = 0
        for key, run in runs.items():
            for (what, *_), fact in run.facts.items():
                reference = reference_of(key, run, fact.info.key) if what == "checkpoint" else None
                if reference:
                    read = {item: content for item, *_, content in run.items(fact, packs)}
                    written = self.export(*reference)
                    differ = [name for name in read | written if read.get(name) != written.get(name)]
                    self.assertEqual(differ, [], reference)
                    exported += 1
        self.assertGreater(exported, 20)

    def export(self, *words):
        file = self.place / "state.safetensors"
        flor(self.home, "export", words[0], file, *words[1:])
        data = file.read_bytes()
        start = 8 + int.from_bytes(data[:8], "little")
        header = json.loads(data[8:start])
        others = {name.removeprefix("flor.bytes/"): bytes.fromhex(each)
                  for name, each in header.pop("__metadata__").items() if name.startswith("flor.bytes/")}
        return others | {name: data[slice(*(start + at for at in of["data_offsets"]))] for name, of in header.items()}

    def test_the_golden_store_holds_what_expected_txt_says(self):
        text = (STORES / "format-2/expected.txt").read_text()
        said = re.findall(r"^(?:checkpoint|value) .*(?:\n  .*(?<!'))*", text, re.M)
        self.assertGreater(len(said), 40)
        self.assertEqual(golden_text(self.home), sorted(each for each in said if "replay 0 " in each or each[0] == "c"))

    def test_without_a_catalog_it_says_what_flor_says(self):
        (self.home / "catalog.db").unlink()
        self.expect_same()

    def journals(self):
        return sorted(self.home.glob("runs/*/*/*/journal"))

    def printed(self):
        reader = pathlib.Path(read_store.__file__)
        done = subprocess.run([sys.executable, reader, self.home], capture_output=True, text=True, check=True)
        return done.stdout, done.stderr

    def test_a_pack_that_is_gone_costs_its_contents_alone(self):
        before, damage = self.printed()
        self.assertEqual(damage, "")
        pack = max(self.home.glob("packs/*/*.pack"), key=lambda each: each.stat().st_size)
        pack.unlink()
        after, damage = self.printed()
        self.assertIn("checkpoint 0 0 1 : a chunk is not found", damage)
        facts = [[line for line in text.splitlines() if line[:4] != "    "] for text in (before, after)]
        self.assertEqual(*facts)
        self.assertLess(len(after), len(before))

    def test_records_that_were_moved_and_encoded_anew_are_found(self):
        before = contents_of(self.home)
        flor(self.home, "keep", "linear", "--last", "1")
        flor(self.home, "gc", "--compact")
        flor(self.home, "archive", "chain", "--depth", "64")
        flor(self.home, "gc", "--compact")
        packs = read_store.read(self.home)[1]
        self.assertGreater(max(record.depth for each in packs.records.values() for record in each), 5)
        self.assertLess(contents_of(self.home).items(), before.items())
        self.expect_same()

    def test_a_copy_that_flor_writes_is_what_the_document_says(self):
        flor(self.home, "keep", "linear", "--last", "1")
        copies = sorted(self.home.glob("runs/*/*/*/journal.copy"))
        self.assertGreater(len(copies), 0)
        for copy in copies:
            self.assertEqual(copy.read_bytes(), copy_of(copy.with_name("journal").read_bytes()))

    def test_a_damaged_journal_is_read_from_its_copy(self):
        rows, (printed, _) = rows_of_reader(self.home), self.printed()
        for journal in self.journals():
            data = bytearray(journal.read_bytes())
            journal.with_name("journal.copy").write_bytes(copy_of(data))
            for at, end, kind in frames_in(data):
                if EVENTS[kind][0] not in NOT_COPIED:
                    data[at + 36:at + 44] = os.urandom(8)
            journal.write_bytes(data)
        self.assertEqual((rows_of_reader(self.home), self.printed()[0]), (rows, printed))
        (self.home / "catalog.db").unlink()
        self.assertEqual(rows_of_reader(self.home), rows_of_flor(self.home))

    def test_a_journal_that_is_gone_costs_its_values(self):
        rows = rows_of_reader(self.home)
        for journal in self.journals():
            journal.with_name("journal.copy").write_bytes(copy_of(journal.read_bytes()))
            journal.unlink()
        self.assertEqual(rows_of_reader(self.home), rows | {"value": []})
        (self.home / "catalog.db").unlink()
        self.assertEqual(rows_of_reader(self.home), rows_of_flor(self.home))

    def test_what_is_damaged_without_a_copy_is_lost(self):
        rows = rows_of_reader(self.home)
        for journal in self.journals():
            data = bytearray(journal.read_bytes())
            number = 1 if journal == self.journals()[0] else -2  # of one run the event `run`
            at, end, _ = list(frames_in(data))[number]
            data[end - 12:end - 8] = bytes(each ^ 255 for each in data[end - 12:end - 8])
            journal.write_bytes(data)
        (self.home / "catalog.db").unlink()
        self.assertEqual(len(read_store.read(self.home)[0]), len(self.journals()) - 1)
        self.assertNotEqual(rows_of_reader(self.home), rows)
        self.assertEqual(rows_of_reader(self.home), rows_of_flor(self.home))

    def test_payloads_of_every_codec_are_decoded(self):
        header = (STORES.parent / "codec_golden.h").read_text()
        golden = re.findall(r"\{store::ElementType::(\w+), (\d), (true|false),\s+((?:\"[0-9a-f]+\"\s*)+)\}", header)
        self.assertEqual({codec for _, codec, *_ in golden}, set("245678"))
        for element, codec, sparse, payload in golden:
            base, raw = golden_material({"bf16": 2, "f32": 4, "f64": 8}[element], sparse == "true")
            payload = bytes.fromhex("".join(re.findall("[0-9a-f]+", payload)))
            self.assertEqual(decode(int(codec), element, payload, base, len(raw)), raw, (element, codec))
        # The examples of the document, and what needs none.
        words, base = struct.pack("<4I", 0x3f800000, 0x3f800001, 0x3f7fffff, 0x3f800005), struct.pack("<I", 0x3f800000) * 4
        for codec, payload, of_payload in [(2, "000003 0100 0100 017f", struct.pack("<2I", 0x3f800000, 0xbf800001)),
                                           (4, "01000000 04 0000020104", words), (5, "01000000 04 007f818083", words),
                                           (0, words.hex(), words), (1, "0000803f", base + base[:3]), (3, "", base)]:
            self.assertEqual(decode(codec, "f32", bytes.fromhex(payload), base, len(of_payload)), of_payload, codec)

    def test_the_table_of_chunks_is_what_the_headers_of_records_say(self):
        catalog = (self.home / "catalog.db").read_bytes()
        self.assertEqual((catalog[60:64], catalog[68:72]), (bytes([0, 0, 0, 2]), b"FLOR"))  # user_version, application_id
        records = [each for of_chunk in read_store.read(self.home)[1].records.values() for each in of_chunk]
        headers = [(each.digest, each.pack, each.offset, each.raw_bytes, len(each.payload), each.codec,
                    ELEMENTS.index(each.type), each.depth, each.base if each.is_difference else "") for each in records]
        columns = "name offset raw_bytes stored_bytes codec type depth".replace(" ", ", chunk.")
        table = (f"SELECT lower(hex(chunk.digest)) AS a, {columns}, lower(hex(base.digest)) AS b FROM chunk "
                 "JOIN pack ON pack.id = chunk.pack LEFT JOIN chunk AS base ON base.id = chunk.base")
        self.assertEqual(sorted(headers), sorted(ask(self.home, table)))
        (self.home / "catalog.db").unlink()
        self.assertEqual(sorted(headers), sorted(ask(self.home, table)))

    def test_what_a_replay_found_takes_effect_with_its_parts_and_whole(self):
        journal = Journal(self.home, "00000000000000aa")
        journal.say("run", key="00000000000000aa", start={"experiment": "story"}, origin={"kind": 0})
        journal.say("progress", progress={"loops": [{"ordinal": 0, "name": "epoch", "iterations": 3}]})
        journal.say("replay", key="00000000000000bb", start={"last_epoch": 2})
        for epoch in range(3):
            for name in "xy":
                journal.say("found", name=name, path="epoch", replay="00000000000000bb", text=f"{name}{epoch}", type=3,
                            epoch=epoch, step=-1, ordinal=0)
            if epoch < 2:
                result = {"verdict": 1, "values_found": 2}
                journal.say("parts", replay="00000000000000bb", parts=[{"part": epoch, "found": 1, "result": result}])
        journal.write()
        for found in (["x0", "x1", "y0", "y1"], ["x0", "y0"]):
            (self.home / "catalog.db").unlink()
            facts = read_store.read(self.home)[0][journal.key].facts
            read = [fact.value for name, fact in facts.items() if name[0] == "value"]
            said = ask(self.home, f"SELECT value FROM logged WHERE run = '{journal.key}' AND replay > 0")
            self.assertEqual((sorted(read), sorted(each for each, in said)), (found, found))
            data = bytearray(journal.data)
            data[data.index(b"y1") - 1] ^= 255
            data[data.index(b"y1")] ^= 255
            journal.path.write_bytes(data)

    def test_a_resume_forgets_what_the_document_says(self):
        runs, _ = read_store.read(self.home)
        checkpoint = next(fact for name, fact in runs["83094b762a27ed3e"].facts.items() if name[0] == "checkpoint")
        layout = runs["83094b762a27ed3e"].layouts[checkpoint.layout]
        for seed in range(120):
            tell_a_story(self.home, random.Random(seed), checkpoint, layout)
        (self.home / "catalog.db").unlink()
        self.assertEqual(rows_of_reader(self.home), rows_of_flor(self.home))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])

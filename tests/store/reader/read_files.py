"""The files of a store, as docs/internals/format.md describes them: framed files, events in their fields, packs, layouts.

The fields of events and structures are read from the tables of the document; they have its names here.
"""
import functools
import pathlib
import re
import struct
import sys
from types import SimpleNamespace

import xxhash
import zstandard
from read_codecs import ELEMENTS, Bytes, decode

DOCUMENT = (pathlib.Path(__file__).parents[3] / "docs/internals/format.md").read_text()
CRC = functools.reduce(lambda crc, _: [c >> 1 ^ (c & 1) * 0xC96C5795D7870F42 for c in crc], range(8), range(256))


def report(message):
    print("read_store:", message, file=sys.stderr)


def crc64(data, before=0):
    return ~functools.reduce(lambda crc, byte: CRC[(crc ^ byte) & 255] ^ crc >> 8, data, ~before % 2**64) % 2**64


def digest(data):
    return xxhash.xxh3_128(data).digest()


def frames(path):
    """The id of a framed file, and (kind, payload) by number."""
    data, found, at = path.read_bytes() if path.is_file() else b"", {}, 32
    if data[:16] != b"FLORFRMS" + struct.pack("<II", 2, 32) or crc64(data[:24]) != int.from_bytes(data[24:32], "little"):
        return None, {}
    identity = int.from_bytes(data[16:24], "little")
    while at + 40 <= len(data):
        magic, kind, number, length, checksum, own = struct.unpack_from("<4sHxxQI4xQQ", data, at)
        end = at + 40 + -(-length // 8) * 8
        if magic == b"FRME" and crc64(data[at:at + 32], identity) == own and number > max(found, default=-1) \
                and end <= len(data) and crc64(data[at + 40:end]) == checksum:
            found[number], at = (kind, data[at + 40:at + 40 + length]), end
        else:
            at += 8
    return identity, found


def journal_in(writer):
    names = {path.name for path in writer.iterdir()}
    return writer / ("sealed" if "sealed" in names or names and names <= {"sealed.copy"} else "journal")


def events(writer):
    """What the journal of a writer says, with the frames that it lost and its copy has."""
    path = journal_in(writer)
    (identity, journal), (copied, copy) = frames(path), frames(path.with_name(path.name + ".copy"))
    if copied is not None and identity in (None, copied):
        journal = copy | journal
    pieces, after_loss = b"", False
    for number in range(max(journal, default=-1) + 1):
        kind, payload = journal.get(number, (None, b""))
        pieces = pieces + payload if kind is not None else b""
        if kind is None or kind != 0 and not pieces.startswith(b"\1\0\0\0\10\0\0\0"):  # the time, in each whole event
            report(f"{path}: frame {number} is lost")
            after_loss = True
        elif kind in EVENTS:
            name, fields = EVENTS[kind]
            yield SimpleNamespace(event=name, writer=writer.name, after_loss=after_loss, **structure(fields, pieces))
            after_loss = False
        pieces = pieces if kind == 0 else b""


def fields_of(cell):
    """Names and types by number, of a cell like `2 kind, 3 main_loop: int; 5 loop: text`."""
    groups = re.findall(r"((?:\d+ \w+, )*\d+ \w+): ((?:map of |packed )?\w+(?:\[\]|\?)?)", cell)
    return {int(number): (name, kind) for names, kind in groups for number, name in re.findall(r"(\d+) (\w+)", names)}


STRUCTURES = {name: fields_of(cell) for name, cell in re.findall(r"^\| ([A-Z]\w+) \| (2 .*) \|$", DOCUMENT, re.M)}
EVENTS = {int(kind): (name, {1: ("time", "int")} | fields_of(cell))
          for kind, name, cell in re.findall(r"^\| (\d+) \| `(\w+)` \| .* \| (.*) \|$", DOCUMENT, re.M)}
EVENTS[15] = "found", EVENTS[5][1]  # "as `values`"


def raw_fields(data):
    data = Bytes(data)
    while data:
        yield data.u(4), data.take(data.u(4))


def structure(fields, data):
    """The fields by name; what is absent has its default."""
    found, result = list(raw_fields(data)), {}
    for number, (name, kind) in fields.items():
        contents = [content for each, content in found if each == number]
        if kind.endswith("[]"):
            result[name] = [value_of(kind[:-2] if kind[:-2] in STRUCTURES else kind[:-2] + "?", each) for each in contents]
        elif kind.startswith("map of "):
            entries = [dict(raw_fields(each)) for each in contents]
            result[name] = {entry[1].decode(): value_of(kind[7:], entry[2]) for entry in entries}
        else:
            result[name] = value_of(kind, contents[-1]) if contents else absent(name, kind, fields)
    return result


def absent(name, kind, fields):
    if kind == "int" and (name == "last_epoch" or name in ("epoch", "step") and ("inner", "text") in fields.values()):
        return -1
    ones = dict.fromkeys(["segments", "world", "reason", "score_order"], 1)
    return {"int": (ones | {"type": 3, "found": 3}).get(name, 0), "real": 0.0, "bool": False, "text": "", "bytes": b"",
            "digests": []}.get(kind)


def value_of(kind, data):
    if kind in STRUCTURES:
        return SimpleNamespace(**structure(STRUCTURES[kind], data))
    if kind.startswith("packed "):
        return value_of(kind[7:], zstandard.ZstdDecompressor().decompress(data, 1 << 30))
    match kind:
        case "int": return int.from_bytes(data, "little", signed=True)
        case "real": return struct.unpack("<d", data)[0]
        case "bool": return any(data)
        case "text": return data.decode()
        case "digest": return data.hex()
        case "digests": return [data[at:at + 16].hex() for at in range(0, len(data), 16)]
        case "bytes": return data
    return value_of(kind.removesuffix("?"), dict(raw_fields(data))[1])


class Packs:
    """The records of all packs, by the digests of their chunks, the one that counts first."""

    def __init__(self, directory, recorded_here):
        """recorded_here: packs that are of this home whatever becomes of their headers"""
        self.records = {}
        for path in sorted(directory.glob("*/" + "[0-9a-f]" * 16 + ".pack")):
            data, name = path.read_bytes(), path.stem
            magic, version, origin, length, number, checksum = struct.unpack_from("<8sHHIQQ", data)
            is_sound = checksum == xxhash.xxh3_64_intdigest(data[:24])
            if is_sound and (magic, version, length, f"{number:016x}") != (b"FLORPACK", 2, 32, name):
                raise ValueError(f"{path} is not a pack of this format")
            elsewhere = origin != 0 if is_sound else name not in recorded_here
            for record in records_of(data):
                found = SimpleNamespace(pack=name, elsewhere=elsewhere, **record)
                self.records.setdefault(found.digest, []).append(found)
        for records in self.records.values():
            records.sort(key=lambda record: (record.elsewhere, record.depth))

    @functools.cache
    def chunk(self, name, foreign, below=256):
        """The content of a chunk; foreign: records that came from elsewhere may have it."""
        for record in self.records.get(name, ()):
            if record.depth < below and (foreign or not record.elsewhere):
                base = self.chunk(record.base, foreign, record.depth) if record.is_difference else b""
                content = None if base is None else decode(record.codec, record.type, record.payload, base, record.raw_bytes)
                if content is not None and digest(content).hex() == name:
                    return content
        return None


def records_of(pack):
    at = 32
    while (at := pack.find(b"FREC", at)) >= 0 and at + 64 <= len(pack):
        fields = struct.unpack_from("<4x4BII16s16sQQ", pack, at)
        codec, element, flags, depth, raw, length, name, base, of_payload, of_header = fields
        payload = pack[at + 64:at + 64 + length]
        if xxhash.xxh3_64_intdigest(pack[at:at + 56]) != of_header:
            at += 1
            continue
        if xxhash.xxh3_64_intdigest(payload) == of_payload:
            yield {"offset": at, "codec": codec, "type": ELEMENTS[element], "is_difference": bool(flags & 1), "depth": depth,
                   "raw_bytes": raw, "digest": name.hex(), "base": base.hex(), "payload": payload}
        at += 64 + length


def blocks_of(layout):
    """The blocks of a layout, each a list of items: name, element type, sizes, bytes."""
    data = Bytes(layout)

    def form():
        element, rank = ELEMENTS[data.u(1)], data.u(1)
        return element, [data.u(8) for _ in range(rank)], data.u(8)

    def alike(name):
        count, of_all = data.u(4), form()
        for _ in range(count):
            shared = data.u(1)
            if shared:
                name = name[:shared - 1] + data.take(data.u(4))
            else:
                name = re.sub(rb"\d+(?=\D*$)", lambda digits: b"%d" % (int(digits[0]) + 1), name)
            yield name, *of_all

    count, has_slabs = data.u(4), False
    if count == 0xFFFFFFFF:
        count, has_slabs = data.u(4), True
    for _ in range(count):
        items = data.u(4) if has_slabs else 1
        block = [] if items > 1 else [(data.take(data.u(4)), *form())]
        while len(block) < items:
            block += alike(block[-1][0] if block else b"")
        yield [(name.decode(), *of_item) for name, *of_item in block]

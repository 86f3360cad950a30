"""Codecs, as docs/internals/format-codecs.md describes them, and blocks of values, which are made of them."""
import struct

import zstandard

ELEMENTS = "bytes bool u8 i8 i16 i32 i64 f16 bf16 f32 f64 c64 c128".split()
BOOLEAN, INTEGER, REAL = range(3)
WORDS = {"i16": 2, "i32": 4, "i64": 8, "f16": 2, "bf16": 2, "f32": 4, "f64": 8, "c64": 4, "c128": 8}
MANTISSAS = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52, "c64": 23, "c128": 52}


class Bytes:
    """Bytes that are read from the front."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def __bool__(self):
        return self.at < len(self.data)

    def take(self, size):
        self.at += size
        if self.at > len(self.data):
            raise ValueError("it ends early")
        return self.data[self.at - size:self.at]

    def u(self, size):
        return int.from_bytes(self.take(size), "little")

    def stream(self, size):
        form = self.u(1)
        if form > 2:
            raise ValueError(f"a stream has the form {form}")
        if form == 2:
            return Bytes(zstandard.ZstdDecompressor().decompress(self.take(self.u(4)), size)).take(size)
        return self.take(size) if form == 0 else self.take(1) * size


def classes(data, count, exponents):
    """The z of codecs 4 and 5: their lower bits, and how many they are."""
    stored, at = data.take(data.u(4)), 0
    for symbol, exponent in zip(data.stream(count), exponents):
        significant = symbol - exponent & 255
        below = max(significant - 1, 0)
        window = int.from_bytes(stored[at >> 3:at + below + 7 >> 3], "little") >> (at & 7)
        yield 1 << below | window & (1 << below) - 1 if significant else 0
        at += below


def decode(codec, element, payload, base, length):
    data, size, is_float = Bytes(payload), WORDS.get(element, 1), element in MANTISSAS
    count, bits = length // size, 8 * size
    mask, sign, form = 2**bits - 1, 2**(bits - 1), f"<{count}{' BH I   Q'[size]}"
    based = struct.unpack_from(form, base) if codec in (4, 5, 6, 7) else ()

    def planes():
        streams = [data.stream(len(kept)) for _ in range(size)]
        if codec == 6:
            streams[-1] = bytes(a + ((b << 1 & mask) >> bits - 8) & 255 for a, b in zip(streams[-1], based))
        return [int.from_bytes(word, "little") for word in zip(*streams)]

    def from_differences(zigzags):
        for z, b in zip(zigzags, based):
            ordered = (b ^ (mask if b & sign else sign) if is_float else b) + (z >> 1 ^ -(z & 1)) & mask
            yield ordered ^ (sign if ordered & sign else mask) if is_float else ordered

    kept = range(count)
    match codec:
        case 0: content = data.take(length)
        case 1: content = (data.take(size) * (count + 1))[:length]
        case 3: content = base
        case 2 | 6 | 8:
            if codec == 8:
                flags = data.stream(-(-count // 8))
                kept = [i for i in kept if flags[i >> 3] >> (i & 7) & 1]
            words = dict(zip(kept, (w >> 1 | (w & 1) << bits - 1 if is_float else w for w in planes())))
            content = struct.pack(form, *(words.get(i, 0) for i in range(count)))
        case 4: content = struct.pack(form, *from_differences(classes(data, count, [0] * count)))
        case 5:
            exponents = [(b << 1 & mask) >> MANTISSAS[element] + 1 for b in based]
            content = struct.pack(form, *from_differences(classes(data, count, exponents)))
        case 7: content = struct.pack(form, *from_differences(planes()))
        case _: raise ValueError(f"codec {codec} is not known")
    content += data.take(length - len(content))  # the tail
    if data:
        raise ValueError("a payload is too long")
    return content


class Block(Bytes):
    """The values of a series."""

    def varint(self):
        byte = self.u(1)
        return byte if byte < 128 else byte - 128 | self.varint() << 7

    def zigzag(self):
        number = self.varint()
        return number >> 1 ^ -(number & 1)

    def piece(self, element="bytes"):
        codec, length = self.u(1), self.u(4)
        return decode(codec, element, self.take(self.u(4)), b"", length)

    def bytes(self):
        length, content = self.u(4), b""
        while len(content) < length:
            content += self.piece()
        return Block(content)

    def integers(self):
        data, numbers = self.bytes(), [0]
        while data:
            first, difference, count = numbers[-1] + data.zigzag(), data.zigzag(), data.varint()
            numbers += [(first + i * difference + 2**63) % 2**64 - 2**63 for i in range(count)]
        return numbers[1:]

    def texts(self, count):
        data = self.bytes()
        return [data.take(length).decode() for length in [data.varint() for _ in range(count)]]

    def values(self):
        """(epoch, step, inner, ordinal), type, value"""
        count = self.u(4)
        epochs, steps, ordinals, types = (self.integers() for _ in range(4))
        inner = self.texts(count) if self.u(1) else [""] * count
        integers = iter(self.integers() if {BOOLEAN, INTEGER} & set(types) else [])
        element = ELEMENTS[self.u(1)] if REAL in types else None
        reals = struct.iter_unpack("<f" if element == "f32" else "<d", self.piece(element) if element else b"")
        others = iter(self.texts(sum(each > REAL for each in types)) if max(types) > REAL else [])
        for place, kind in zip(zip(epochs, steps, inner, ordinals), types):
            yield place, kind, next(others) if kind > REAL else next(reals)[0] if kind == REAL else next(integers)

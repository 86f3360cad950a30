"""Reads an event file with nothing but the standard library, and prints it as JSON.

Written from the descriptions of TFRecord and Protocol Buffers, not from Flor's writer: checks both
checksums of every frame, decodes the messages field by field, and unpacks the pictures.
"""
import json
import math
import struct
import sys
import zlib


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def unmask(masked):
    rotated = (masked - 0xA282EAD8) & 0xFFFFFFFF
    return ((rotated >> 17) | (rotated << 15)) & 0xFFFFFFFF


def frames(data):
    at = 0
    while at < len(data):
        head = data[at:at + 8]
        (length,) = struct.unpack("<Q", head)
        (checksum,) = struct.unpack("<I", data[at + 8:at + 12])
        assert unmask(checksum) == crc32c(head), "checksum of a length"
        payload = data[at + 12:at + 12 + length]
        assert len(payload) == length, "a frame is cut off"
        (checksum,) = struct.unpack("<I", data[at + 12 + length:at + 16 + length])
        assert unmask(checksum) == crc32c(payload), "checksum of a message"
        yield payload
        at += 16 + length


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(message):
    """(number, value): an integer, 4 or 8 bytes, or the bytes of what has a length."""
    at = 0
    while at < len(message):
        key, at = varint(message, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(message, at)
        elif kind == 1:
            value, at = message[at:at + 8], at + 8
        elif kind == 5:
            value, at = message[at:at + 4], at + 4
        elif kind == 2:
            length, at = varint(message, at)
            value, at = message[at:at + length], at + length
            assert len(value) == length
        else:
            raise AssertionError(f"wire type {kind}")
        yield key >> 3, value


def double(value):
    return struct.unpack("<d", value)[0]


def doubles(value):
    return list(struct.unpack(f"<{len(value) // 8}d", value))


def histogram(message):
    names = {1: "min", 2: "max", 3: "num", 4: "sum", 5: "sum_squares"}
    result = {}
    for number, value in fields(message):
        if number in names:
            result[names[number]] = double(value)
        else:
            result[{6: "bucket_limit", 7: "bucket"}[number]] = doubles(value)
    return result


def pixels(png):
    """Width, height, channels and the unfiltered bytes of a PNG without interlacing."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, content = 8, b""
    while at < len(png):
        (length,) = struct.unpack(">I", png[at:at + 4])
        kind, body = png[at + 4:at + 8], png[at + 8:at + 8 + length]
        (checksum,) = struct.unpack(">I", png[at + 8 + length:at + 12 + length])
        assert zlib.crc32(kind + body) == checksum, "checksum of a chunk"
        if kind == b"IHDR":
            width, height, bits, color = struct.unpack(">IIBB", body[:10])
            assert bits == 8
        content += body if kind == b"IDAT" else b""
        at += 12 + length
    channels = {0: 1, 2: 3, 6: 4}[color]
    raw, size = zlib.decompress(content), width * channels
    rows, above = [], bytes(size)
    for row in range(height):
        line = raw[row * (size + 1):(row + 1) * (size + 1)]
        assert line[0] == 2, "the filter that Flor writes"
        above = bytes((a + b) & 255 for a, b in zip(line[1:], above))
        rows.append(above)
    return {"width": width, "height": height, "channels": channels, "bytes": b"".join(rows).hex()}


def image(message):
    result = {}
    for number, value in fields(message):
        if number == 4:
            result["png"] = pixels(value)
        else:
            result[{1: "height", 2: "width", 3: "channels"}[number]] = value
    return result


def text(tensor):
    assert [value for number, value in fields(tensor) if number == 1] == [7], "not of strings"
    return [value.decode() for number, value in fields(tensor) if number == 8]


def plugin(metadata):
    data = dict(fields(dict(fields(metadata))[1]))
    return data[1].decode()


def value(message):
    result = {}
    for number, content in fields(message):
        if number == 1:
            result["tag"] = content.decode()
        elif number == 2:
            result["scalar"] = struct.unpack("<f", content)[0]
        elif number == 4:
            result["image"] = image(content)
        elif number == 5:
            result["histogram"] = histogram(content)
        elif number == 8:
            result["text"] = text(content)
        elif number == 9:
            result["plugin"] = plugin(content)
        else:
            raise AssertionError(f"field {number} of a value")
    return result


def event(message):
    result = {"step": 0}
    for number, content in fields(message):
        if number == 1:
            result["wall_time"] = double(content)
        elif number == 2:
            result["step"] = content
        elif number == 3:
            result["version"] = content.decode()
        elif number == 5:
            for inner, body in fields(content):
                assert inner == 1
                result.update(value(body))
        else:
            raise AssertionError(f"field {number} of an event")
    return result


def named(content):
    """JSON has no NaN and no infinities: their names as texts."""
    if isinstance(content, float) and not math.isfinite(content):
        return str(content)
    return content


with open(sys.argv[1], "rb") as file:
    for frame in frames(file.read()):
        print(json.dumps({key: named(content) for key, content in event(frame).items()}))

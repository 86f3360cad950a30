"""What a store of very many chunks takes, on paper.

    scale_on_paper.py [CHUNKS]

Fills a table of the index as store/src/database/schema.cpp declares it with a million chunks of the usual kind (packs
of 5,000 records, four of five chunks a difference to another), measures the bytes of a row with its indexes, and
multiplies. Prints what CHUNKS (10^8 by default) take in the index, in packs and in journals, beside their content.
"""

import os
import pathlib
import sqlite3
import sys
import tempfile

HEADER = 64  # bytes of a record's header, docs/internals/format.md
DIGEST = 16  # a checkpoint's event names each of its chunks by digest, in the journal and in its copy
NUMBER = 4  # and its row in the index by number
MEASURED = 1_000_000


def declarations():
    text = (pathlib.Path(__file__).resolve().parent.parent / "store/src/database/schema.cpp").read_text()
    begin = text.index("CREATE TABLE chunk (")
    return text[begin : text.index(";", text.index("chunk_by_base", begin)) + 1]


def rows():
    for i in range(MEASURED):
        base = i if i % 5 else None
        yield os.urandom(DIGEST), 1 + i // 5000, i % 5000 * 200_000, 1 << 20, 150_000 + i % 90_000, 3, 2, i % 5, base


def bytes_of_a_row():
    with tempfile.TemporaryDirectory() as directory:
        database = sqlite3.connect(f"{directory}/index.db")
        database.executescript("CREATE TABLE pack (id INTEGER PRIMARY KEY);" + declarations())
        database.executemany(
            "INSERT INTO chunk (digest, pack, offset, raw_bytes, stored_bytes, codec, type, depth, base)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            rows(),
        )
        database.commit()
        return os.path.getsize(f"{directory}/index.db") / MEASURED


def main():
    chunks = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**8
    row = bytes_of_a_row()
    gigabytes = lambda each: f"{each * chunks / 1e9:.1f} GB"
    print(f"a chunk's row in the index, with its keys: {row:.0f} bytes")
    print(f"{chunks:.0e} chunks, each named by one checkpoint:")
    print(f"  index, their rows             {gigabytes(row)}")
    print(f"  index, lists of checkpoints   {gigabytes(NUMBER)}")
    print(f"  packs, headers of records     {gigabytes(HEADER)}")
    print(f"  journals and their copies     {gigabytes(2 * DIGEST)}")
    for kib in (16, 64, 1024):
        print(f"  content of {kib:4} KiB a chunk     {kib * 1024 * chunks / 1e12:.1f} TB")
    print(f"chunks that an index can number: {2**32:,}; one that is made again counts from 1, those that are left")


if __name__ == "__main__":
    main()

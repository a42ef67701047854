"""Unpacks an R lazy-load database of character vectors into text files, one a vector.

usage: read_r_data.py BASE FOLDER     reads BASE.rdx and BASE.rdb, writes FOLDER/NAME.txt

BASE.rdx is a gzip file with the index: per variable the offset and length of its piece of BASE.rdb,
which is the length of the object (4 bytes), then the object, compressed.  Objects are in R's
serialization format ("R Internals", section 1.8), XDR form, version 2 or 3.
"""

import gzip
import os
import struct
import sys
import zlib

# Types of R Internals, section 1.1.1, and the special codes of the serialization format.
SYMBOL, PAIRLIST, CHARACTERS = 1, 2, 9
LOGICAL, INTEGER, STRINGS, LIST = 10, 13, 16, 19
NIL, REFERENCE = 254, 255
LATIN1 = 1 << 2  # among the general-purpose bits of a CHARACTERS item


class BadData(Exception):
    pass


class Reader:
    def __init__(self, data):
        self.data, self.at, self.symbols = data, 0, []
        if self.take(2) != b"X\n":
            raise BadData("not in R's XDR format")
        version = self.int()
        self.take(8)  # the versions of R that wrote it and that can read it
        if version == 3:
            self.take(self.int())  # native encoding
        elif version != 2:
            raise BadData(f"serialization version {version}, expected 2 or 3")

    def take(self, count):
        if count < 0 or self.at + count > len(self.data):
            raise BadData(f"ends at byte {len(self.data)}, inside an item")
        self.at += count
        return self.data[self.at - count : self.at]

    def int(self):
        return struct.unpack(">i", self.take(4))[0]

    def item(self):
        flags = self.int()
        kind, has_attributes, has_tag = flags & 0xFF, flags & 0x200, flags & 0x400
        if kind == NIL:
            return None
        if kind == CHARACTERS:
            length = self.int()
            encoding = "latin-1" if (flags >> 12) & LATIN1 else "utf-8"
            return "" if length == -1 else self.take(length).decode(encoding)
        if kind == SYMBOL:
            self.symbols.append(self.item())
            return self.symbols[-1]
        if kind == REFERENCE:
            return self.symbols[(flags >> 8) - 1]
        if kind == PAIRLIST:
            return self.pairs(has_attributes, has_tag)
        if kind in (LOGICAL, INTEGER):
            value = [self.int() for _ in range(self.length())]
        elif kind in (STRINGS, LIST):
            value = [self.item() for _ in range(self.length())]
        else:
            raise BadData(f"item of type {kind} at byte {self.at - 4} is not supported")
        names = (self.item() or {}).get("names") if has_attributes else None
        return dict(zip(names, value)) if names else value

    def length(self):
        length = self.int()
        if not 0 <= length <= len(self.data):
            raise BadData(f"a vector of {length} items")
        return length

    def pairs(self, has_attributes, has_tag):
        if has_attributes:
            self.item()
        tag = self.item() if has_tag else None
        result = {tag: self.item()}
        result.update(self.item() or {})
        return result


def read_database(base):
    with gzip.open(base + ".rdx") as file:
        index = Reader(file.read()).item()
    with open(base + ".rdb", "rb") as file:
        database = file.read()
    if not isinstance(index, dict) or index.get("compressed") != [1]:
        raise BadData("the index is no list, or its pieces are not compressed by zlib")
    for name, place in index["variables"].items():
        offset, length = place
        piece = database[offset : offset + length]
        content = zlib.decompress(piece[4:])
        if len(content) != struct.unpack(">I", piece[:4])[0]:
            raise BadData(f"{name} has {len(content)} bytes, not what its head says")
        yield name, Reader(content).item()


def main():
    base, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    for name, lines in read_database(base):
        if not name.isalnum() or not isinstance(lines, list):
            raise BadData(f"{name!r} is no character vector with a plain name")
        path = os.path.join(folder, name + ".txt")
        with open(path + ".part", "w", encoding="utf-8", newline="\n") as file:
            file.writelines(line + "\n" for line in lines)
        os.replace(path + ".part", path)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        main()
    except (
        BadData,
        OSError,
        EOFError,
        zlib.error,
        struct.error,
        UnicodeError,
        TypeError,
        ValueError,
        KeyError,
        IndexError,
    ) as error:
        sys.exit(f"read_r_data: {sys.argv[1]}: {error}")

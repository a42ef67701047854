"""scripts/read_r_data.py: a database made here comes back; damaged ones are refused."""

import gzip
import os
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

SCRIPT = os.path.join(os.path.dirname(__file__), "../../scripts/read_r_data.py")
HEAD = b"X\n" + struct.pack(">iii", 3, 0x040201, 0x030500) + struct.pack(">i", 5) + b"UTF-8"


def ints(*values):
    return struct.pack(f">{len(values)}i", *values)


def characters(text, encoding="utf-8"):
    data = text.encode(encoding)
    return ints(0x00004009 if encoding == "latin-1" else 0x00040009, len(data)) + data


def strings(items, flags=16):
    return ints(flags, len(items)) + b"".join(items)


def named_list(values, names):
    body = ints(19 | 0x200, len(values)) + b"".join(values)
    tag = ints(0x402) + ints(1) + characters("names")
    return body + tag + strings([characters(name) for name in names]) + ints(254)


def make(folder, vectors):
    database, places = b"", []
    for items in vectors.values():
        content = HEAD + strings(items)
        piece = struct.pack(">I", len(content)) + zlib.compress(content)
        places.append(ints(13, 2, len(database), len(piece)))
        database += piece
    # The second list names its attribute by reference to the first symbol.
    index = named_list(
        [named_list(places, list(vectors)), ints(19, 0), ints(10, 1, 1)],
        ["variables", "references", "compressed"],
    )
    inner_then_outer = index.rfind(ints(1) + characters("names"))
    index = (
        index[:inner_then_outer]
        + ints(0x1FF)
        + index[inner_then_outer + 4 + len(characters("names")) :]
    )
    with open(os.path.join(folder, "d.rdb"), "wb") as file:
        file.write(database)
    with gzip.open(os.path.join(folder, "d.rdx"), "wb") as file:
        file.write(HEAD + index)


def run(folder):
    return subprocess.run(
        [sys.executable, SCRIPT, os.path.join(folder, "d"), os.path.join(folder, "out")],
        capture_output=True,
        text=True,
    )


class ReadRData(unittest.TestCase):
    def test_round_trip(self):
        with tempfile.TemporaryDirectory() as folder:
            make(
                folder,
                {"one": [characters("a b"), characters("")], "two": [characters("é", "latin-1")]},
            )
            done = run(folder)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            with open(os.path.join(folder, "out", "one.txt"), "rb") as file:
                self.assertEqual(file.read(), b"a b\n\n")
            with open(os.path.join(folder, "out", "two.txt"), "rb") as file:
                self.assertEqual(file.read(), "é\n".encode())

    def test_damage_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            make(folder, {"one": [characters("text")]})
            for name in ("d.rdx", "d.rdb"):
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    good = file.read()
                for size in {0, 3, len(good) // 2, len(good) - 1}:
                    with open(path, "wb") as file:
                        file.write(good[:size])
                    done = run(folder)
                    self.assertEqual(done.returncode, 1, f"{name} cut at {size}")
                    self.assertIn("read_r_data: ", done.stderr)
                    self.assertNotIn("Traceback", done.stderr)
                with open(path, "wb") as file:
                    file.write(good)

    def test_names_stay_in_the_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            make(folder, {"../evil": [characters("text")]})
            self.assertIn("no character vector with a plain name", run(folder).stderr)


if __name__ == "__main__":
    unittest.main()

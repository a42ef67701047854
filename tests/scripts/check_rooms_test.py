"""Tests of scripts/check_rooms.py: each planted breach is found, and what is allowed passes."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import check_rooms
from rooms import Room, Source, read_table

TABLE = {
    "base": Room("base", {"base"}, "fmt"),
    "sym": Room("sym", {"sym", "base"}, ""),
    "host": Room("host", {"host", "base"}, "JSON; oneDNN, one `.cpp` each"),
}


def problems(path, *lines):
    path = pathlib.Path("src") / path
    source = Source(path, path.parts[1], ["// what it is for", *lines])
    return check_rooms.check_includes([source], TABLE) + check_rooms.check_lengths([source])


class CheckRooms(unittest.TestCase):
    def test_allowed(self):
        self.assertEqual(
            problems(
                "sym/a.cpp", '#include "base/text.h"', '#include "sym/expr.h"', "#include <vector>"
            ),
            [],
        )
        self.assertEqual(
            problems(
                "base/a.cpp", "#include <fmt/core.h>", "#include <sys/mman.h>", "#include <thread>"
            ),
            [],
        )
        self.assertEqual(
            problems("base/a_test.cpp", "#include <gtest/gtest.h>", '#include "sym/expr.h"'), []
        )

    def test_breaches(self):
        for path, line in [
            ("base/a.cpp", '#include "sym/expr.h"'),  # not in the row
            ("base/a.cpp", '#include "text.h"'),  # not from src/
            ("base/a.cpp", '#include "base/no_such_file.h"'),
            ("sym/a.cpp", "#include <fmt/core.h>"),  # library not in the row
            ("base/a.h", "#include <fmt/core.h>"),  # library in a header
            ("base/a.h", "#include <thread>"),  # slow header
            ("base/a.cpp", "#include <boost/any.hpp>"),  # unknown library
            ("base/a.cpp", "#include <gtest/gtest.h>"),  # not a test
            ("nowhere/a.cpp", "int a;"),  # no row
        ]:
            self.assertEqual(len(problems(path, line)), 1, (path, line))

    def test_lengths(self):
        long = [""] * check_rooms.MAX_LINES
        self.assertEqual(len(problems("base/a.cpp", *long)), 1)
        self.assertEqual(
            problems("base/a.cpp", "// Over 600 lines because it is one table.", *long), []
        )

    def test_one_file_a_library(self):
        files = [
            Source(pathlib.Path(f"src/host/{f}.cpp"), "host", ["#include <dnnl.hpp>"]) for f in "ab"
        ]
        self.assertEqual(check_rooms.check_single_users(files[:1], TABLE), [])
        self.assertEqual(len(check_rooms.check_single_users(files, TABLE)), 1)

    def test_real_table(self):
        table = read_table()
        self.assertIn("base", table["trainer"].uses)
        self.assertIn("trainer", table["main"].uses)
        self.assertNotIn("host", table["graph"].uses)

    def test_document_paths(self):
        table = read_table()
        for word, path in [
            ("src/sym/expr.h:3", "src/sym/expr.h"),
            ("sym/expr.h", "src/sym/expr.h"),
            ("./dev", "dev"),
            ("a/b", None),
            ("DIR/x", None),
            ("docs/none.md,", "docs/none.md"),
        ]:
            self.assertEqual(check_rooms.path_in_text(word, table), path, word)

    def test_named_tests(self):
        lines = ["// t", "TEST(Sum, IsRight) {", "TEST_P(OpTest, Results) {"]
        sources = [Source(pathlib.Path("src/ops/a_test.cpp"), "ops", lines)]
        tests = check_rooms.read_tests(sources)
        for line, missing in [
            ("| `Sum.IsRight`, `OpTest.Results/add`, golden `tiny-idle`, `tiny-yarn` |", []),
            ("| `Sum.IsWrong` |", ["test Sum.IsWrong"]),
            ("| `Sum.IsRight/add` |", ["test Sum.IsRight"]),
            ("| `OpTest.Results/no_such_op` |", ["op no_such_op"]),
            ("| golden `tiny-none` |", ["golden case tiny-none"]),
            ("| golden `tiny-idle` (x), `tiny-none` (y) |", ["golden case tiny-none"]),
            ("| `docs/numerics.md`, `size`, `u0` |", []),
        ]:
            self.assertEqual(list(check_rooms.missing_tests(line, tests)), missing, line)


if __name__ == "__main__":
    unittest.main()

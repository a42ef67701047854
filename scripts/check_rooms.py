#!/usr/bin/python3
"""Checks the structure of the sources: includes, libraries, lengths of files, names in documents.

The rules stand in src/README.md and docs/style.md.  Prints one line a breach, then a closing line;
exit 1 if any.
"""

import re
import sys
from collections import defaultdict

import rooms
from rooms import ROOT, SRC

MAX_LINES = 600
MAX_PUBLIC_HEADERS = 5
TOOLBOX = "base"  # small independent tools, one header each: the cap would only glue them together

# Include path -> the library's word in the table of src/README.md; "tests": in tests only.
LIBRARIES = [
    (r"fmt/", "fmt"),
    (r"xxhash\.h|xxh3\.h", "xxHash"),
    (r"zlib\.h", "zlib"),
    (r"zstd\.h", "zstd"),
    (r"(oneapi/)?dnnl", "oneDNN"),
    (r"(eigen3/)?Eigen/", "float64 matmul library"),
    (r"nlohmann/", "JSON"),
    (r"toml\+\+/", "toml++"),
    (r"utf8proc\.h", "utf8proc"),
    (r"pcre2\.h", "PCRE2"),
    (r"mpi\.h", "MPI"),
    (r"llvm-c/", "LLVM"),
    (r"z3|gtest/|gmock/|benchmark/", "tests"),
]
SYSTEM = (
    r"(sys|netinet|arpa)/.*|"
    r"(unistd|fcntl|dirent|signal|errno|poll|sched|pthread|termios|malloc|cpuid|immintrin|link|"
    r"dlfcn)\.h"
)
STANDARD = r"[a-z_0-9]+"
# Each costs every file that includes the header 0.25 to 0.7 s (docs/style.md).
SLOW_IN_HEADERS = {"iostream", "regex", "filesystem", "chrono", "thread"}


def library_of(name):
    """The library of an angle include, "" for the standard library and the system, or None."""
    for pattern, library in LIBRARIES:
        if re.match(pattern, name):
            return library
    return "" if re.fullmatch(f"{SYSTEM}|{STANDARD}", name) else None


def check_own_include(source, where, name, table):
    """A quoted include: a file of a room that the row allows, or of tests/support in tests."""
    room = name.split("/")[0]
    if name.startswith("tests/support/"):
        return [] if source.is_test else [f"{where}: {name} is for tests only"]
    if room not in table or not (SRC / name).is_file():
        return [f'{where}: "{name}" is no file below src/; write "room/file.h"']
    if source.is_test or room in table[source.room].uses:
        return []
    return [
        f'{where}: room {source.room} may not include "{name}"; its row in src/README.md allows '
        + (" ".join(sorted(table[source.room].uses - {source.room})) or "no other room")
    ]


def check_library_include(source, where, name, table):
    """An angle include: a library is for the .cpp files of rooms whose row names it."""
    library = library_of(name)
    if library is None:
        return [f"{where}: <{name}> belongs to no library that scripts/check_rooms.py knows"]
    if source.is_header and name in SLOW_IN_HEADERS:
        return [f"{where}: <{name}> is too slow for a header; include it in the .cpp"]
    if not library:
        return []
    if source.is_test:
        return []
    if source.is_header:
        return [f"{where}: <{name}> is a library header; no header of ours may include one"]
    if library not in table[source.room].libraries:
        return [
            f"{where}: room {source.room} may not use {library}: not in its row of src/README.md"
        ]
    return []


def check_includes(sources, table):
    problems = []
    for source in sources:
        if source.room not in table:
            problems.append(f"{source.path}: no row in src/README.md for this folder")
            continue
        for number, kind, name in source.includes():
            check = check_own_include if kind == '"' else check_library_include
            problems += check(source, f"{source.path}:{number}", name, table)
    return problems


def check_single_users(sources, table):
    """Libraries that the table gives "one `.cpp`" have one including file a room."""
    users = defaultdict(set)
    for source in sources:
        if source.is_test or source.room not in table:
            continue
        for _, kind, name in source.includes():
            library = library_of(name) if kind == "<" else ""
            if library and re.search(
                re.escape(library) + r"[^;]*, one `\.cpp`", table[source.room].libraries
            ):
                users[source.room, library].add(str(source.path))
    return [
        f"{', '.join(sorted(files))}: only one .cpp of {room} may include {library}"
        for (room, library), files in sorted(users.items())
        if len(files) > 1
    ]


def check_lengths(sources):
    """No file over the cap, unless its head comment says why (and says the number)."""
    problems = []
    for source in sources:
        head = []
        for line in source.lines:
            if not line.startswith("//"):
                break
            head.append(line)
        if len(source.lines) > MAX_LINES and f"{MAX_LINES} lines" not in " ".join(head):
            problems.append(
                f"{source.path}: {len(source.lines)} lines, the cap is {MAX_LINES}; split it, or "
                f'say in its head comment why it is over "{MAX_LINES} lines"'
            )
        if not head:
            problems.append(f"{source.path}:1: the first line must say what the file is for")
    return problems


def public_headers(sources):
    """Room -> its headers that a file of another room includes (tests do not count)."""
    public = defaultdict(set)
    for source in sources:
        if source.is_test:
            continue
        for _, kind, name in source.includes():
            room = name.split("/")[0]
            if kind == '"' and room != source.room:
                public[room].add(name)
    return public


def check_public_headers(sources):
    return [
        f"src/{room}: {len(names)} public headers (other rooms include them), "
        f"the cap is {MAX_PUBLIC_HEADERS}: " + " ".join(sorted(names))
        for room, names in sorted(public_headers(sources).items())
        if len(names) > MAX_PUBLIC_HEADERS and room != TOOLBOX
    ]


def path_in_text(token, table):
    """The path, from the root, that a word of a document names; None if it names none."""
    token = token.rstrip(".,:;)")
    token = re.sub(r"(:\d+)+$", "", token)
    if token.startswith("./"):
        token = token[2:]
    elif "/" not in token:
        return None
    if not re.fullmatch(r"[\w.*/+-]+", token) or re.search(
        r"\b[A-Z]{2,}\b", token.replace("README", "")
    ):
        return None
    first = token.split("/")[0]
    if first in table and (SRC / first).is_dir():
        return "src/" + token
    tops = {"src", "docs", "tests", "scripts", "cmake", "configs", "bench", ".ci"}
    return token if first in tops or "/" not in token else None


def check_documents(table):
    """Every path that README.md, docs/ or the README of a room names must exist."""
    problems = []
    documents = [
        ROOT / "README.md",
        *sorted((ROOT / "docs").rglob("*.md")),
        *sorted(SRC.rglob("README.md")),
    ]
    for document in documents:
        if not document.is_file():
            continue
        for number, line in enumerate(document.read_text().splitlines(), 1):
            words = [w for code in re.findall(r"`([^`]+)`", line) for w in code.split()]
            links = [link for link in re.findall(r"\]\(([^)#\s]+)", line) if "://" not in link]
            names = [path_in_text(word, table) for word in words]
            missing = [name for name in names if name and not list(ROOT.glob(name.rstrip("/")))]
            missing += [link for link in links if not (document.parent / link).exists()]
            problems += [
                f"{document.relative_to(ROOT)}:{number}: names {name}, which does not exist"
                for name in missing
            ]
    return problems


def read_tests(sources):
    """Names of all C++ tests, and of those that run once for each op."""
    pattern = re.compile(r"^TEST(_[FP])?\((\w+),\s*(\w+)\)", re.MULTILINE)
    plain, for_each_op = set(), set()
    for source in sources:
        for kind, suite, name in pattern.findall("\n".join(source.lines)):
            plain.add(f"{suite}.{name}")
            if kind == "_P" and source.room == "ops":
                for_each_op.add(f"{suite}.{name}")
    return plain, for_each_op


def missing_tests(line, tests):
    """Yields the tests and golden cases that a line of docs/cases.md names but nobody has."""
    plain, for_each_op = tests
    for name, op in re.findall(r"`([A-Z]\w*\.[A-Za-z]\w*)(?:/(\w+))?`", line):
        if name not in plain or (op and name not in for_each_op):
            yield f"test {name}"
        elif op and not (SRC / "ops" / f"{op}.cpp").is_file():
            yield f"op {op}"
    for cases in re.findall(r"golden (`[\w-]+`(?:[^`|;]*`[a-z]+-[\w-]+`)*)", line):
        for case in re.findall(r"`([\w-]+)`", cases):
            if not (ROOT / "tests/goldens" / case / "config.toml").is_file():
                yield f"golden case {case}"


def check_cases(sources):
    """Every test that docs/cases.md names must exist."""
    document, tests = ROOT / "docs/cases.md", read_tests(sources)
    return [
        f"docs/cases.md:{number}: names {missing}, which does not exist"
        for number, line in enumerate(document.read_text().splitlines(), 1)
        for missing in missing_tests(line, tests)
    ]


def main():
    table, sources = rooms.read_table(), rooms.read_sources()
    problems = (
        check_includes(sources, table)
        + check_single_users(sources, table)
        + check_lengths(sources)
        + check_public_headers(sources)
        + check_documents(table)
        + check_cases(sources)
    )
    for problem in problems:
        print(problem)
    print(f"rooms: {len(sources)} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

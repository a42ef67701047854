"""The rooms of src/: their table, their files, their includes.  Used by the other scripts."""

import pathlib
import re
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parent.parent
SRC = ROOT / "src"


@dataclass
class Room:
    name: str
    uses: set  # every room it may include, itself and everything below included
    libraries: str  # the cell of the table, as written


@dataclass
class Source:
    path: pathlib.Path  # below the root of the repository
    room: str
    lines: list

    @property
    def is_header(self):
        return self.path.suffix == ".h"

    @property
    def is_test(self):
        """Tests, fuzz targets and their helpers; they may use more than their room does."""
        return bool(re.search(r"_(test|fuzz|bench)(_\w+)?$", self.path.stem))

    def includes(self):
        """Yields (line number, quote or angle, included name)."""
        for number, line in enumerate(self.lines, 1):
            match = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
            if match:
                yield number, match[1], match[2]


def read_table():
    """Parses the table of src/README.md; a row allows what it names, and everything below that."""
    direct, libraries = {}, {}
    for line in (SRC / "README.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) != 4 or not re.fullmatch(r"`\w+`", cells[0]):
            continue
        name = cells[0].strip("`")
        direct[name] = [] if cells[2] == "-" else cells[2].split()
        libraries[name] = cells[3]
    for name, uses in direct.items():
        if uses == ["all"]:
            direct[name] = [other for other in direct if other != name]

    def below(name):
        reached = {name}
        for other in direct[name]:
            reached |= below(other)
        return reached

    return {name: Room(name, below(name), libraries[name]) for name in direct}


def read_sources():
    """Every C++ file below src/, in order of path."""
    sources = []
    for path in sorted(SRC.rglob("*")):
        if path.suffix in (".h", ".cpp") and path.is_file():
            relative = path.relative_to(ROOT)
            room = relative.parts[1] if len(relative.parts) > 2 else ""
            sources.append(Source(relative, room, path.read_text().splitlines()))
    return sources

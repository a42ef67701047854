#!/usr/bin/python3
"""Prints the size of the sources, the core against its budget, and the slowest compiles.

`lines` are all lines of .h and .cpp files without tests; `code` leaves out blanks and comments.
Exit 1 when the core is over its budget of lines.
"""

import re
import sys
from collections import Counter

import rooms
from rooms import ROOT, SRC

CORE = ("sym", "graph", "ops", "autodiff")
CORE_BUDGET = 13_800  # the aim is 6,500: docs/decisions/1-core-size.md


def print_rooms(sources):
    """Returns the lines of the core."""
    lines, code, tests = Counter(), Counter(), Counter()
    for source in sources:
        if source.is_test:
            tests[source.room] += len(source.lines)
            continue
        lines[source.room] += len(source.lines)
        code[source.room] += sum(not re.match(r"\s*(//|$)", line) for line in source.lines)
    print(f"{'room':10} {'lines':>6} {'code':>6} {'tests':>6}")
    for room in rooms.read_table():
        if lines[room] or tests[room]:
            print(f"{room:10} {lines[room]:6} {code[room]:6} {tests[room]:6}")
    print(f"{'all':10} {lines.total():6} {code.total():6} {tests.total():6}")
    core, core_code = (sum(counts[room] for room in CORE) for counts in (lines, code))
    print(
        f"\ncore ({' '.join(CORE)}): {core} lines, budget {CORE_BUDGET}; {core_code} of them code"
    )
    return core


def count_ops(sources):
    """Definitions of type OpDef in src/ops."""
    text = "\n".join("\n".join(s.lines) for s in sources if s.room == "ops" and not s.is_test)
    return len(re.findall(r"^extern const (?:graph::)?OpDef \w+\s*\{", text, re.MULTILINE))


def print_slowest_compiles():
    """The ten longest steps in the last full release build, from ninja's log."""
    log = ROOT / "build/release/.ninja_log"
    if not log.exists():
        return
    seconds = {}
    for line in log.read_text().splitlines()[1:]:
        start, end, _, output, _ = line.split("\t")
        if output.endswith(".o"):
            seconds[output] = (int(end) - int(start)) / 1000
    print("\nslowest compiles, s (a hit of ccache counts as it was)")
    for output, s in sorted(seconds.items(), key=lambda item: -item[1])[:10]:
        print(f"{s:6.1f} {output.split('.dir/')[-1].removesuffix('.o')}")


def main():
    sources = rooms.read_sources()
    core = print_rooms(sources)
    print(f"ops: {count_ops(sources)}")
    print("\nlongest files")
    for source in sorted(sources, key=lambda s: -len(s.lines))[:5]:
        print(f"{len(source.lines):6} {source.path.relative_to(SRC.relative_to(ROOT))}")
    print_slowest_compiles()
    return 1 if core > CORE_BUDGET else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
"""Runs the tests of a build folder, and ends with the line "N passed, N failed".

usage: run_tests.py BUILD_DIR [--only-programs]

First the test programs and script tests that ctest knows, then the scripts that train: golden
cases, whose table of worst errors is part of the output, repeats, and runs that are killed.  Of a
gtest program the single tests are counted.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TRAINING_SCRIPTS = ("tests/run_goldens.py", "tests/run_repeat.py", "tests/run_kills.py")


def count_tests(output):
    """(passed, failed) in the output of one program, by the closing lines of gtest or unittest."""
    ok = "\nTest Passed." in output
    gtest = {
        word: int(n)
        for word, n in re.findall(r"^\[  (PASSED|FAILED)  \] (\d+) tests?[.,]", output, re.M)
    }
    unittest = re.search(r"^Ran (\d+) tests? in .*\n\nOK", output, re.M)
    passed = gtest.get("PASSED", int(unittest[1]) if unittest else int(ok))
    # A program that crashed has no closing line: it counts as one failure.
    return passed, gtest.get("FAILED", 0) or int(not ok)


def run_programs(build):
    """Runs ctest; returns (passed, failed) in single tests."""
    status = subprocess.run(["ctest", "--test-dir", build, "--output-on-failure"]).returncode
    log = (pathlib.Path(build) / "Testing/Temporary/LastTest.log").read_text(errors="replace")
    programs = re.split(r"^\d+/\d+ Test: ", log, flags=re.MULTILINE)[1:]
    counts = [count_tests(output) for output in programs]
    passed, failed = sum(c[0] for c in counts), sum(c[1] for c in counts)
    return passed, failed or int(status != 0)


def run_script(script, program):
    """Runs a script that trains with the program; returns (passed, failed) by its closing line."""
    command = [sys.executable, ROOT / script, "--program", program]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    last = ""
    for line in process.stdout:
        print(line, end="", flush=True)
        last = line
    status = process.wait()
    counts = re.match(r"\w+: (\d+) passed, (\d+) failed", last)
    if not counts:
        return 0, 1
    return int(counts[1]), int(counts[2]) or int(status != 0)


def main(build, only_programs):
    totals = [run_programs(build)]
    if not only_programs:
        totals += [run_script(script, ROOT / build / "src/heddle") for script in TRAINING_SCRIPTS]
    passed, failed = (sum(column) for column in zip(*totals))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    arguments = [a for a in sys.argv[1:] if a != "--only-programs"]
    if len(arguments) != 1:
        sys.exit(__doc__)
    sys.exit(main(arguments[0], "--only-programs" in sys.argv))

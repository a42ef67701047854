#!/usr/bin/python3
"""Prints the rooms that differ from main and those that depend on them, in pipeline order."""

import subprocess

import rooms


def git(*arguments):
    return subprocess.run(
        ["git", "-C", rooms.ROOT, *arguments], capture_output=True, text=True
    ).stdout.split("\n")


def main():
    base = git("merge-base", "HEAD", "main")[0] or "HEAD"
    files = git("diff", "--name-only", base) + git("ls-files", "--others", "--exclude-standard")
    changed = {
        file.split("/")[1] for file in files if file.startswith("src/") and file.count("/") > 1
    }
    print(" ".join(room.name for room in rooms.read_table().values() if room.uses & changed))


if __name__ == "__main__":
    main()

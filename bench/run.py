#!/usr/bin/python3
"""Times `heddle train` on golden case debug-report against PyTorch eager, or another heddle.

Whole processes run in turn, so both sides see the same machine; ratios bind, seconds do not.
Writes minimum, median and spread of every figure to bench/results/NAME.json.  bench/README.md says
how to set up the peer.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import run_goldens  # noqa: E402

CASE = "debug-report"
# Allocators and caches settle in the first two steps of either side.
FIRST_STEP = 3
# Largest allowed ratios to PyTorch eager.
BARS = {"step_s": 1.25, "peak_rss_mib": 0.7}


def heddle_side(program, experts):
    folder = ROOT / "build/bench" / CASE
    folder.mkdir(parents=True, exist_ok=True)
    command = run_goldens.train_command(program, CASE, "f32", experts, folder)
    return {"command": command + ["--metrics.log_freq", "1"], "metrics": folder / "metrics.jsonl"}


def peer_side(peer):
    python, source = peer / "venv/bin/python", peer / "torchtitan"
    if not python.exists() or not source.is_dir():
        return None
    script = ROOT / "bench/torchtitan_peer.py"
    return {"command": [python, script, run_goldens.weights_of(CASE)], "PYTHONPATH": str(source)}


def run_once(side):
    """Runs one process; returns its figures."""
    environment = dict(os.environ, PYTHONPATH=side.get("PYTHONPATH", ""))
    command = [str(word) for word in side["command"]]
    start = time.monotonic()
    process = subprocess.Popen(
        command, cwd=run_goldens.CASES / CASE, env=environment, stdout=subprocess.PIPE, text=True
    )
    first_loss, lines = None, []
    for line in process.stdout:
        if first_loss is None and re.search(r"step\W+1\b.*loss", line):
            first_loss = time.monotonic() - start
        lines.append(line)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"bench: {' '.join(command)} failed\n{''.join(lines)}")
    if "metrics" in side:
        lines = side["metrics"].read_text().splitlines()
    steps = [json.loads(line) for line in lines]
    return {
        "step_s": statistics.median(step["step_s"] for step in steps[FIRST_STEP - 1 :]),
        "first_loss_s": first_loss,
        "peak_rss_mib": usage.ru_maxrss / 1024,
        "last_loss": steps[-1]["loss"],
    }


def summary(runs, key):
    values = [run[key] for run in runs]
    low, median, high = min(values), statistics.median(values), max(values)
    return {"min": low, "median": median, "spread": (high - low) / median}


def machine():
    cpu = pathlib.Path("/proc/cpuinfo").read_text()
    model = next(line.split(": ")[1] for line in cpu.splitlines() if line.startswith("model name"))
    return {"cpu": model, "cores": os.cpu_count(), "avx512": "avx512f" in cpu}


def compare(ours, theirs, key):
    """Ratio of minima and of medians; noise when the ranges of the two sides overlap."""
    a, b = summary(ours, key), summary(theirs, key)
    ranges = [
        (min(run[key] for run in runs), max(run[key] for run in runs)) for runs in (ours, theirs)
    ]
    overlap = ranges[0][0] <= ranges[1][1] and ranges[1][0] <= ranges[0][1]
    return {
        "ours": a,
        "theirs": b,
        "ratio_of_minima": a["min"] / b["min"],
        "ratio_of_medians": a["median"] / b["median"],
        "no_difference": overlap,
    }


def print_table(result):
    print(f"medians of {result['rounds']} rounds against {result['against']}")
    print(f"{'figure':14} {'ours':>9} {'theirs':>9} {'ratio':>7}  bar")
    for key, row in result["figures"].items():
        bar = BARS.get(key) if result["against"] == "PyTorch eager" else None
        ours, theirs, ratio = (
            row["ours"]["median"],
            row["theirs"]["median"],
            row["ratio_of_medians"],
        )
        verdict = "" if bar is None else f"{bar:.2f} {'met' if ratio <= bar else 'MISSED'}"
        noise = "no difference" if row["no_difference"] else ""
        print(f"{key:14} {ours:9.3f} {theirs:9.3f} {ratio:7.3f}  {verdict} {noise}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/src/heddle")
    parser.add_argument(
        "--peer",
        type=pathlib.Path,
        default=ROOT / ".cache/peer",
        help="holds venv/ and torchtitan/",
    )
    parser.add_argument(
        "--against", type=pathlib.Path, help="another heddle, in the place of the peer"
    )
    parser.add_argument("--experts", choices=run_goldens.EXPERTS, default="loop")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    ours = heddle_side(options.program.resolve(), options.experts)
    theirs = (
        heddle_side(options.against.resolve(), options.experts)
        if options.against
        else peer_side(options.peer)
    )
    if theirs is None:
        print(f"bench: no peer in {options.peer}; bench/README.md says how to set it up")
        return
    runs = {"ours": [], "theirs": []}
    for round_number in range(options.rounds):
        for name, side in (("ours", ours), ("theirs", theirs)):
            runs[name].append(run_once(side))
            print(f"round {round_number + 1} {name:6} {json.dumps(runs[name][-1])}", flush=True)
    commit = subprocess.run(
        ["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True
    )
    result = {
        "case": CASE,
        "experts": options.experts,
        "against": str(options.against) if options.against else "PyTorch eager",
        "commit": commit.stdout.strip(),
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine(),
        "rounds": options.rounds,
        "figures": {
            key: compare(*runs.values(), key) for key in ("step_s", "first_loss_s", "peak_rss_mib")
        },
        "runs": runs,
    }
    print_table(result)
    name = f"{CASE}-{options.experts}" + ("-against" if options.against else "")
    path = ROOT / f"bench/results/{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(f"written: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()

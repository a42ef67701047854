#!/usr/bin/python3
"""Trains with one and with two threads and compares all bits: metrics, dumps, final weights.

Without arguments: golden cases of the smallest and the largest shape.  --novels STEPS: the command
of the origin report on real text, with our config in the place of torchtitan's (./run_train.sh has
made its data); also shows the run's closing lines.  The last line is "repeat: N passed, N failed".
"""

import argparse
import json
import pathlib
import subprocess
import sys

import run_goldens
from run_goldens import CASES, ROOT

WORK = ROOT / "build/repeat"
GOLDEN_STEPS = {"debug-report": 3, "tiny-sigmoid-groups": 10}
# Times and memory may differ from run to run; nothing else may.
MAY_DIFFER = {"step_s", "memory_bytes"}
REPORT_COMMAND = (
    """train --model.name simple_fsdp.deepseek_v3 --job.config_file=./configs/debug_model.toml
--job.custom_config_module=torchtitan.experiments.simple_fsdp.job_config --compile.enable
--parallelism.data_parallel_shard_degree 1 --parallelism.tensor_parallel_degree 1
--parallelism.expert_parallel_degree 1 --training.mixed_precision_param=float32
--training.local_batch_size 1 --training.seq_len 256 --activation_checkpoint.mode none""".split()
)


def run(command, cwd):
    """Runs a command line; returns what it printed."""
    words = [str(word) for word in command]
    result = subprocess.run(words, cwd=cwd, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"repeat: {' '.join(words)}\nexit {result.returncode}\n{result.stderr[-2000:]}")
    return result.stdout


def metrics_of(folder):
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    return [{k: v for k, v in record.items() if k not in MAY_DIFFER} for record in records]


def difference(first, second):
    """What differs between two dump folders, or None."""
    for a, b in zip(metrics_of(first), metrics_of(second), strict=True):
        if a != b:
            return f"step {a['step']}: " + ", ".join(key for key in a if a[key] != b.get(key))
    for name in ("step-1.safetensors", "final.safetensors"):
        if (first / "debug" / name).read_bytes() != (second / "debug" / name).read_bytes():
            return f"debug/{name}"
    return None


def check(name, command, cwd, thread_counts):
    """Runs the command with each count of threads; returns the output, and whether bits agree."""
    folders = []
    for index, threads in enumerate(thread_counts):
        folder = WORK / f"{name}-{index}"
        output = run(command + ["--job.dump_folder", folder, "--debug.threads", threads], cwd)
        folders.append(folder)
    found = [difference(folders[0], folder) for folder in folders[1:]]
    verdict = "ok   same bits" if not any(found) else f"FAIL differs in {found}"
    print(f"{name:20} threads {thread_counts} {verdict}", flush=True)
    return output, not any(found)


def check_golden(program, case, steps):
    command = [program, "train", "--job.config_file", "config.toml", "--debug.dump_step", "1"]
    command += ["--checkpoint.initial_load_path", run_goldens.weights_of(case)]
    command += ["--training.steps", steps]
    return check(case, command, CASES / case, [1, 2])[1]


def check_novels(program, steps):
    command = [program, *REPORT_COMMAND, "--training.steps", steps, "--debug.dump_step", "1"]
    output, same = check("novels", command, ROOT, [2, 2, 1])
    print("\n".join(output.splitlines()[-3:]))
    return same


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/src/heddle")
    parser.add_argument("--novels", type=int, metavar="STEPS")
    options = parser.parse_args()
    program = options.program.resolve()
    if options.novels:
        results = [check_novels(program, options.novels)]
    else:
        results = [check_golden(program, case, steps) for case, steps in GOLDEN_STEPS.items()]
    failed = results.count(False)
    print(f"repeat: {results.count(True)} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

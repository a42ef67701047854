#!/usr/bin/python3
"""Kills training runs at random moments, starts them again, and compares with the unbroken run.

Each trial kills a 200-step run of a tiny model one to three times with SIGKILL (the last trial: two
SIGTERMs, of which the second ends the process at once), verifies the checkpoints that it left,
and lets it finish: losses, weights and moments must have the bits of the unbroken run.  The last
line is "kills: N passed, N failed".
"""

import argparse
import json
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORK = ROOT / "build/kills"
STEPS = 200
# Times and memory may differ from run to run; nothing else may.
MAY_DIFFER = {"step_s", "memory_bytes"}
CONFIG = f"""
[model]
flavor = "debugmodel"
[model.args]
dim = 16
inter_dim = 24
moe_inter_dim = 16
n_layers = 2
n_heads = 2
kv_lora_rank = 8
qk_nope_head_dim = 4
qk_rope_head_dim = 4
v_head_dim = 4
vocab_size = 512
[model.args.moe_args]
num_experts = 4
top_k = 2
[lr_scheduler]
warmup_steps = 20
[training]
dataset = "synthetic"
seq_len = 16
local_batch_size = 2
steps = {STEPS}
[debug]
threads = 1
[checkpoint]
enable = true
interval = 9
keep_latest_k = 3
last_save_model_only = false
"""


def command(program, folder, mode):
    words = [program, "train", "--job.config_file", WORK / "tiny.toml"]
    words += ["--job.dump_folder", folder, "--checkpoint.async_mode", mode]
    return [str(word) for word in words]


def finish(words):
    """Runs to the end; returns the seconds it took."""
    start = time.monotonic()
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"exit {done.returncode}: {done.stdout[-1500:]}{done.stderr[-1500:]}")
    return time.monotonic() - start


def interrupt(words, delay, kind):
    """Starts the run and ends it after `delay` seconds, unless it was faster."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(delay)
    process.send_signal(kind)
    if kind != signal.SIGKILL:
        time.sleep(0.002)
        process.send_signal(kind)
    return process.wait()


def verify(program, folder):
    """Every checkpoint that is there is whole."""
    checkpoints = folder / "checkpoint"
    if not list(checkpoints.glob("step-*[0-9]")):
        return
    done = subprocess.run([program, "convert", "verify", checkpoints], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"verify: exit {done.returncode}: {done.stdout}{done.stderr}")


def result_of(folder):
    """All that a run's numbers are: the metrics of each step, and the hashes of the last state."""
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    metrics = [{k: v for k, v in json.loads(l).items() if k not in MAY_DIFFER} for l in lines]
    manifest = json.loads((folder / f"checkpoint/step-{STEPS}/manifest.json").read_text())
    return metrics, {name: tensor["hashes"] for name, tensor in manifest["tensors"].items()}


def trial(program, number, last, duration, expected, chance):
    """One run, killed and finished; returns whether it is the unbroken one."""
    folder = WORK / f"run-{number}"
    mode = ("disabled", "async")[number % 2]
    words = command(program, folder, mode)
    kind = signal.SIGTERM if last else signal.SIGKILL
    delays = [chance.uniform(0, duration) for _ in range(chance.randint(1, 3))]
    try:
        for delay in delays:
            interrupt(words, delay, kind)
            verify(program, folder)
        finish(words)
        verify(program, folder)
        same = result_of(folder) == expected
        verdict = "ok" if same else "FAIL: not the numbers of the unbroken run"
    except RuntimeError as error:
        same, verdict = False, f"FAIL: {error}"
    ends = ", ".join(f"{delay:.2f}" for delay in delays)
    print(f"kill {number:2} {mode:8} {kind.name} after {ends} s: {verdict}", flush=True)
    if same:
        shutil.rmtree(folder)
    return same


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/src/heddle")
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    program = options.program.resolve()
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    (WORK / "tiny.toml").write_text(CONFIG)
    duration = finish(command(program, WORK / "whole", "disabled"))
    expected = result_of(WORK / "whole")
    if len(expected[0]) != STEPS:
        sys.exit(f"kills: {len(expected[0])} lines of metrics, {STEPS} expected")
    print(f"unbroken run {duration:.2f} s, seed {options.seed}", flush=True)
    chance = random.Random(options.seed)
    results = [
        trial(program, i, i + 1 == options.kills, duration, expected, chance)
        for i in range(options.kills)
    ]
    print(f"kills: {results.count(True)} passed, {results.count(False)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())

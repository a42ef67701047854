#!/usr/bin/python3
"""Runs `heddle train` on the golden cases and compares every number with PyTorch's.

The rules are those of tests/golden_rules.py.  Each case runs in float32 and float64, with for-loop
and with grouped experts.  One line a run shows the error nearest to its limit; the last line is
"goldens: N passed, N failed".  What a run wrote stays in build/goldens.
"""

import argparse
import pathlib
import shlex
import subprocess
import sys
import time

import golden_rules

ROOT = pathlib.Path(__file__).resolve().parent.parent
CASES = ROOT / "tests/goldens"
WORK = ROOT / "build/goldens"
EXPERTS = {"loop": "no_use_grouped_mm", "grouped": "use_grouped_mm"}
# Relative difference of the float64 losses of both expert paths.
PATHS_LIMIT = 1e-12
# Ten float64 steps of 33 M parameters take minutes: `./dev soak` asks for them by name.
LONG = {("debug-report", "f64")}


def weights_of(case):
    """The start weights; those of debug-report are made once and kept in build/goldens."""
    kept = CASES / case / "weights.safetensors"
    if kept.exists():
        return kept
    made = WORK / f"{case}.weights.safetensors"
    if not made.exists():
        made.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, CASES / "make_weights.py", case, made], check=True)
    return made


def train_command(program, case, dtype, experts, folder):
    """The command line of a run; its working directory is the folder of the case."""
    command = [program, "train", "--job.config_file", "config.toml"]
    command += ["--checkpoint.initial_load_path", weights_of(case)]
    command += ["--job.dump_folder", folder, f"--model.args.moe_args.{EXPERTS[experts]}"]
    return command + (["--training.dtype", "float64"] if dtype == "f64" else [])


def train(program, case, dtype, experts):
    """Runs the case; returns the dump folder, the command line and the seconds it took."""
    folder = WORK / f"{case}-{dtype}-{experts}"
    command = train_command(program, case, dtype, experts, folder) + ["--debug.dump_step", "1"]
    shown = f"(cd {CASES / case} && {shlex.join(map(str, command))})"
    folder.mkdir(parents=True, exist_ok=True)
    for stale in [folder / "metrics.jsonl", *folder.glob("debug/*.safetensors")]:
        stale.unlink(missing_ok=True)
    start = time.monotonic()
    run = subprocess.run(command, cwd=CASES / case, capture_output=True, text=True)
    if run.returncode != 0:
        raise RuntimeError(f"exit {run.returncode}\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
    return folder, shown, time.monotonic() - start


def check_run(program, case, dtype, experts, losses):
    """Runs and compares one case; prints its line; returns whether all was within the limits."""
    label = f"{case:20} {dtype} {experts:8}"
    shown = ""
    try:
        folder, shown, seconds = train(program, case, dtype, experts)
        actual = golden_rules.read_run(folder)
        truth, peer = (golden_rules.read_expected(CASES / case, d) for d in ("f64", "f32"))
        errors = golden_rules.compare(case, dtype, actual, truth, peer)
    except (RuntimeError, OSError, KeyError, ValueError) as error:
        print(f"{label} FAIL {type(error).__name__}: {error}")
        errors = None
    if errors is not None:
        losses[case, dtype, experts] = [step["loss"] for step in actual.steps]
        bad = [error for error in errors if not error.ok]
        verdict = "FAIL" if bad else "ok  "
        loss = max(error.value for error in errors if error.name.endswith(" loss"))
        print(
            f"{label} {verdict} {seconds:5.1f} s  losses {loss:.1e}  {golden_rules.worst(errors)}"
        )
        for error in sorted(bad, key=lambda e: -e.value)[:8]:
            print(f"    {error}")
        if not bad:
            return True
        print(f"    {len(bad)} of {len(errors)} over their limits; the run: {shown}")
    arguments = f"--case {case} --dtype {dtype} --experts {experts}"
    print(f"    repeat: tests/run_goldens.py --program {program} {arguments}", flush=True)
    return False


def check_paths(case, losses):
    """Compares the float64 losses of the two expert paths; None when one of them did not run."""
    loop, grouped = (losses.get((case, "f64", experts)) for experts in EXPERTS)
    if loop is None or grouped is None:
        return None
    error = golden_rules.relative_error(grouped, loop)
    ok = error <= PATHS_LIMIT
    verdict = "ok  " if ok else "FAIL"
    print(f"{case:20} f64 {'both':8} {verdict} losses apart by {error:.1e}, limit {PATHS_LIMIT}")
    return ok


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    names = sorted(path.parent.name for path in CASES.glob("*/config.toml"))
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/src/heddle")
    parser.add_argument("--case", choices=names, action="append", help="default: all")
    parser.add_argument("--dtype", choices=["f32", "f64"], help="default: both")
    parser.add_argument("--experts", choices=EXPERTS, help="default: both")
    options = parser.parse_args()
    results, losses = [], {}
    for case in options.case or names:
        for dtype in [options.dtype] if options.dtype else ["f64", "f32"]:
            if (case, dtype) in LONG and not options.case:
                continue
            for experts in [options.experts] if options.experts else EXPERTS:
                program = options.program.resolve()
                results.append(check_run(program, case, dtype, experts, losses))
        results.append(check_paths(case, losses))
    failed = results.count(False)
    print(f"goldens: {results.count(True)} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""How a run is compared with a golden case; tests/goldens/README.md states the rules in words.

An error is relative to the largest magnitude of the expected tensor.  Float64 runs have fixed
limits.  Float32 runs are compared with the float64 numbers too, and may be three times as far off
as PyTorch's own float32 run, or as far as a floor.
"""

import json
from dataclasses import dataclass

import numpy as np

import tensor_file


@dataclass
class Limits:
    """Largest relative errors; `times_peer` multiplies the error of PyTorch's float32 run."""

    tensor: float
    final: float
    loss: float
    grad_norm: float
    times_peer: float


LIMITS = {
    "f64": Limits(tensor=1e-9, final=1e-9, loss=1e-10, grad_norm=1e-9, times_peer=0),
    # Adam's first steps divide by sqrt(v), which magnifies rounding: hence the floor of `final`.
    "f32": Limits(tensor=2e-6, final=2e-3, loss=2e-5, grad_norm=1e-4, times_peer=3),
}
# Case -> tokens that may go to another expert, by layer, at steps after the first, in float32.
MOVED_TOKENS = {"debug-report": 2}


@dataclass
class Error:
    """One number of the comparison: how far off, and how far off it may be."""

    name: str
    value: float
    limit: float

    @property
    def ok(self):
        return self.value <= self.limit  # false for NaN

    def __str__(self):
        return f"{self.name}: error {self.value:.2e}, limit {self.limit:.1e}"


@dataclass
class Result:
    """What a run or a golden file holds: tensors by name, and one record a step."""

    tensors: dict
    steps: list
    gradient_norms: dict
    final_norms: dict


def read_expected(case_dir, dtype):
    """The numbers of PyTorch's own run."""
    summary = json.loads((case_dir / f"expected.{dtype}.json").read_text())
    return Result(
        tensors=tensor_file.read(case_dir / f"expected.{dtype}.safetensors"),
        steps=summary["steps"],
        gradient_norms=summary["grad_norms_by_parameter_step1"],
        final_norms=summary["final_norms_by_parameter"],
    )


def norms(tensors, prefix):
    """Parameter -> Euclidean norm, of the tensors whose name begins with the prefix."""
    return {
        name.removeprefix(prefix): float(np.linalg.norm(value.astype(np.float64)))
        for name, value in tensors.items()
        if name.startswith(prefix)
    }


def read_run(folder):
    """The numbers that `heddle train --debug.dump_step 1` wrote into its dump folder."""
    dump = tensor_file.read(folder / "debug/step-1.safetensors")
    final = tensor_file.read(folder / "debug/final.safetensors")
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return Result(
        tensors={**dump, **final},
        steps=[json.loads(line) for line in lines],
        gradient_norms=norms(dump, "grad."),
        final_norms=norms(final, "final."),
    )


def relative_error(actual, expected):
    """Largest absolute error over largest magnitude; infinite when shapes differ."""
    actual, expected = (np.asarray(x, np.float64) for x in (actual, expected))
    if actual.shape != expected.shape:
        return float("inf")
    difference = np.max(np.abs(actual - expected), initial=0.0)
    return float(difference and difference / np.max(np.abs(expected), initial=0.0))


def same_part(actual, expected, name):
    """debug-report keeps 4 positions of the logits and every 16th row of the rope tables."""
    if name == "logits" and actual.ndim == expected.ndim:
        return actual[:, : expected.shape[1]]
    if name.startswith("rope.") and len(actual) > len(expected):
        return actual[:: len(actual) // len(expected)]
    return actual


def by_expert(tensors, name):
    """A router tensor with rows in order of expert id: the chosen experts are a set."""
    value = tensors[name]
    if not name.startswith("router.") or name.endswith(".scores"):
        return value
    ids = tensors[name.rsplit(".", 1)[0] + ".ids"]
    order = np.argsort(ids, axis=-1)
    return np.take_along_axis(value, order, axis=-1) if value.shape == ids.shape else value


def limit_of(limits, floor, peer_error):
    return max(floor, limits.times_peer * peer_error)


def tensor_errors(actual, expected, peer, limits):
    """One Error a tensor that is expected; a missing one is infinitely far off."""
    for name in sorted(expected.tensors):
        want = by_expert(expected.tensors, name)
        peer_error = relative_error(by_expert(peer.tensors, name), want)
        floor = limits.final if name.startswith("final.") else limits.tensor
        limit = 0.0 if name.endswith(".ids") else limit_of(limits, floor, peer_error)
        value = float("inf")
        if name in actual.tensors:
            value = relative_error(same_part(by_expert(actual.tensors, name), want, name), want)
        yield Error(name, value, limit)


def norm_errors(actual, expected, peer, limits):
    """One Error a parameter and kind of norm."""
    for field, floor in (("gradient_norms", limits.tensor), ("final_norms", limits.final)):
        got, want, other = (getattr(result, field) for result in (actual, expected, peer))
        for name in sorted(want):
            limit = limit_of(limits, floor, relative_error(other[name], want[name]))
            value = relative_error(got.get(name, np.nan), want[name])
            yield Error(f"{field}.{name}", value, limit)


def step_errors(case, actual, expected, peer, limits):
    """The Errors of all steps: scalars, counts and expert bias."""
    yield Error("steps", abs(len(actual.steps) - len(expected.steps)), 0)
    counts_agree = True
    for got, want, other in zip(actual.steps, expected.steps, peer.steps):
        step = want["step"]
        for key, limit in (("loss", limits.loss), ("grad_norm", limits.grad_norm)):
            yield Error(f"step {step} {key}", relative_error(got[key], want[key]), limit)
        for key in ("step", "lr", "valid_tokens"):
            yield Error(f"step {step} {key}", relative_error(got[key], want[key]), 0)
        for layer, counts in want["tokens_per_expert"].items():
            moved = np.abs(np.subtract(got["tokens_per_expert"][layer], counts)).sum() / 2
            counts_agree = counts_agree and moved == 0
            allowed = MOVED_TOKENS.get(case, 0) if step > 1 and limits.times_peer else 0
            yield Error(f"step {step} tokens_per_expert.{layer}", moved, allowed)
        # One token more or less turns the sign of an expert's update: no bound after that.
        for layer, bias in want["expert_bias_after"].items() if counts_agree else ():
            limit = limit_of(
                limits, limits.tensor, relative_error(other["expert_bias_after"][layer], bias)
            )
            value = relative_error(got["expert_bias_after"][layer], bias)
            yield Error(f"step {step} expert_bias_after.{layer}", value, limit)


def compare(case, dtype, actual, truth, peer):
    """All Errors of a run: `truth` is PyTorch's float64 run, `peer` its float32 run."""
    limits = LIMITS[dtype]
    return [
        *tensor_errors(actual, truth, peer, limits),
        *norm_errors(actual, truth, peer, limits),
        *step_errors(case, actual, truth, peer, limits),
    ]


def worst(errors):
    """The Error nearest to its limit, or farthest over it; zero errors do not count."""
    return max(errors, key=lambda e: e.value / e.limit if e.limit else e.value and float("inf"))

"""Trains golden case debug-report with torchtitan's own model under PyTorch eager on the CPU.

usage: PYTHONPATH=<torchtitan at commit 02661e8> python bench/torchtitan_peer.py WEIGHTS.safetensors

Same weights, batches and learning rates as `heddle train` gets from tests/goldens/debug-report,
with for-loop experts.  Prints one line of JSON a step: step, loss, grad_norm, step_s.
"""

import json
import os
import pathlib
import sys
import time
import types

import torch
from safetensors.torch import load_file
from torchtitan.components.loss import cross_entropy_loss
from torchtitan.components.optimizer import build_optimizers_with_moe_load_balancing
from torchtitan.config import JobConfig
from torchtitan.models.deepseek_v3 import deepseekv3_args
from torchtitan.models.deepseek_v3.model.model import DeepSeekV3Model

CASE = pathlib.Path(__file__).resolve().parent.parent / "tests/goldens/debug-report"


def count_integers(values, bins, min, max):  # noqa: A002 (the names of torch.histc)
    """torch.histc has no integer kernel on the CPU; the router counts tokens with it."""
    return torch.bincount(values, minlength=bins)


def build_model(weights):
    args = deepseekv3_args["debugmodel"]
    args.max_seq_len = 256
    args.moe_args.use_grouped_mm = False
    args.moe_impl = "standard"  # set by the reference trainer from its own config
    model = DeepSeekV3Model(args)
    model.init_weights()
    missing, unexpected = model.load_state_dict(load_file(weights), strict=False)
    lacking = [name for name in missing if "weight" in name]
    assert not unexpected and not lacking, (lacking, unexpected)
    return model.train()


def build_optimizer(model, learning_rate):
    """AdamW of torchtitan's defaults, with the update of the expert bias hooked in."""
    config = JobConfig()
    config.optimizer.lr = learning_rate
    one_rank = types.SimpleNamespace(
        get_optional_mesh=lambda name: None, ep_enabled=False, pp_enabled=False
    )
    return build_optimizers_with_moe_load_balancing([model], config.optimizer, one_rank)


def train_step(model, optimizer, inputs, labels):
    optimizer.zero_grad()
    loss = cross_entropy_loss(model(inputs), labels) / labels.numel()
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
    optimizer.step()
    return loss.item(), norm.item()


def main(weights):
    torch.set_num_threads(os.cpu_count())
    torch.histc = count_integers
    expected = json.loads((CASE / "expected.f32.json").read_text())
    schedule = [step["lr"] for step in expected["steps"]]
    batches = load_file(CASE / "batches.safetensors")
    model = build_model(weights)
    optimizer = build_optimizer(model, schedule[0])
    for step, learning_rate in enumerate(schedule):
        start = time.perf_counter()
        for group in optimizer.optimizers[0].param_groups:
            group["lr"] = learning_rate
        inputs, labels = batches["input"][step, 0], batches["labels"][step, 0]
        loss, norm = train_step(model, optimizer, inputs, labels)
        seconds = time.perf_counter() - start
        record = {"step": step + 1, "loss": loss, "grad_norm": norm, "step_s": seconds}
        print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])

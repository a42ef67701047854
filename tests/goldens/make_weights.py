#!/usr/bin/python3
"""Writes the start weights of a golden case: make_weights.py CASE OUT.safetensors

`debug-report` needs it, since its weights are not kept here.  Element i of parameter NAME depends
on NAME and i alone: splitmix64 (Steele, Lea and Flood, OOPSLA 2014), seeded by the FNV-1a hash of
NAME, gives u in [0, 1); norm weights are 1 + 0.2 (u - 1/2), all others uniform with the standard
deviation given below, rounded once to float32.  Expert biases are zero.
"""

import pathlib
import sys
import tomllib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import tensor_file  # noqa: E402

# Case -> standard deviation of the router and of the other matrices; embeddings have 1.
STD = {"debug-report": (0.05, 0.02)}
TINY_STD = (0.3, 0.15)


def fnv1a(text):
    """64-bit FNV-1a."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def uniform(name, count):
    """`count` numbers in [0, 1) with 24 random bits: outputs 1, 2, ... of splitmix64."""
    gamma = np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):  # modulo 2^64 is meant
        z = np.uint64(fnv1a(name)) + np.arange(1, count + 1, dtype=np.uint64) * gamma
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(40)) / 2.0**24


def make_weight(case, name, shape):
    u = uniform(name, int(np.prod(shape)))
    router_std, other_std = STD.get(case, TINY_STD)
    if "norm" in name:
        weight = 1 + 0.2 * (u - 0.5)
    else:
        std = 1 if "tok_embeddings" in name else router_std if "router" in name else other_std
        weight = std * 3.0**0.5 * (2 * u - 1)
    return weight.astype(np.float32).reshape(shape)


def swiglu_shapes(prefix, dim, hidden):
    return {
        f"{prefix}w1.weight": (hidden, dim),
        f"{prefix}w2.weight": (dim, hidden),
        f"{prefix}w3.weight": (hidden, dim),
    }


def attention_shapes(prefix, args):
    """Multi-head latent attention; queries go through a low rank when `q_lora_rank` is set."""
    dim, heads, rank = args["dim"], args["n_heads"], args["kv_lora_rank"]
    nope, rope, value = (args[k] for k in ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"))
    shapes = {
        "wkv_a.weight": (rank + rope, dim),
        "kv_norm.weight": (rank,),
        "wkv_b.weight": (heads * (nope + value), rank),
        "wo.weight": (dim, heads * value),
    }
    q_rank, q_rows = args["q_lora_rank"], heads * (nope + rope)
    if q_rank == 0:
        shapes["wq.weight"] = (q_rows, dim)
    else:
        shapes["wq_a.weight"] = (q_rank, dim)
        shapes["q_norm.weight"] = (q_rank,)
        shapes["wq_b.weight"] = (q_rows, q_rank)
    return {prefix + name: shape for name, shape in shapes.items()}


def moe_shapes(prefix, args):
    dim, hidden, moe = args["dim"], args["moe_inter_dim"], args["moe_args"]
    experts, shared = moe["num_experts"], moe["num_shared_experts"]
    shapes = {
        f"{prefix}experts.w1": (experts, hidden, dim),
        f"{prefix}experts.w2": (experts, dim, hidden),
        f"{prefix}experts.w3": (experts, hidden, dim),
        f"{prefix}router.gate.weight": (experts, dim),
        f"{prefix}expert_bias": (experts,),
    }
    if shared:
        shapes |= swiglu_shapes(f"{prefix}shared_experts.", dim, hidden * shared)
    return shapes


def tensor_shapes(args):
    """Name -> shape of all parameters and buffers, under torchtitan's names."""
    dim, vocab = args["dim"], args["vocab_size"]
    shapes = {
        "tok_embeddings.weight": (vocab, dim),
        "norm.weight": (dim,),
        "output.weight": (vocab, dim),
    }
    for layer in range(args["n_layers"]):
        prefix = f"layers.{layer}."
        shapes |= attention_shapes(prefix + "attention.", args)
        shapes |= {prefix + "attention_norm.weight": (dim,), prefix + "ffn_norm.weight": (dim,)}
        if layer < args["n_dense_layers"]:
            shapes |= swiglu_shapes(prefix + "feed_forward.", dim, args["inter_dim"])
        else:
            shapes |= moe_shapes(prefix + "moe.", args)
    return shapes


def make_weights(case):
    config = tomllib.loads((HERE / case / "config.toml").read_text())
    return {
        name: (
            np.zeros(shape, np.float32)
            if name.endswith("expert_bias")
            else make_weight(case, name, shape)
        )
        for name, shape in tensor_shapes(config["model"]["args"]).items()
    }


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    tensor_file.write(sys.argv[2], make_weights(sys.argv[1]))

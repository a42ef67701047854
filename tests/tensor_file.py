"""Reads and writes safetensors files as dictionaries of numpy arrays."""

import json
import pathlib
import struct

import numpy as np

DTYPES = {"F32": np.float32, "F64": np.float64, "I32": np.int32, "I64": np.int64}


def read(path):
    """Name -> array."""
    data = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        flat = np.frombuffer(data[begin:end], DTYPES[entry["dtype"]])
        tensors[name] = flat.reshape(entry["shape"])
    return tensors


def write(path, tensors):
    """Writes the tensors in order of name."""
    names = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
    header, at = {}, 0
    for name, value in sorted(tensors.items()):
        end = at + value.nbytes
        header[name] = {
            "dtype": names[value.dtype],
            "shape": list(value.shape),
            "data_offsets": [at, end],
        }
        at = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for _, value in sorted(tensors.items()):
            out.write(np.ascontiguousarray(value).tobytes())

"""Compares Heddle's tokenizer with the Hugging Face library on the same tokenizer.json.

usage: tokenizer_oracle.py HEDDLE TOKENIZER_FOLDER [FILE...]

Encodes the files, and texts made here, with both; every id must agree.  Skips (exit 0) when the
`tokenizers` package is not installed: it is no dependency of Heddle.
"""

import os
import random
import subprocess
import sys

SEED = 20240607


def made_texts():
    rng = random.Random(SEED)
    alphabets = [
        "abc XYZ 019 '\n\t.,!?",
        "éüñ ß Ω я 你好 こんにちは 😀👍🏽 \u0301\u0308 \u200d\ufeff",
        "\u00a0\u1680\u180e\u2000\u2028\u2029\u202f\u205f\u3000 \x85\x0b\x0c\r\n a1",
        "'s't're've'm'll'd'S'T 's 't  x",
        "\x00\x01\x7f\u0080\uffff\U0010ffff\u0378 z",
        "<|begin_of_text|><|end_of_text|> a",
    ]
    for alphabet in alphabets:
        for _ in range(300):
            yield "".join(rng.choice(alphabet) for _ in range(rng.randrange(1, 60)))
    ranges = [(0x20, 0x250), (0x300, 0x2000), (0x2000, 0xD800), (0xE000, 0x20000)]
    for _ in range(1500):
        low, high = rng.choice(ranges)
        yield "".join(chr(rng.randrange(low, high)) for _ in range(rng.randrange(1, 40)))


def heddle_ids(program, folder, text):
    done = subprocess.run(
        [program, "tokenizer", "encode", folder],
        input=text.encode(),
        capture_output=True,
        check=True,
    )
    return [int(word) for word in done.stdout.split()]


def main(program, folder, files):
    try:
        from tokenizers import Tokenizer
    except ImportError:
        print("skipped: the tokenizers package is not installed")
        return 0
    oracle = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    texts = [(path, open(path, encoding="utf-8", newline="").read()) for path in files]
    # A run of the program costs more than its work: made texts go in one, between line breaks.
    texts += [("made texts", "\n".join(made_texts()))]
    texts += [(f"made text {i}", text) for i, text in enumerate(made_texts()) if i % 40 == 0]
    differences = tokens = size = 0
    for name, text in texts:
        want, got = oracle.encode(text).ids, heddle_ids(program, folder, text)
        tokens, size = tokens + len(want), size + len(text.encode())
        if want != got:
            differences += 1
            at = next(
                (i for i, (a, b) in enumerate(zip(want, got)) if a != b), min(len(want), len(got))
            )
            print(f"{name}: differs at token {at}: want {want[at:at + 8]}, got {got[at:at + 8]}")
    print(f"seed {SEED}: {len(texts)} texts, {size} bytes, {tokens} tokens, {differences} differ")
    return 1 if differences else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))

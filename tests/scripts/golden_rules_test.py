"""Tests of the golden rules and weights: PyTorch's numbers pass, perturbed ones fail."""

import copy
import pathlib
import sys
import unittest

import numpy as np

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "goldens")]
import golden_rules
import make_weights
import tensor_file

CASES = sorted(path.parent.name for path in (TESTS / "goldens").glob("*/config.toml"))


def failures(case, dtype, actual):
    truth, peer = (golden_rules.read_expected(TESTS / "goldens" / case, d) for d in ("f64", "f32"))
    return [e.name for e in golden_rules.compare(case, dtype, actual, truth, peer) if not e.ok]


class GoldenRules(unittest.TestCase):
    def expected(self, case, dtype):
        return copy.deepcopy(golden_rules.read_expected(TESTS / "goldens" / case, dtype))

    def test_pytorch_passes(self):
        for case in CASES:
            for dtype in ("f32", "f64"):
                self.assertEqual(
                    failures(case, dtype, self.expected(case, dtype)), [], (case, dtype)
                )

    def test_float32_is_not_float64(self):
        names = failures("tiny-softmax", "f64", self.expected("tiny-softmax", "f32"))
        self.assertIn("logits", names)
        self.assertIn("step 1 loss", names)
        self.assertIn("gradient_norms.norm.weight", names)

    def test_each_perturbed_tensor_fails(self):
        truth = self.expected("tiny-softmax", "f64")
        for dtype, size in (("f64", 2e-9), ("f32", 3e-3)):
            for name, value in truth.tensors.items():
                actual = copy.copy(truth)
                bent = value.copy()
                largest = np.unravel_index(np.argmax(np.abs(bent)), bent.shape)
                bent[largest] += max(size * abs(bent[largest]), name.endswith(".ids"))
                actual.tensors = {**truth.tensors, name: bent}
                self.assertIn(name, failures("tiny-softmax", dtype, actual), dtype)

    def test_nan_and_missing_fail(self):
        truth = self.expected("tiny-softmax", "f64")
        truth.tensors["logits"] = np.full_like(truth.tensors["logits"], np.nan)
        del truth.tensors["grad.norm.weight"]
        truth.tensors["rope.cos"] = truth.tensors["rope.cos"][:, :2]
        truth.steps[3]["loss"] = float("nan")
        names = failures("tiny-softmax", "f32", truth)
        self.assertEqual(names, ["grad.norm.weight", "logits", "rope.cos", "step 4 loss"])

    def test_perturbed_steps_fail(self):
        for change, name in [
            (lambda s: s.update(loss=s["loss"] * (1 + 3e-5)), "step 2 loss"),
            (lambda s: s.update(grad_norm=s["grad_norm"] * (1 - 2e-4)), "step 2 grad_norm"),
            (lambda s: s.update(lr=s["lr"] * (1 + 1e-15)), "step 2 lr"),
            (lambda s: s.update(valid_tokens=31), "step 2 valid_tokens"),
            (
                lambda s: s["expert_bias_after"]["2"].__setitem__(0, 0.01),
                "step 2 expert_bias_after.2",
            ),
        ]:
            truth = self.expected("tiny-softmax", "f64")
            change(truth.steps[1])
            self.assertEqual(failures("tiny-softmax", "f32", truth), [name])
        truth = self.expected("tiny-softmax", "f64")
        truth.steps.pop()
        self.assertEqual(failures("tiny-softmax", "f32", truth), ["steps"])

    def test_moved_tokens(self):
        """Two tokens a layer may move in debug-report after step 1, in float32 only."""

        def moved(case, step, tokens, dtype):
            truth = self.expected(case, "f64")
            counts = truth.steps[step - 1]["tokens_per_expert"]["1"]
            counts[0] -= tokens
            counts[1] += tokens
            return failures(case, dtype, truth)

        self.assertEqual(moved("debug-report", 2, 2, "f32"), [])
        self.assertEqual(moved("debug-report", 2, 3, "f32"), ["step 2 tokens_per_expert.1"])
        self.assertEqual(moved("debug-report", 1, 1, "f32"), ["step 1 tokens_per_expert.1"])
        self.assertEqual(moved("debug-report", 2, 1, "f64"), ["step 2 tokens_per_expert.1"])
        self.assertEqual(moved("tiny-softmax", 2, 1, "f32"), ["step 2 tokens_per_expert.1"])

    def test_order_of_experts_means_nothing(self):
        truth = self.expected("tiny-softmax", "f64")
        for name in ("router.1.ids", "router.1.top_scores"):
            truth.tensors[name] = truth.tensors[name][:, ::-1]
        self.assertEqual(failures("tiny-softmax", "f64", truth), [])
        truth.tensors["router.2.ids"] = truth.tensors["router.2.ids"][:, ::-1]
        self.assertEqual(failures("tiny-softmax", "f64", truth), ["router.2.top_scores"])

    def test_whole_tensors_against_kept_parts(self):
        truth = self.expected("debug-report", "f64")
        logits, cos = truth.tensors["logits"], truth.tensors["rope.cos"]
        truth.tensors["logits"] = np.concatenate([logits, logits + 1], axis=1)
        truth.tensors["rope.cos"] = np.repeat(cos, 16, axis=0)
        self.assertEqual(failures("debug-report", "f64", truth), [])


class MakeWeights(unittest.TestCase):
    def test_same_as_kept(self):
        for case in ("tiny-softmax", "tiny-sigmoid-groups", "tiny-one-expert"):
            kept = tensor_file.read(TESTS / "goldens" / case / "weights.safetensors")
            made = make_weights.make_weights(case)
            self.assertEqual(kept.keys(), made.keys())
            for name in kept:
                if not name.endswith("expert_bias"):
                    np.testing.assert_array_equal(kept[name], made[name], name)

    def test_debug_report_size(self):
        made = make_weights.make_weights("debug-report")
        parameters = sum(w.size for name, w in made.items() if not name.endswith("expert_bias"))
        self.assertEqual(parameters, 33_014_016)


if __name__ == "__main__":
    unittest.main()

"""skua synth and skua quantize: what they write, that it loads, what they refuse."""

import json
import resource
import signal
import time
import unittest

from harness import ProgramTest

CONFIG = {"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
          "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 96, "rms_norm_eps": 1e-5,
          "max_position_embeddings": 256, "tie_word_embeddings": True}


EXPERTS = {"model_type": "qwen3_moe", "moe_intermediate_size": 64, "num_experts": 4, "num_experts_per_tok": 2,
           "norm_topk_prob": True, "head_dim": 16, "hidden_act": "silu"}
LATENT = {"model_type": "deepseek_v2", "moe_intermediate_size": 64, "n_routed_experts": 4, "n_shared_experts": 1,
          "num_experts_per_tok": 2, "first_k_dense_replace": 1, "num_key_value_heads": 4, "q_lora_rank": None,
          "kv_lora_rank": 64, "qk_nope_head_dim": 32, "qk_rope_head_dim": 32, "v_head_dim": 32, "hidden_act": "silu",
          "norm_topk_prob": False, "topk_method": "greedy", "scoring_func": "softmax"}


def small_files_only():
    """A write that goes past 100 kB fails, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))


class Make(ProgramTest):
    def config(self, **more):
        path = self.root / "config.json"
        path.write_text(json.dumps({**CONFIG, **more}))
        return path

    def types(self, model):
        out = json.loads(self.reply("inspect", model, "--json", "--tensors"))
        return {t["name"]: t["type"] for t in out["tensors"]["list"]}

    def test_equal_seeds_give_equal_bytes(self):
        config = self.config()
        bytes_of = {}
        for name, seed in (("a", 7), ("b", 7), ("c", 8)):
            self.reply("synth", config, "--group", "32", "--seed", seed, "--out", self.root / name)
            bytes_of[name] = (self.root / name / "model.safetensors").read_bytes()
        self.assertEqual(bytes_of["a"], bytes_of["b"])
        self.assertNotEqual(bytes_of["a"], bytes_of["c"])
        self.assertEqual(self.types(self.root / "a")["model.layers.1.mlp.up_proj.weight"], "affine4g32:bf16")

    def test_what_is_made_can_be_measured(self):
        out = json.loads(self.reply("bench", self.config(), "--in-memory", "--quant", "8", "-p", "4", "-n", "3", "-r", "1",
                                    "--json"))
        self.assertEqual(out["model_type"], "llama")
        self.assertTrue(any("affine8" in op["kernel"] for op in out["decode_ops"]), out["decode_ops"])

    def test_experts_and_latent_attention_are_made(self):
        stacked = "model.layers.1.mlp.switch_mlp.down_proj.weight"
        for more in (EXPERTS, LATENT):
            name = more["model_type"]
            config = self.config(**more)
            for quant in ("4", "none"):
                out = json.loads(self.reply("bench", config, "--in-memory", "--quant", quant, "--group", "32", "-p", "4",
                                            "-n", "3", "-r", "1", "--compute", "f32", "--json"))
                self.assertEqual(out["model_type"], name)
            self.reply("synth", config, "--group", "32", "--out", self.root / name)
            types = self.types(self.root / name)
            self.assertEqual(types[stacked], "affine4g32:bf16")
            self.assertEqual(types["model.layers.1.mlp.gate.weight"], "BF16")  # the router
            facts = json.loads(self.reply("inspect", self.root / name, "--json"))
            self.assertEqual(facts["memory"]["weight_bytes"], facts["tensors"]["bytes"])  # stacked and cut ones too
            self.reply("bench", self.root / name, "-p", "4", "-n", "3", "-r", "1")
        self.assertEqual(types["model.layers.0.self_attn.unembed_out.weight"], "BF16")

    def test_a_failed_write_leaves_nothing(self):
        config = self.config(vocab_size=4096)
        self.refused(1, "synth", config, "--quant", "none", "--out", self.root / "full", says=["model.safetensors"],
                     preexec_fn=small_files_only)
        self.assertFalse((self.root / "full").exists())
        self.reply("synth", config, "--quant", "none", "--out", self.root / "whole")
        self.refused(1, "quantize", self.root / "whole", "--group", "32", "--out", self.root / "full",
                     says=["model.safetensors"], preexec_fn=small_files_only)
        self.assertFalse((self.root / "full").exists())
        self.assertTrue((self.root / "whole" / "model.safetensors").exists())

    def test_an_interrupted_write_leaves_nothing(self):
        made = self.root / "half"
        with self.start("synth", "llama-3.2-1b", "--out", made) as program:
            while not made.exists() and program.poll() is None:
                time.sleep(0.01)
            program.send_signal(signal.SIGINT)
            _, errors = program.communicate()
        self.assertEqual((program.returncode, made.exists()), (130, False), errors)
        self.assertIn(b"interrupted", errors)

    def test_refusals(self):
        config = self.config()
        (self.root / "there").mkdir()
        self.refused(1, "synth", config, "--out", self.root / "there", says=["--out", "exists already"])
        self.refused(2, "synth", config, says=["--out"])
        self.refused(1, "synth", "nothing", "--out", self.root / "x", says=["nothing", "llama-3.2-1b"])
        self.refused(1, "synth", config, "--group", "128", "--out", self.root / "x", says=["64", "128", "--group"])
        self.refused(2, "synth", config, "--quant", "7", "--out", self.root / "x", says=["--quant"])
        self.assertFalse((self.root / "x").exists())

    def test_quantize_follows_its_rules(self):
        self.reply("synth", self.config(), "--quant", "none", "--out", self.root / "plain")
        self.reply("quantize", self.root / "plain", "--quant", "4", "--group", "32", "--rule", "down_proj=8:64", "--rule",
                   "layers.0.self_attn=none", "--out", self.root / "made")
        types = self.types(self.root / "made")
        self.assertEqual(types["model.layers.0.mlp.up_proj.weight"], "affine4g32:bf16")
        self.assertEqual(types["model.layers.0.mlp.down_proj.weight"], "affine8g64:bf16")
        self.assertEqual(types["model.layers.0.self_attn.q_proj.weight"], "BF16")
        self.assertEqual(types["model.embed_tokens.weight"], "affine4g32:bf16")
        self.assertEqual(types["model.norm.weight"], "BF16")
        settings = json.loads((self.root / "made" / "config.json").read_text())["quantization"]
        self.assertEqual(settings["model.layers.0.mlp.down_proj"], {"group_size": 64, "bits": 8})
        self.assertIs(settings["model.layers.0.self_attn.q_proj"], False)
        self.reply("bench", self.root / "made", "-p", "4", "-n", "3", "-r", "1")
        self.refused(1, "quantize", self.root / "made", "--out", self.root / "twice", says=["quantized already"])
        self.refused(2, "quantize", self.root / "plain", "--rule", "x=9", "--out", self.root / "y", says=["--rule", "x=9"])
        self.refused(1, "quantize", self.root / "plain", "--rule", "down_prj=8", "--group", "32", "--out", self.root / "y",
                     says=["--rule", "'down_prj'"])
        self.refused(1, "quantize", self.root / "plain", "--rule", "up_proj=8:128", "--group", "32", "--out", self.root / "y",
                     says=["--rule", "up_proj", "128", "64"])


if __name__ == "__main__":
    unittest.main()

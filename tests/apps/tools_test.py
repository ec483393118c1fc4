"""skua inspect, bench and tokenize."""

import json
import unittest

import tiny_model
from harness import ProgramTest


class Inspect(ProgramTest):
    def test_json_holds_the_facts(self):
        out = json.loads(self.reply("inspect", self.model, "--json", "--tensors", "--context", "1000"))
        self.assertEqual(out["model"]["model_type"], "llama")
        self.assertEqual((out["model"]["n_vocab"], out["model"]["end_ids"]), (tiny_model.N_VOCAB, [tiny_model.IM_END]))
        n_values = sum(len(values) for _, values in tiny_model.tensors().values())
        self.assertEqual(out["tensors"]["bytes"], 4 * n_values)
        self.assertEqual(out["tensors"]["types"], [{"type": "F32", "count": 12, "bytes": 4 * n_values}])
        self.assertEqual({t["name"]: t["shape"] for t in out["tensors"]["list"]},
                         {name: shape for name, (shape, _) in tiny_model.tensors().items()})
        per_token = 2 * 4 * tiny_model.HEAD_DIM  # one key and one value in float32
        self.assertEqual(out["memory"], {"context": 1000, "weight_bytes": 4 * n_values, "cache_bytes": 1024 * per_token,
                                         "cache_bytes_per_token": per_token, "state_bytes_per_sequence": 0,
                                         "cache_type": "f32"})

    def test_the_type_of_the_cache_shows_in_memory_and_plan(self):
        whole = json.loads(self.reply("inspect", self.model, "--json"))["memory"]
        for kind in ("f16", "bf16"):
            half = json.loads(self.reply("inspect", self.model, "--json", "--cache-type", kind))["memory"]
            self.assertEqual(half["cache_type"], kind)
            for key in ("cache_bytes", "cache_bytes_per_token"):
                self.assertEqual(2 * half[key], whole[key])
            text = self.reply("inspect", self.model, "--plan", "--cache-type", kind)
            for part in (f"keys and values of heads in {kind}", f"cache: keys and values of heads {kind}", f"attention_{kind}"):
                self.assertIn(part, text)
        self.assertIn("cache: keys and values of heads f32", self.reply("inspect", self.model, "--plan"))

    def test_text_and_tensors(self):
        text = self.reply("inspect", self.model)
        for part in ("model type", "llama", "12, ", "for a context of 8192"):
            self.assertIn(part, text)
        self.assertNotIn("lm_head.weight", text)
        self.assertIn("lm_head.weight", self.reply("inspect", self.model, "--tensors"))

    def test_plans(self):
        self.assertIn("logits", self.reply("inspect", self.model, "--plan"))
        self.assertTrue(self.reply("inspect", self.model, "--dot").startswith("digraph"))
        one, many = (json.loads(self.reply("inspect", self.model, "--plan", "--json", "--tokens", n))["plan"]
                     for n in (1, 600))
        self.assertNotEqual(one, many)

    def test_tensors_of_an_unknown_model_are_still_shown(self):
        folder = tiny_model.write(self.root / "martian", config={"model_type": "martian"})
        result = self.run_skua("inspect", folder)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"tensors           12", result.stdout)
        self.assertRegex(result.stderr, r"^skua: error: [^\n]*martian[^\n]*\n$")


class Bench(ProgramTest):
    def test_json_and_table(self):
        small = ["bench", self.model, "--prompt", "70", "--gen", "5", "--repeat", "2"]
        out = json.loads(self.reply(*small, "--json"))
        self.assertEqual((out["prompt"]["tokens"], out["decode"]["tokens"], out["runs"]), (70, 5, 2))
        self.assertLessEqual(out["decode"]["least"], out["decode"]["tokens_per_second"])
        self.assertGreater(out["memory_read_bytes_per_second"], 1e8)
        n_values = {name: len(values) for name, (_, values) in tiny_model.tensors().items()}
        read = 4 * (sum(n_values.values()) - n_values["model.embed_tokens.weight"] + tiny_model.WIDTH)
        self.assertGreaterEqual(out["weight_bytes_per_token"], read)
        self.assertLess(out["weight_bytes_per_token"], read + 2048)  # ends of packed weights are padded
        table = self.reply(*small)
        for part in ("prompt   70 tokens, ", "decode   5 tokens, ", "median of 2", "% of the memory's"):
            self.assertIn(part, table)

    def test_ops_account_for_the_step(self):
        out = json.loads(self.reply("bench", self.model, "-p", "70", "-n", "5", "-r", "1", "--json"))
        for kind in ("decode_ops", "prompt_ops"):
            ops = {op["op"]: op for op in out[kind]}
            self.assertTrue({"embed", "attention", "gated_linear"} <= ops.keys(), ops.keys())
            for op in ops.values():
                self.assertGreater(op["seconds"], 0)
        weights = sum(op["bytes"] for op in out["decode_ops"] if op["op"] != "attention")
        self.assertEqual(weights, out["weight_bytes_per_token"])

    def test_sequences_together_read_the_weights_once_per_step(self):
        out = json.loads(self.reply("bench", self.model, "-p", "8", "-n", "40", "-r", "1", "--sequences", "4", "--json"))
        self.assertEqual(out["together"]["sequences"], 4)
        self.assertGreater(out["together"]["steps"], 10)
        self.assertEqual(out["together"]["tokens_made"], 4 * out["together"]["steps"])

    def test_a_context_that_is_too_small(self):
        self.refused(2, "bench", self.model, "--prompt", "70", "--gen", "5", "--context", "70", says=["75", "70"])


class Perplexity(ProgramTest):
    def judged(self, text, *options):
        file = self.root / "judged.txt"
        file.write_text(text)
        return json.loads(self.reply("perplexity", self.model, "--file", file, "--json", *options))

    def test_every_token_of_a_window_foretells_the_next(self):
        words = "one two three four five six seven eight nine ten "
        n_ids = len(json.loads(self.reply("tokenize", self.model, "--json", words * 3))["ids"])
        whole = self.judged(words * 3)
        self.assertEqual((whole["n_tokens"], whole["n_tokens_left"]), (n_ids - 1, 0))
        cut = self.judged(words * 3, "--window", "7")
        self.assertEqual(cut["n_tokens"] + cut["n_tokens_left"], n_ids - 1)
        self.assertEqual((cut["n_tokens"] % 7, cut["n_tokens_left"]), (0, (n_ids - 1) % 7))

    def test_blank_lines_part_documents(self):
        parts = ["one two", "three four five"]
        n_ids = sum(len(json.loads(self.reply("tokenize", self.model, "--json", part))["ids"]) for part in parts)
        self.assertEqual(self.judged("\n\n".join(parts), "--documents")["n_tokens"], n_ids + 1 - 1)
        self.assertNotEqual(self.judged("\n\n".join(parts), "--documents")["perplexity"],
                            self.judged("\n\n".join(parts))["perplexity"])

    def test_against_another_arithmetic(self):
        words = "one two three four five six seven eight nine ten " * 3
        f32, native = self.judged(words, "--compute", "f32"), self.judged(words, "--compute", "native")
        both = self.judged(words, "--compute", "native", "--against", "f32")
        self.assertEqual((both["perplexity"], both["against"]["perplexity"]), (native["perplexity"], f32["perplexity"]))
        self.assertAlmostEqual(both["against"]["loss"], native["perplexity"] / f32["perplexity"] - 1, places=12)
        self.assertTrue(0 < both["against"]["agreement"] <= 1)
        self.assertEqual(self.judged(words, "--against", "native", "--compute", "native")["against"]["agreement"], 1)
        self.assertNotIn("against", f32)


class Tokenize(ProgramTest):
    def test_json(self):
        out = json.loads(self.reply("tokenize", self.model, "hé<|im_end|>", "--json"))
        self.assertEqual(out["ids"], [ord("h"), *"é".encode(), tiny_model.IM_END])
        self.assertEqual(out["n_tokens"], 4)
        self.assertEqual([t["special"] for t in out["tokens"]], [False, False, False, True])

    def test_text_and_stdin(self):
        self.assertIn('104  "h"\n', self.reply("tokenize", self.model, "h"))
        self.assertIn('"\\xc3"', self.reply("tokenize", self.model, "é"))
        self.assertTrue(self.reply("tokenize", self.model, text=b"ab\n").endswith('"\\n"\n3 tokens\n'))
        self.assertEqual(self.reply("tokenize", self.model, text=b""), "0 tokens\n")

    def test_plain_text_has_no_markup(self):
        out = json.loads(self.reply("tokenize", self.model, "<|im_end|>", "--json", "--plain"))
        self.assertEqual(bytes(out["ids"]), b"<|im_end|>")

    def limited(self, text, *options, **fields):
        folder = tiny_model.write(self.root / "limited")
        (folder / "tokenizer.json").write_text(json.dumps({**tiny_model.tokenizer(), **fields}))
        result = self.run_skua("tokenize", folder, text, "--json", *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)["ids"], result.stderr

    def test_file_limits_are_applied_only_when_asked_for(self):
        cut = {"truncation": {"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0}}
        filled = {"padding": {"strategy": {"Fixed": 6}, "direction": "Left", "pad_to_multiple_of": None, "pad_id": tiny_model.IM_END,
                              "pad_type_id": 0, "pad_token": "<|im_end|>"}}
        whole = [*b"abcd"]
        for fields, wanted in ((cut, whole[:3]), (filled, [tiny_model.IM_END] * 2 + whole),
                               ({**cut, **filled}, [tiny_model.IM_END] * 3 + whole[:3]), ({}, whole)):
            ids, notes = self.limited("abcd", **fields)
            self.assertEqual(ids, whole)
            self.assertEqual(notes.count("--file-limits"), len(fields), notes)
            self.assertEqual(self.limited("abcd", "--file-limits", **fields)[0], wanted)


if __name__ == "__main__":
    unittest.main()

"""Models that are missing, broken or lie; and where models are found."""

import json
import shutil
import struct
import unittest

import tiny_model
from harness import ProgramTest


class WhereModelsAre(ProgramTest):
    def test_without_a_model_the_message_says_how_to_get_the_default_one(self):
        self.refused(1, "run", "-p", "hi", says=["default model", ".local/share/skua/models", "./quickstart"])

    def test_an_unknown_model_is_named(self):
        self.refused(1, "run", "no-such-model", "hi", says=["no-such-model"])
        self.refused(1, "inspect", self.root / "nothing", says=["nothing"])

    def test_names_in_the_store_and_hub_caches(self):
        store = self.root / "store"
        shutil.copytree(self.model, store / "models" / "my-tiny")
        snapshot = self.root / "hub" / "models--org--name" / "snapshots" / "abc"
        shutil.copytree(self.model, snapshot)
        (snapshot.parents[1] / "refs").mkdir()
        (snapshot.parents[1] / "refs" / "main").write_text("abc")
        places = {"SKUA_HOME": str(store), "HF_HUB_CACHE": str(self.root / "hub")}
        self.assertEqual(self.reply("run", "my-tiny", "hi", variables=places), "Paris.\n")
        self.assertEqual(self.reply("run", "org/name", "hi", variables=places), "Paris.\n")
        self.assertEqual(self.reply("run", "my-tiny", "hi", "--home", store), "Paris.\n")
        listed = {entry["name"]: entry for entry in json.loads(self.reply("list", "--json", variables=places))}
        self.assertEqual(set(listed), {"my-tiny", "org/name"})
        self.assertEqual(listed["my-tiny"]["format"], "safetensors")
        self.assertEqual(listed["my-tiny"]["bytes"], (self.model / "model.safetensors").stat().st_size)
        table = self.reply("list", variables=places).splitlines()
        self.assertEqual(table[0].split(), ["NAME", "FORMAT", "SIZE", "PATH"])
        self.assertEqual(len(table), 3)


class BrokenModels(ProgramTest):
    def broken(self, name, **how):
        return tiny_model.write(self.root / name, **how)

    def test_missing_and_truncated_files(self):
        whole = (self.model / "model.safetensors").read_bytes()
        folder = self.broken("cut")
        for size in (0, 7, 8, 100, len(whole) // 2, len(whole) - 1):
            (folder / "model.safetensors").write_bytes(whole[:size])
            self.refused(1, "run", folder, "hi", says=["model.safetensors"])
        (folder / "model.safetensors").unlink()
        self.refused(1, "run", folder, "hi", says=["cut"])
        folder = self.broken("no-config")
        (folder / "config.json").unlink()
        self.refused(1, "run", folder, "hi", says=["config.json"])

    def test_headers_that_lie(self):
        folder = self.broken("lies")
        for size in (2**63, 2**64 - 1, 2**40):
            (folder / "model.safetensors").write_bytes(struct.pack("<Q", size) + b"{}" * 50)
            self.refused(1, "run", folder, "hi", says=["model.safetensors"])
        for header in (b"{", b"[]", b'{"a": 1}', b'{"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}'):
            (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + b"\0" * 64)
            self.refused(1, "run", folder, "hi", says=["model.safetensors"])

    def test_unknown_model_types_list_the_known_ones(self):
        folder = self.broken("martian", config={"model_type": "martian"})
        self.refused(1, "run", folder, "hi", says=["martian", "llama"])

    def test_config_keys_that_nobody_knows(self):
        folder = self.broken("odd", config={"warp_factor": 9})
        self.refused(1, "run", folder, "hi", says=["warp_factor"])
        self.assertEqual(self.reply("run", folder, "hi", "--allow-unknown-config"), "Paris.\n")

    def test_missing_surplus_and_misshapen_tensors(self):
        for name, change in (("missing", {"model.norm.weight": None}), ("surplus", {"model.extra": tiny_model.matrix(2, 2)}),
                             ("shape", {"model.norm.weight": ([4], [1.0] * 4)})):
            named = {**tiny_model.tensors(), **change}
            folder = self.broken(name, named={n: t for n, t in named.items() if t})
            self.refused(1, "run", folder, "hi", says=[next(iter(change))])

    def test_weights_that_are_not_numbers(self):
        for value in (float("nan"), float("inf")):
            named = tiny_model.tensors()
            named["model.layers.0.mlp.up_proj.weight"][1][5] = value
            folder = self.broken(f"bad-{value}", named=named)
            self.refused(1, "run", folder, "hi", says=["model.layers.0.mlp.up_proj.weight"])

    def test_tokenizers(self):
        folder = self.broken("mute", with_tokenizer=False)
        self.refused(1, "run", folder, "hi", says=["no tokenizer"])
        self.refused(1, "tokenize", folder, "hi", says=["no tokenizer"])
        (folder / "merges.txt").write_text("#version: 0.2\n")
        self.refused(1, "tokenize", folder, "hi", says=["merges.txt", "neither vocab.json"])
        (folder / "vocab.json").write_text(json.dumps(tiny_model.tokenizer()["model"]["vocab"]))
        (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "CLIPTokenizer"}')
        self.refused(1, "tokenize", folder, "hi", says=["CLIPTokenizer", "not byte-level"])
        settings = {"tokenizer_class": "Qwen2Tokenizer", "eos_token": "<|im_end|>", "pad_token": "<|im_end|>", "unk_token": None,
                    "additional_special_tokens": ["<|im_start|>"], "chat_template": tiny_model.TEMPLATE,
                    "added_tokens_decoder": {str(i): {"content": text, "special": True} for i, text in
                                             ((tiny_model.IM_START, "<|im_start|>"), (tiny_model.IM_END, "<|im_end|>"))}}
        (folder / "tokenizer_config.json").write_text(json.dumps(settings))
        self.assertEqual(json.loads(self.reply("tokenize", folder, "h\u00e9<|im_end|>", "--json"))["ids"],
                         [*"h\u00e9".encode(), tiny_model.IM_END])
        self.assertEqual(self.reply("run", folder, "hi"), "Paris.\n")
        (folder / "merges.txt").write_text("h i\n")
        self.refused(1, "tokenize", folder, "hi", says=["merges.txt line 1"])
        (folder / "merges.txt").unlink()
        self.refused(1, "tokenize", folder, "hi", says=["vocab.json", "neither merges.txt"])
        folder = self.broken("bad-tokenizer")
        (folder / "tokenizer.json").write_text('{"model": {"type": "Telepathy"}}')
        self.refused(1, "run", folder, "hi", says=["tokenizer.json"])
        (folder / "tokenizer.json").write_text("{")
        self.refused(1, "run", folder, "hi", says=["tokenizer.json"])

    def test_templates(self):
        folder = self.broken("plain", with_template=False)
        self.refused(1, "run", folder, "hi", says=["no chat template", "--raw"])
        self.assertEqual(self.reply("run", folder, "--raw", text=b"\n"), "Paris.\n")
        folder = self.broken("bad-template")
        (folder / "chat_template.jinja").write_text("{% for m in messages %}")
        self.refused(1, "run", folder, "hi", says=["template"])
        (folder / "chat_template.jinja").write_text("{{ raise_exception('only users may speak') }}")
        self.refused(1, "run", folder, "hi", says=["only users may speak"])

    def test_no_model_at_all(self):
        path = self.root / "notes.gguf"
        path.write_text("these are only notes")
        self.refused(1, "run", path, "hi", says=["notes.gguf"])
        self.refused(1, "run", self.root, "hi")
        self.refused(1, "run", "/dev/null", "hi")


if __name__ == "__main__":
    unittest.main()

"""Help, versions, and every kind of wrong usage."""

import json
import unittest

from harness import ProgramTest

COMMANDS = ["run", "batch", "inspect", "bench", "perplexity", "synth", "quantize", "tokenize", "apply-template", "arch",
            "list"]


class Help(ProgramTest):
    def test_the_program_lists_its_commands(self):
        for args in ([], ["--help"], ["-h"], ["help"]):
            text = self.reply(*args)
            for command in COMMANDS:
                self.assertRegex(text, rf"(?m)^  {command} ")

    def test_every_command_documents_its_options_with_variable_and_default(self):
        for command in COMMANDS:
            text = self.reply(command, "--help")
            self.assertEqual(text, self.reply("help", command))
            self.assertTrue(text.startswith(f"usage: skua {command} "))
            options = text.split("\nOptions")[1]
            names = [line.split("--")[1].split()[0] for line in options.splitlines()
                     if line.startswith("  ") and line[2:8].strip(" ,").startswith("-") and "--help" not in line]
            self.assertGreater(len(names), 2)
            flat = " ".join(options.split())
            for name in names:
                self.assertIn("[SKUA_" + name.upper().replace("-", "_"), flat, f"{command} --{name}")

    def test_run_documents_its_defaults(self):
        text = " ".join(self.reply("run", "--help").split())
        for part in ("[SKUA_TEMPERATURE, default 0]", "[SKUA_SEED, default 0]", "-m, --model MODEL",
                     "-n, --max-tokens N", "-c, --context N", "-t, --threads N", "-s, --seed N", "--temp"):
            self.assertIn(part, text)

    def test_options_are_described_as_the_command_means_them(self):
        flat = {name: " ".join(self.reply(name, "--help").split()) for name in ("run", "synth", "bench", "quantize")}
        self.assertIn("same options: same reply", flat["run"])
        for name in ("synth", "bench"):
            self.assertNotIn("same reply", flat[name])
            self.assertNotIn("random (", flat[name])
            self.assertRegex(flat[name], "--seed N [^[]*same weights")
        self.assertIn("one of 2, 3, 4, 5, 6, 8, none", flat["synth"])
        self.assertIn("one of 2, 3, 4, 5, 6, 8 [SKUA_QUANT", flat["quantize"])

    def test_perplexity_says_when_documents_are_parted(self):
        self.assertIn("is one text unless --documents is there", self.reply("perplexity", "--help"))

    def test_version(self):
        self.assertRegex(self.reply("--version"), r"^skua \d+\.\d+\.\d+\n$")


class WrongUsage(ProgramTest):
    def test_unknown_commands(self):
        self.refused(2, "chat", says=["unknown command chat", "skua --help"])
        self.refused(2, "tokenise", says=["did you mean tokenize?"])
        self.refused(2, "--verbose", says=["unknown option --verbose"])
        self.refused(2, "help", "nothing-like-it", says=["unknown command nothing-like-it"])

    def test_unknown_options(self):
        self.refused(2, "run", "--temprature", "1", says=["unknown option --temprature", "did you mean --temperature?"])
        self.refused(2, "run", "--frobnicate", says=["unknown option --frobnicate", "skua run --help"])
        self.refused(2, "list", "--seed", "1", says=["skua list: unknown option --seed"])

    def test_bad_values_name_option_value_and_what_is_allowed(self):
        self.refused(2, "run", "--top-k", "many", says=["--top-k", "'many'", "whole number from 0 to"])
        self.refused(2, "run", "--top-p", "1.5", says=["--top-p", "'1.5'", "from 0 to 1"])
        self.refused(2, "run", "--temp", "-1", says=["--temperature", "'-1'", "from 0 to 100"])
        self.refused(2, "run", "--temp=nan", says=["--temperature", "'nan'"])
        self.refused(2, "run", "-n", "0", says=["--max-tokens", "'0'", "or -1"])
        self.refused(2, "run", "--seed", "-5", says=["--seed", "'-5'", "random"])
        self.refused(2, "run", "--backend", "gpu", says=["--backend", "'gpu'", "cpu, ref"])
        self.refused(2, "run", "-t", "1.5", says=["--threads", "'1.5'", "from 1 to 1024"])
        self.refused(2, "run", "-c", "99999999999999999999", says=["--context"])
        self.refused(2, "run", "--repetition-penalty", "", says=["--repetition-penalty", "''"])

    def test_empty_values_that_mean_nothing(self):
        for name in ("--stop", "--model", "--draft", "--trace", "--home"):
            self.refused(2, "run", "-p", "x", name, "", says=[name, "''"])
        self.refused(2, "run", "-p", "x", "--stop", "x" * 4097, says=["--stop", "4097 bytes", "1 to 4096 bytes"])

    def test_options_that_do_not_go_together(self):
        self.refused(2, "run", "-p", "x", "--compute", "f64", says=["--compute f64", "--backend ref"])
        self.refused(2, "run", "-p", "x", "--backend", "ref", "--compute", "native", says=["--backend cpu"])
        self.refused(2, "run", "-p", "x", "--backend", "ref", "--cache-type", "f16", says=["--cache-type f16", "--backend cpu"])
        self.refused(2, "run", "-p", "x", "--cache-type", "f8", says=["--cache-type", "'f8'", "f32, f16, bf16"])
        self.refused(2, "run", "-p", "x", "--speculate", "draft", says=["needs --draft"])
        self.refused(2, "run", "-p", "x", *["--stop=x"] * 65, says=["more than 64"])
        self.refused(2, "run", "-p", "x", "--backend", "ref", "--isa", "avx2", says=["--isa", "--backend ref"])

    def test_options_that_would_change_nothing(self):
        for option in (["--quant", "4"], ["--group", "32"], ["--seed", "1"]):
            self.refused(2, "bench", self.model, *option, says=[option[0], "--in-memory"])
        for option in (["-p", "4"], ["-n", "4"], ["--in-memory"], ["--backend", "ref"], ["--compute", "native"],
                       ["--mla-prefill", "fast"], ["--allow-unknown-config"]):
            self.refused(2, "bench", "mla", *option, says=["bench mla"])
        self.refused(2, "perplexity", self.model, "-c", "100", says=["-c"])
        self.refused(2, "bench", "--in-memory", says=["expected a config", "llama-3.2-1b"])
        self.refused(2, "bench", "llama-3.2-1b", "--in-memory", "--seed", "random", says=["--seed", "random"])

    def test_an_empty_argument_is_no_default_model(self):
        for command in ("run", "bench", "perplexity", "inspect", "quantize", "tokenize", "apply-template"):
            self.refused(2, command, "", says=[f"skua {command}: MODEL is empty"])
        self.refused(2, "synth", "", says=["skua synth: CONFIG is empty"])
        self.refused(2, "batch", "", says=["skua batch: FILE.jsonl is empty"])
        self.assertEqual(self.reply("tokenize", "-m", self.model, ""), "0 tokens\n")

    def test_two_models_are_one_too_many(self):
        for command in ("bench", "perplexity", "inspect", "quantize"):
            self.refused(2, command, "-m", self.model, "other", says=["unexpected argument 'other'", "or --model"])

    def test_sizes_that_nothing_can_have(self):
        self.refused(2, "bench", self.model, "-p", "16777216", says=["--prompt-tokens plus --gen-tokens", "16777216"])
        self.refused(2, "bench", self.model, "-c", "0", "-p", "16777150", "-n", "50", "--sequences", "2",
                     says=["16777152 together", "16777200"])
        for context in ("5", "256"):
            self.refused(2, "bench", "mla", "--context", context, says=["--context", "257", f"got {context}"])

    def test_what_is_to_be_made_is_said_whole(self):
        config, out = "llama-3.2-1b", self.root / "never"
        for command in (["synth", config], ["quantize", self.model]):
            self.refused(2, *command, says=["--out", "--out DIR"])
            self.refused(2, *command, "--out", "", says=["--out", "''"])
        self.refused(2, "synth", config, "--seed", "random", "--out", out, says=["--seed", "random"])
        self.refused(2, "quantize", self.model, "--quant", "none", "--out", out, says=["--quant", "--rule PART=none"])
        for rule in ("x", "=8", "x=9", "x=8:5", "x=none:32"):
            self.refused(2, "quantize", self.model, "--rule", rule, "--out", out, says=["--rule", f"'{rule}'"])
        self.assertFalse(out.exists())

    def test_files_that_are_not_there_are_no_wrong_usage(self):
        for command in (["batch"], ["apply-template", "-f"], ["perplexity", "-f"]):
            self.refused(1, *command, "/nonexistent", says=["/nonexistent"])

    def test_bad_variables_are_named(self):
        self.refused(2, "run", "-p", "x", variables={"SKUA_TOP_K": "x"}, says=["SKUA_TOP_K", "'x'"])
        self.refused(2, "run", "-p", "x", variables={"SKUA_RAW": "maybe"}, says=["SKUA_RAW", "'maybe'", "yes or no"])

    def test_variables_count_only_where_the_option_exists_and_the_command_line_wins(self):
        self.reply("list", variables={"SKUA_TOP_K": "x"})
        self.assertEqual(self.reply("run", "--raw", self.model, "0", variables={"SKUA_MAX_TOKENS": "3"}), "123\n")
        self.assertEqual(self.reply("run", "--raw", self.model, "0", "-n", "2", variables={"SKUA_MAX_TOKENS": "3"}), "12\n")
        self.assertEqual(self.reply("run", variables={"SKUA_MODEL": str(self.model)}, text=b"hi"), "Paris.\n")

    def test_missing_values_and_surplus_arguments(self):
        self.refused(2, "run", "--seed", says=["--seed needs a value"])
        self.refused(2, "run", "-p", says=["needs a value"])
        self.refused(2, "inspect", "a", "b", says=["unexpected argument 'b'"])
        self.refused(2, "list", "a", says=["unexpected argument 'a'"])

    def test_nothing_to_answer(self):
        self.refused(2, "run", self.model, says=["no text to answer", "-p TEXT"])
        self.refused(2, "run", self.model, "-p", "", says=["no text to answer"])
        self.refused(2, "apply-template", self.model, says=["no messages"])

    def test_text_that_is_not_utf8_names_the_offset(self):
        self.refused(2, "run", self.model, text=b"abc\xff", says=["the prompt", "UTF-8", "offset 3"])
        self.refused(2, "tokenize", self.model, text=b"abc\xff", says=["the text", "UTF-8", "offset 3"])
        self.refused(2, "run", self.model, text="é".encode() + b"\xed\xa0\x80", says=["offset 2"])  # a surrogate
        self.refused(2, "run", self.model, text=b"\xf0\x9f\x98", says=["offset 0"])  # cut short
        self.refused(2, "tokenize", self.model, text=b"a\xc0\x80", says=["offset 1"])  # overlong
        self.refused(2, "run", self.model, "-p", "x", "--system", b"\xfe".decode("utf-8", "surrogateescape"),
                     says=["--system", "offset 0"])

    def test_control_characters_in_names_stay_on_one_line(self):
        line = self.refused(1, "run", "no\nsuch\x1b[2Jmodel", "x", says=["such", "model"])
        self.assertNotIn("\x1b", line)

    def test_arguments_behind_two_dashes_are_text(self):
        self.assertEqual(self.reply("run", "--raw", "-m", self.model, "-n", "2", "--", "--seed 0"), "12\n")
        self.assertEqual(self.reply("run", "-m", self.model, "list", "run"), "Paris.\n")


class Listing(ProgramTest):
    def test_json_is_json(self):
        self.assertEqual(json.loads(self.reply("list", "--json")), [])

    def test_a_family_without_golden_case_says_why_it_shows_nothing(self):
        families = json.loads(self.reply("arch", "--json"))
        bare = [family for family in families if not family["golden"]]
        self.assertEqual([family["family"] for family in bare], ["deepseek_v32"])
        self.assertIn("float64", bare[0]["note"])
        self.assertFalse(any("note" in family for family in families if family["golden"]))
        table = self.reply("arch")
        self.assertRegex(table, r"(?m)^\?: deepseek_v32: .*no golden case.*float64")
        self.assertLess(table.index("\ndeepseek_v3 "), table.index("\ndeepseek_v32 "))


if __name__ == "__main__":
    unittest.main()

"""skua run without a terminal: replies, pipes, limits, signals."""

import json
import os
import signal
import subprocess
import time
import unittest

import tiny_model
from harness import SLOW, ProgramTest

TEMPLATE_TOKENS = len("user\n\n") + len("assistant\n") + 3  # of one message, besides its bytes


class Replies(ProgramTest):
    def test_stdout_is_the_reply_and_stderr_the_rates(self):
        for args, text in ((["-p", "hi"], b""), (["hi"], b""), ([], b"hi"), ([], b"hi\n"), ([], b"hi\r\n")):
            result = self.run_skua("run", self.model, *args, text=text)
            self.assertEqual((result.returncode, result.stdout), (0, b"Paris.\n"), result.stderr)
            self.assertRegex(result.stderr, rf"^prompt {TEMPLATE_TOKENS + 2} tokens, [\d.]+ tok/s; reply 7 tokens, [\d.]+ tok/s( \(guessed \d+, right \d+\))?\n$")

    def test_the_text_stands_before_what_the_pipe_holds(self):
        self.assertEqual(self.reply("run", self.model, "-p", "count", "-n", "2", text=b"x"), "12\n")
        self.assertEqual(self.reply("run", self.model, "-p", "x", "-n", "2", text=b"count"), "Pa\n")
        result = self.run_skua("run", self.model, "-p", "ab", text=b"cde\n")
        self.assertIn(f"prompt {TEMPLATE_TOKENS + 6} tokens", result.stderr)

    def test_raw_text_is_continued_to_the_byte(self):
        self.assertEqual(self.reply("run", "--raw", self.model, "-n", "3", text=b"7"), "890\n")
        self.assertEqual(self.reply("run", "--raw", self.model, text=b"7\n"), "Paris.\n")
        self.assertEqual(self.reply("run", "--raw", self.model, "-p", "x", "-n", "3", text=b"7"), "890\n")

    def test_a_system_message_is_part_of_the_prompt(self):
        result = self.run_skua("run", self.model, "hi", "--system", "Be brief.")
        n_system = len("system\nBe brief.\n") + 2
        self.assertIn(f"prompt {TEMPLATE_TOKENS + 2 + n_system} tokens", result.stderr)

    def test_values_that_the_cache_cannot_hold_are_told_of(self):
        name = "model.layers.0.self_attn.v_proj.weight"
        large = tiny_model.matrix(tiny_model.HEAD_DIM, tiny_model.WIDTH, [(0, t, 1e5) for t in range(tiny_model.WIDTH)])
        model = tiny_model.write(self.root / "large", named={**tiny_model.tensors(), name: large})
        for kind, warned in (("f16", True), ("bf16", False), ("f32", False)):
            result = self.run_skua("run", model, "-p", "hi", "--cache-type", kind)
            self.assertEqual((result.returncode, result.stdout), (0, b"Paris.\n"), result.stderr)
            says = r"--cache-type f16: [1-9]\d* keys or values lay beyond 65504 [^\n]*Use --cache-type bf16\n"
            (self.assertRegex if warned else self.assertNotRegex)(result.stderr, says)

    def test_limits_and_stop_texts(self):
        count = ["run", self.model, "count"]
        self.assertEqual(self.reply(*count, "-n", "5"), "12345\n")
        self.assertEqual(self.reply(*count, "--stop", "67"), "12345\n")
        self.assertEqual(self.reply(*count, "--stop", "9", "--stop", "456"), "123\n")
        self.assertEqual(self.reply(*count, "--max-tokens", "2", "--temperature", "0"), "12\n")

    def test_the_same_seed_gives_the_same_reply(self):
        hot = ["run", self.model, "hi", "--temp", "100", "--top-k", "0", "--top-p", "1", "--min-p", "0", "-n", "20"]
        first = self.run_skua(*hot, "--seed", "7").stdout
        self.assertEqual(first, self.run_skua(*hot, "--seed", "7", "--threads", "2").stdout)
        self.assertNotEqual(first, self.run_skua(*hot, "--seed", "8").stdout)
        self.assertNotEqual(self.run_skua(*hot, "-s", "random").stdout, self.run_skua(*hot, "-s", "random").stdout)

    def test_a_user_cannot_type_the_markup_of_the_template(self):
        result = self.run_skua("run", self.model, "<|im_end|>")
        self.assertIn(f"prompt {TEMPLATE_TOKENS + len('<|im_end|>')} tokens", result.stderr)

    def test_both_backends_answer(self):
        for backend in ("cpu", "ref"):
            self.assertEqual(self.reply("run", self.model, "hi", "--backend", backend), "Paris.\n")

    def test_verbose_says_what_ran(self):
        result = self.run_skua("run", self.model, "hi", "-v", "--backend", "ref")
        for part in ("skua: model", "12 used", "skua: backend   ref", "skua: kernels", "skua: memory"):
            self.assertIn(part, result.stderr)


class Contexts(ProgramTest):
    def test_a_prompt_that_is_too_long_names_both_numbers(self):
        n_prompt = TEMPLATE_TOKENS + 100
        self.refused(1, "run", self.model, "x" * 100, "--context", "64", says=[f"{n_prompt} tokens", "64"])

    def test_a_reply_that_fills_the_context_says_so(self):
        result = self.run_skua("run", self.model, "count", "--context", "64")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(result.stdout), 64 - TEMPLATE_TOKENS - len("count") - 1 + 1)
        self.assertIn("skua: warning: the reply stopped because the context of 64 tokens is full", result.stderr)

    def test_a_context_beyond_the_model_is_refused(self):
        self.refused(1, "run", self.model, "x", "--context", "1000001", says=["1000001", "1000000"])


class Pipes(ProgramTest):
    def test_a_reader_that_leaves_ends_the_program_quietly(self):
        process = self.start("run", self.model, "count", "-c", "1000000", stdin=subprocess.DEVNULL)
        self.assertEqual(process.stdout.read(3), b"123")
        process.stdout.close()
        self.assertEqual(process.wait(SLOW), -signal.SIGPIPE)
        self.assertEqual(process.stderr.read(), b"")
        process.stderr.close()

    def test_a_full_disk_is_an_error(self):
        with open("/dev/full", "wb") as full:
            self.refused(1, "run", self.model, "hi", stdout=full, says=["standard output", "No space left"])
            self.refused(1, "list", "--json", stdout=full, says=["standard output", "No space left"])

    def test_stdin_may_be_closed(self):
        process = self.start("run", self.model, "hi", stdin=None, preexec_fn=lambda: os.close(0))
        out, err = process.communicate(timeout=SLOW)
        self.assertEqual((process.returncode, out), (0, b"Paris.\n"), err)


class Interrupts(ProgramTest):
    def test_ctrl_c_ends_the_reply_and_keeps_what_was_said(self):
        process = self.start("run", self.model, "count", "-c", "1000000", stdin=subprocess.DEVNULL)
        self.assertEqual(process.stdout.read(3), b"123")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=SLOW)
        self.assertEqual(process.returncode, 130, err)
        self.assertRegex(out.decode(), r"^[0-9]*\n$")
        self.assertIn(b"reply", err)

    def test_ctrl_c_while_waiting_for_stdin_ends_at_once(self):
        fifo = self.root / "fifo"
        os.mkfifo(fifo)
        process = self.start("run", self.model, "-p", "x", stdin=os.open(fifo, os.O_RDWR))
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(SLOW), -signal.SIGINT)
        process.communicate()


class Templates(ProgramTest):
    def test_text_and_ids(self):
        expected = "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"
        out = json.loads(self.reply("apply-template", self.model, "hi", "--system", "S", "--json"))
        self.assertEqual(out["prompt"], expected)
        self.assertEqual(len(out["ids"]), out["n_tokens"])
        self.assertEqual(out["ids"][:3], [256, ord("s"), ord("y")])
        text = self.reply("apply-template", self.model, "-p", "hi", "--system", "S")
        self.assertTrue(text.startswith(expected + "\n\n"))

    def test_texts_reach_the_prompt_as_they_are(self):
        odd = ["[a, b]", "[", "{x}", "", " ", "a=b", "'q'", '"q"', "50%", "a,b", "-1", "- x", "++", "\\n", "\n\n", "[]"]
        for text in odd:
            if text:
                out = json.loads(self.reply("apply-template", "-m", self.model, "--json", text))["prompt"]
                self.assertIn(f"user\n{text}<|im_end|>", out)
                for args in (["-p", text], ["--prompt", text], [f"--prompt={text}"]):
                    self.assertEqual(json.loads(self.reply("apply-template", self.model, "--json", *args))["prompt"], out)
        out = json.loads(self.reply("apply-template", self.model, "--json", *odd))["prompt"]
        self.assertIn(f"user\n{' '.join(odd)}<|im_end|>", out)

    def test_messages_from_a_file(self):
        path = self.root / "messages.json"
        path.write_text(json.dumps([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]))
        out = self.reply("apply-template", self.model, "-f", path, "-p", "c")
        self.assertIn("<|im_start|>assistant\nb<|im_end|>\n<|im_start|>user\nc<|im_end|>\n", out)

    def test_what_a_chats_object_may_hold(self):
        path = self.root / "chat.json"
        chat = {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b c"}]}

        def prompt(**more):
            path.write_text(json.dumps({**chat, **more}))
            return json.loads(self.reply("apply-template", self.model, "-f", path, "--json"))["prompt"]

        self.assertTrue(prompt(continue_final_message=True).endswith("<|im_start|>assistant\nb c"))
        self.assertTrue(prompt(add_generation_prompt=False).endswith("b c<|im_end|>\n"))
        self.assertEqual(prompt(chat_template_kwargs={"add_generation_prompt": True}), prompt())
        for more, says in (({"enable_thinking": False}, "enable_thinking"), ({"tools": "abc"}, "tools must be"),
                           ({"tools": [1]}, "tools must be"), ({"documents": {}}, "documents must be"),
                           ({"chat_template_kwargs": 1}, "must be an object"),
                           ({"continue_final_message": 1}, "true or false")):
            path.write_text(json.dumps({**chat, **more}))
            code = 1 if says.endswith("must be") else 2
            self.refused(code, "apply-template", self.model, "-f", path, says=[says])

    def test_bad_files(self):
        path = self.root / "bad.json"
        for text, says in (("{", "bad.json"), ("[1]", "role"), ('{"a": 1}', "messages"), ("[]", "no messages")):
            path.write_text(text)
            self.refused(2, "apply-template", self.model, "-f", path, says=[says])
        self.refused(1, "apply-template", self.model, "-f", self.root / "none.json", says=["none.json"])


if __name__ == "__main__":
    unittest.main()

"""The README's promise, end to end: the program answers a question with the default model of the store. Exits with 77
(skipped, with the reason) when the model is not there: ./quickstart test fetches it before."""

import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKUA = pathlib.Path(sys.argv.pop(1))


def model_name():
    for line in (ROOT / "deps.lock").read_text().splitlines():
        if line.startswith("model "):
            return line.split()[1]
    raise SystemExit("deps.lock names no model")


def ask(*arguments, stdin=""):
    return subprocess.run([SKUA, "run", model_name(), *arguments], input=stdin, capture_output=True, text=True, timeout=300)


class DefaultModel(unittest.TestCase):
    question = "What is the capital of France?"

    def test_answers_with_speeds_on_stderr(self):
        result = ask("-p", self.question, "--temperature", "0", "--verbose")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, "The capital of France is Paris.\n")
        self.assertRegex(result.stderr, r"multi_linear_q4_1_s8r\b")  # auto is native: f32's answer, three times as fast
        self.assertIn("tok/s", result.stderr)
        self.assertNotIn("\033", result.stdout + result.stderr)

    def test_same_bytes_from_argument_and_pipe_and_threads(self):
        settings = ["--seed", "3", "--max-tokens", "24"]
        first = ask("-p", self.question, "--threads", "1", *settings)
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertNotEqual(first.stdout.strip(), "")
        self.assertEqual(ask("-p", self.question, "--threads", "2", *settings).stdout, first.stdout)
        self.assertEqual(ask(*settings, stdin=self.question).stdout, first.stdout)


if __name__ == "__main__":
    listing = subprocess.run([SKUA, "list"], capture_output=True, text=True)
    if model_name() not in listing.stdout:
        print(f"skipped: the default model {model_name()} is not in the store; ./quickstart test fetches it")
        sys.exit(77)
    unittest.main()

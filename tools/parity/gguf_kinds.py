"""GGUF vocabularies made of published ones, as the conversion scripts of llama.cpp write them, and their judges."""
import base64
import json

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

from vocabularies import LLAMA3, O200K, QWEN

TEKKEN = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|"
          r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|"
          r"\s*[\r\n]+|\s+(?!\S)|\s+")


def sentencepiece_vocabulary(fields, proto_fields):
    """A .model file as GGUF keys; `fields`: proto_fields of the file."""
    vocab = {"tokens": [], "scores": [], "token_types": [], "add_bos": False, "add_eos": False}
    for number, value in fields:
        if number == 1:
            import struct
            piece = dict(proto_fields(value))
            vocab["tokens"].append(piece.get(1, b"").decode())
            vocab["scores"].append(struct.unpack("<f", piece[2])[0] if 2 in piece else 0.0)
            vocab["token_types"].append(piece.get(3, 1))
        elif number == 2:
            vocab["model"] = "llama" if dict(proto_fields(value)).get(3, 1) == 2 else "t5"
        elif number == 3:
            rules = dict(proto_fields(value))
            vocab["add_space_prefix"] = bool(rules.get(3, 1))
            vocab["remove_extra_whitespaces"] = bool(rules.get(4, 1))
            if rules.get(2):
                vocab["charsmap"] = base64.b64encode(rules[2]).decode()
    vocab["unk_id"] = vocab["token_types"].index(2)
    return vocab


def bert_vocabulary(path):
    """A WordPiece tokenizer.json as GGUF keys: words marked at their start instead of their inside."""
    table = json.loads(path.read_text())["model"]["vocab"]
    tokens = [""] * len(table)
    for token, i in table.items():
        named = token.startswith("[") and token.endswith("]") and len(token) > 2
        tokens[i] = token if named else token[2:] if token.startswith("##") and len(token) > 2 else "\u2581" + token
    special = {name: table[name] for name in ("[CLS]", "[SEP]", "[UNK]", "[PAD]", "[MASK]")}
    types = [3 if i in special.values() else 1 for i in range(len(tokens))]
    return {"model": "bert", "tokens": tokens, "token_types": types, "cls_id": special["[CLS]"], "sep_id": special["[SEP]"],
            "unk_id": special["[UNK]"], "pad_id": special["[PAD]"]}


def _regex(*patterns):
    from tokenizers import Regex
    split = [pre_tokenizers.Split(Regex(p), "isolated", invert=False) for p in patterns]
    return pre_tokenizers.Sequence([*split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def pre_tokenizer_judges():
    """GGUF name of a pre-tokenizer to (what the family's tokenizer.json has, NFC, ignore_merges)."""
    gpt2 = pre_tokenizers.ByteLevel(add_prefix_space=False)
    digits = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), gpt2])
    deepseek3 = _regex(r"\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
                       "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|"
                       " ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+")
    coder = [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"]
    from tokenizers import Regex
    falcon = pre_tokenizers.Sequence([pre_tokenizers.Punctuation("contiguous"), gpt2, pre_tokenizers.Digits(False),
                                      pre_tokenizers.Split(Regex("[0-9][0-9][0-9]"), "isolated", invert=False)])
    return {"gpt-2": (gpt2, False, False), "starcoder": (digits, False, False), "command-r": (digits, False, False),
            "llama-bpe": (_regex(LLAMA3), False, True), "dbrx": (_regex(LLAMA3), False, False),
            "qwen2": (_regex(QWEN), True, False), "stablelm2": (_regex(QWEN), False, False),
            "gpt-4o": (_regex(O200K), False, False), "tekken": (_regex(TEKKEN), False, True),
            "deepseek-v3": (deepseek3, False, False), "deepseek-coder": (_regex(*coder, r"\p{N}"), False, False),
            "falcon": (falcon, False, False)}


def with_pre_tokenizer(vocab, name, judge):
    """The byte-level vocabulary `vocab` (GGUF keys) under another pre-tokenizer, and HF's tokenizer of the same."""
    pre, nfc, ignore_merges = judge
    made = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate(vocab["tokens"])},
                                merges=[tuple(m.split(" ")) for m in vocab["merges"]], ignore_merges=ignore_merges))
    made.pre_tokenizer = pre
    made.decoder = decoders.ByteLevel()
    if nfc:
        made.normalizer = normalizers.NFC()
    made.add_special_tokens([t for t, kind in zip(vocab["tokens"], vocab["token_types"]) if kind == 3])
    return {**vocab, "pre": name, "add_bos": False}, made

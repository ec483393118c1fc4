"""GGUF vocabularies made of published ones, as the conversion scripts of llama.cpp write them, and their judges."""
import base64
import json

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

from vocabularies import LLAMA3, O200K, QWEN

TEKKEN = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|"
          r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|"
          r"\s*[\r\n]+|\s+(?!\S)|\s+")

# Letters and punctuation of DeepSeek LLM; runs of Youtu and AFMoE.
DEEPSEEK_LLM = (
    "[A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af\u0370-\u0373\u0376"
    "\u0377\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f\u0531-"
    "\u0556\u10a0-\u10c5\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77\u1d79-\u1d9a"
    "\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4"
    "\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc"
    "\u2102\u2107\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139\u213c-\u213f"
    "\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee\u2cf2\u2cf3\ua640-\ua66d\ua680-\ua69b"
    "\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e\uab70-\uabbf\ufb00-\ufb06\ufb13-\ufb17\uff21-\uff3a\uff41-\uff5a"
    "\U00010400-\U0001044f\U000104b0-\U000104d3\U000104d8-\U000104fb\U00010c80-\U00010cb2\U00010cc0-\U00010cf2"
    "\U000118a0-\U000118df\U0001e900-\U0001e943]+",
    "[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+")
YOUTU = ("[\uac00-\ud7a3\u3131-\u318e]+|[\uff01\u2026\u201c\u201d\u2018\u2019\u2014\uff1a\uff1b\uff0c\u3001-\u303f\ufe30"
         "-\ufe4f]+|[\u3105-\u312f]+|[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+")
AFMOE = ("[\u4e00-\u9fff\u3400-\u4dbf\u8c48-\ufaff\u3040-\u309f\u30a0-\u30ff\uff65-\uff9f\u2f00-\u2fdf\u0e40-\u0e7f"
         "\u0e80-\u0eff\u1780-\u17ff\u1000-\u109f\uaa60-\uaa7f\ua9e0-\ua9ff\uac00-\ud7af\u1100-\u11ff]+")


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
    letters, punctuation = DEEPSEEK_LLM
    gpt2_rule = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    apostrophes = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
    words = r"[^\r\n\p{L}\p{N}]?\p{L}+"
    rest = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
    spaces = r"\s+(?!\S)|\s+"
    han = lambda letters: r"[" + letters + r"&&[^\p{Han}]]"
    upper, lower = han(r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}"), han(r"\p{Ll}\p{Lm}\p{Lo}\p{M}")
    kimi = (rf"[\p{{Han}}]+|[^\r\n\p{{L}}\p{{N}}]?{upper}*{lower}+{apostrophes}?|[^\r\n\p{{L}}\p{{N}}]?{upper}+{lower}*{apostrophes}?|"
            rf"\p{{N}}{{1,3}}|{rest}{spaces}")
    bailing = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|" + spaces)
    jais = (apostrophes + "|" + words + r"|\p{N}{1,3}|" + rest +
            "|".join(rf"\s{{{n}}}(?!\S)" for n in ("512", "256", "128", "64", "32", "16", "8", "4", "1,2")) + r"|\s{1}")
    exaone = (apostrophes + r"|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|" + spaces)
    bloom = " ?[^(\\s|[.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c])]+"
    cjk = "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
    words3 = ("[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|")
    spark = words3 + r" ?[\p{P}\p{S}]+|[\r\n]|" + spaces
    afmoe = words3 + " ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|" + spaces
    groups = r"\d{1,3}(?=(?:\d{3})*\b)"
    more = {
        "default": _regex(r"[\p{P}\$\+<=>\^~\|]+", gpt2_rule, r"\p{N}+", "[0-9][0-9][0-9]"),
        "deepseek-llm": _regex(r"[\r\n]", r"\s?" + letters, r"\s?" + punctuation, r"\s+$", coder[3], r"\p{N}"),
        "kimi-k2": _regex(kimi), "bailingmoe": _regex(bailing), "jais-2": _regex(jais), "exaone-moe": _regex(exaone),
        "seed-coder": _regex(apostrophes + "|" + words + r"|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|" + spaces),
        "ufakzeka": _regex(words + r"|\p{N}|" + rest + spaces), "grok-2": _regex(QWEN),
        "minicpm5": _regex(r"\p{N}{1,3}", apostrophes + "|" + words + r"|\p{N}+|" + rest + spaces),
        "laguna": _regex(r"[^\n]+|[\n]+", QWEN), "bloom": _regex(bloom), "viking": _regex(bloom, r"\p{N}"),
        "superbpe": _regex(r"\p{N}+", r"(?=(\d{3})+(?!\d))"), "tiny_aya": _regex(groups, O200K),
        "youtu": _regex(YOUTU, O200K.replace(r"\p{N}{1,3}", r"\p{N}")), "spark2_5": _regex(r"\p{N}{1,3}", cjk, spark, r"\p{N}"),
        "afmoe": _regex(r"\p{N}+", r"(?=(?:\p{N}{3})+(?!\p{N}))", AFMOE, afmoe),
        "chameleon": _regex("<sentinel:[0-9]+>", "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z", "([\t\n]|    |  )", r"\p{N}",
                            r"[\p{P}!-/:-@\[-`{-~]", gpt2_rule)}
    ignoring = {"minicpm5", "youtu"}
    from tokenizers import Regex
    falcon = pre_tokenizers.Sequence([pre_tokenizers.Punctuation("contiguous"), gpt2, pre_tokenizers.Digits(False),
                                      pre_tokenizers.Split(Regex("[0-9][0-9][0-9]"), "isolated", invert=False)])
    more = {name: (made, False, name in ignoring) for name, made in more.items()}
    return {**more, "gpt-2": (gpt2, False, False), "starcoder": (digits, False, False), "command-r": (digits, False, False),
            "llama-bpe": (_regex(LLAMA3), False, True), "dbrx": (_regex(LLAMA3), False, False),
            "qwen2": (_regex(QWEN), True, False), "stablelm2": (_regex(QWEN), False, False),
            "gpt-4o": (_regex(O200K), False, False), "tekken": (_regex(TEKKEN), False, True),
            "deepseek-v3": (deepseek3, False, False), "deepseek-coder": (_regex(*coder, r"\p{N}"), False, False),
            "falcon": (falcon, False, False)}


def with_numbers(vocab):
    """`vocab` with all numbers of two and three digits, so that it shows where a pre-tokenizer cuts between digits."""
    numbers = [f"{i:0{n}}" for n in (2, 3) for i in range(10 ** n)]
    known = set(vocab["tokens"])
    numbers = [n for n in numbers if n not in known]
    return {**vocab, "tokens": vocab["tokens"] + numbers, "token_types": vocab["token_types"] + [1] * len(numbers),
            "merges": vocab["merges"] + [f"{n[:-1]} {n[-1]}" for n in numbers]}


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

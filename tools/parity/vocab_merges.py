"""Checkpoints with vocab.json and merges.txt instead of tokenizer.json: the files beside the two, and what HF tokenizers
makes of the same two files when it is told by hand what those files mean."""
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

import vocabularies

SPECIAL = ["<|endoftext|>", "</s>", "<pad>"]
CORPUS = ["the theory of the three thin things that they think there is in the thick of it, he said, and she had heard it too",
          "int main(int argc, char** argv) { return argc > 1 ? 0 : 1; }  // the main of it\n\n    return the_thing(there);\n",
          "and in the end 1234 hands handed 5678 sands over; isn't it, I'm told, we'll see what they've done",
          "na\u00efve caf\u00e9s in Z\u00fcrich, \u4f60\u597d\u4e16\u754c \u4f60\u597d, \u043f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440"] * 4


def write_pair(folder):
    """Trains a small vocabulary and writes vocab.json and merges.txt."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=400, special_tokens=SPECIAL, show_progress=False,
                                                         initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    made.model.save(str(folder))


def flags(content, special=True, **others):
    return {"content": content, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False,
            "special": special, **others}


def setups(n):
    """Name to (files beside the two by their names, model_type, what they mean) over a vocabulary of n entries.
    A meaning: added tokens in their order, whether GPT-2's or Qwen's split, prefix space, ids around a text."""
    end = "<|endoftext|>"
    chat = ["<|im_start|>", "<|im_end|>"]
    typed = {"__type": "AddedToken", "content": "</s>", "lstrip": False, "normalized": True, "rstrip": False,
             "single_word": False}
    gpt2 = {"tokenizer_class": "GPT2Tokenizer"}
    return {
        "gpt2": ({"tokenizer_config.json": {**gpt2, "bos_token": end, "eos_token": end, "unk_token": end,
                                            "added_tokens_decoder": {"0": flags(end, normalized=True)}}},
                 "gpt2", {"added": [flags(end, normalized=True)]}),
        "opt": ({"tokenizer_config.json": {**gpt2, "add_bos_token": True, "bos_token": typed, "eos_token": typed,
                                           "unk_token": typed, "pad_token": "<pad>"},
                 "special_tokens_map.json": {k: flags("</s>", normalized=True) | {"special": True}
                                             for k in ("bos_token", "eos_token", "unk_token")} | {"pad_token": "<pad>"}},
                "opt", {"added": [flags("</s>", normalized=True), flags("<pad>")], "before": ["</s>"]}),
        "qwen": ({"tokenizer_config.json": {
            "tokenizer_class": "Qwen2TokenizerFast", "bos_token": None, "eos_token": "<|im_end|>", "pad_token": end,
            "additional_special_tokens": chat, "add_prefix_space": False, "add_bos_token": False,
            "added_tokens_decoder": {str(n + 2): flags("<think>", special=False), "0": flags(end),
                                     str(n): flags(chat[0]), str(n + 1): flags(chat[1])}}},
            "qwen3", {"added": [flags(end), *map(flags, chat), flags("<think>", special=False)], "qwen": True}),
        "qwen legacy": ({"added_tokens.json": {chat[1]: n + 1, chat[0]: n, "<think>": n + 2},
                         "special_tokens_map.json": {"eos_token": chat[1], "pad_token": end,
                                                     "additional_special_tokens": chat}},
                        "qwen2", {"added": [*map(flags, chat), flags("<think>", special=False, normalized=True), flags(end)],
                                  "qwen": True}),
        "flags": ({"tokenizer_config.json": {**gpt2, "add_prefix_space": True, "add_eos_token": True, "eos_token": "</s>",
                                             "mask_token": flags("<mask>", lstrip=True) | {"__type": "AddedToken"},
                                             "added_tokens_decoder": {
                                                 str(n + 40): flags("the", special=False, single_word=True),
                                                 str(n + 50): flags("<sep>", rstrip=True)}}},
                  "gptj", {"added": [flags("the", special=False, single_word=True), flags("<sep>", rstrip=True), flags(end),
                                     flags("</s>"), flags("<mask>", lstrip=True)],
                           "prefix_space": True, "after": ["</s>"]}),
    }


def judge(folder, added, qwen=False, prefix_space=False, before=(), after=()):
    made = Tokenizer(models.BPE.from_file(str(folder / "vocab.json"), str(folder / "merges.txt")))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)
    if qwen:
        made.normalizer = normalizers.NFC()
        made.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(vocabularies.QWEN), "isolated", invert=False),
            pre_tokenizers.ByteLevel(add_prefix_space=prefix_space, use_regex=False)])
    made.decoder = decoders.ByteLevel()
    made.add_tokens([AddedToken(**token) for token in added])
    around = [*before, "$A", *after]
    made.post_processor = processors.TemplateProcessing(
        single=" ".join(around), special_tokens=[(t, made.token_to_id(t)) for t in {*before, *after}])
    return made


CASES = ["", "the thing", " there and then", "isn't it 12345", "<s></s><pad>x", "<|endoftext|>the end<|endoftext|>",
         "<|im_start|>user\nhi there<|im_end|>\n<|im_start|>assistant\n<think>\n", "e\u0301 caf\u00e9 cafe\u0301 Z\u00fcrich",
         "\u4f60\u597d\u4e16\u754c", "a  b   c\n\n\n  d\t", "they the  <mask>  the<sep>  the", "\U0001f336\ufe0f!?", "int main() { }",
         "THE'LL we'll", "\u00a0x\u2003y", "</s", "<|im_start", "1 22 333 4444 the_thing"]

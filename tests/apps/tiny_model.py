"""A checkpoint of a few hundred kilobytes whose replies are known.

Attention and feed-forward weights are zero, embeddings are one-hot and the output matrix is a table from each token
to the next, so the reply depends on the last character of the prompt alone: after a line feed it is "Paris." and the
end, after a digit it counts 1 2 3 ... 9 0 1 for ever. The chat template ends with a line feed, or with "0" when the
message begins with "count".
"""

import json
import pathlib
import struct

WIDTH = 264
N_VOCAB = 258
IM_START, IM_END = 256, 257
HEAD_DIM = 8
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if messages[-1]['content'][:5] == 'count' %}0{% endif %}{% endif %}")
CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_hidden_layers": 1, "hidden_size": WIDTH,
    "intermediate_size": 16, "num_attention_heads": 1, "num_key_value_heads": 1, "head_dim": HEAD_DIM,
    "vocab_size": N_VOCAB, "rms_norm_eps": 1e-5, "max_position_embeddings": 1000000, "tie_word_embeddings": False,
    "hidden_act": "silu", "rope_theta": 10000.0, "eos_token_id": IM_END, "torch_dtype": "float32"}


def byte_characters():
    """The characters that byte-level vocabularies write for the bytes 0 to 255."""
    kept = [*range(0x21, 0x7f), *range(0xa1, 0xad), *range(0xae, 0x100)]
    out, extra = {}, 0
    for byte in range(256):
        if byte in kept:
            out[byte] = chr(byte)
        else:
            out[byte] = chr(256 + extra)
            extra += 1
    return out


def next_token(token):
    reply = "\nParis."
    for here, there in zip(reply, reply[1:]):
        if token == ord(here):
            return ord(there)
    if ord("0") <= token <= ord("9"):
        return ord("0") + (token - ord("0") + 1) % 10
    return IM_END


def matrix(rows, cols, ones=()):
    values = [0.0] * (rows * cols)
    for row, col, value in ones:
        values[row * cols + col] = value
    return [rows, cols], values


def tensors():
    layer = "model.layers.0."
    return {
        "model.embed_tokens.weight": matrix(N_VOCAB, WIDTH, [(t, t, 1.0) for t in range(N_VOCAB)]),
        "lm_head.weight": matrix(N_VOCAB, WIDTH, [(next_token(t), t, 10.0) for t in range(N_VOCAB)]),
        "model.norm.weight": ([WIDTH], [1.0] * WIDTH),
        layer + "input_layernorm.weight": ([WIDTH], [1.0] * WIDTH),
        layer + "post_attention_layernorm.weight": ([WIDTH], [1.0] * WIDTH),
        layer + "self_attn.q_proj.weight": matrix(HEAD_DIM, WIDTH),
        layer + "self_attn.k_proj.weight": matrix(HEAD_DIM, WIDTH),
        layer + "self_attn.v_proj.weight": matrix(HEAD_DIM, WIDTH),
        layer + "self_attn.o_proj.weight": matrix(WIDTH, HEAD_DIM),
        layer + "mlp.gate_proj.weight": matrix(16, WIDTH),
        layer + "mlp.up_proj.weight": matrix(16, WIDTH),
        layer + "mlp.down_proj.weight": matrix(WIDTH, 16),
    }


def safetensors(named):
    header, data = {}, bytearray()
    for name, (shape, values) in named.items():
        begin = len(data)
        data += struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + bytes(data)


def tokenizer():
    vocabulary = {character: byte for byte, character in byte_characters().items()}
    special = [{"id": i, "content": text, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
                "special": True} for i, text in ((IM_START, "<|im_start|>"), (IM_END, "<|im_end|>"))]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": special, "normalizer": None,
            "pre_tokenizer": byte_level, "post_processor": None, "decoder": byte_level,
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                      "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "vocab": vocabulary,
                      "merges": []}}


def write(folder, named=None, config=None, with_tokenizer=True, with_template=True):
    """Makes the checkpoint in `folder` and returns the folder."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({**CONFIG, **(config or {})}))
    (folder / "model.safetensors").write_bytes(safetensors(tensors() if named is None else named))
    if with_tokenizer:
        (folder / "tokenizer.json").write_text(json.dumps(tokenizer()))
        settings = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|im_end|>"}
        if with_template:
            settings["chat_template"] = TEMPLATE
        (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder

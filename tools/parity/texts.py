"""Texts for the comparison: random Unicode strings, and real text and source code of this system."""
import pathlib
import random

SNIPPETS = [
    "'s", "'LL", "'\u017f", "the ", "Hello", " world", "123", "<s>", "</s>", "<|im_start|>", "<|im_end|>", "...",
    "\r\n", "  ", "\u2028", "\u0085", "\ufb01", "\u00bd", "\u0130", "\u00df", "\u200d", "\U0001f468\u200d\U0001f469",
    "\U0001f1eb\U0001f1f7", "e\u0301", "\u00e9", "x\u0323\u0307", "\u1100\u1161\u11a8", "\u0939\u093f", " Green tea",
]


def random_strings(count, seed):
    r = random.Random(seed)
    pools = [
        lambda: chr(r.randint(32, 126)),
        lambda: r.choice(" \n\t\r  "),
        lambda: chr(r.randint(0xA0, 0x24F)),
        lambda: chr(r.randint(0x300, 0x36F)),
        lambda: chr(r.randint(0x370, 0x5FF)),
        lambda: chr(r.randint(0x600, 0xDFF)),
        lambda: chr(r.randint(0x1100, 0x11FF)),
        lambda: chr(r.randint(0x3040, 0x30FF)),
        lambda: chr(r.randint(0x4E00, 0x9FFF)),
        lambda: chr(r.randint(0xAC00, 0xD7A3)),
        lambda: chr(r.randint(0x1F300, 0x1FAFF)),
        lambda: chr(r.choice((r.randint(0, 0xD7FF), r.randint(0xE000, 0x10FFFF)))),
        lambda: r.choice(SNIPPETS),
    ]
    out = []
    for _ in range(count):
        chosen = r.sample(pools, r.randint(1, 4))
        length = r.choice([1, 2, 3, 5, 8, 13, 30, 60])
        out.append("".join(r.choice(chosen)() for _ in range(length)))
    return out


def special_texts():
    return [
        "", " ", "\n", "hello world", "  hello   world  ", "Green tea", " Green tea", "tea \U0001f336 now",
        "in 12345678, ok", "1234567", "ne\u0301", " this is \U0001f999.cpp", "4 \u00bd \ufb01", " " * 64 + "X",
        " " * 128, "a" * 3000, "\u0301" * 500, "<s>a</s>b", "a<|end|>  \n a",
    ]


def real_texts(n_bytes):
    """Chunks of about 8 KB, cut at line ends, of files that every Debian system with our packages has."""
    folders = [("/usr/lib/python3.11", "*.py"), ("/usr/include", "*.h"), ("/usr/share/common-licenses", "*"),
               ("/usr/share/perl", "*.p[lm]"), ("/usr/share/doc", "*copyright"), ("/usr/share/i18n/locales", "*"),
               ("/usr/share/vim", "*"), ("/usr/share/nano", "*")]
    quota = n_bytes // 4
    chunks, total = [], 0
    for folder, pattern in folders:
        taken = 0
        for path in sorted(pathlib.Path(folder).rglob(pattern)) if pathlib.Path(folder).is_dir() else []:
            if taken > quota or total > n_bytes or not path.is_file():
                continue
            try:
                text = path.read_text("utf-8")
            except (UnicodeDecodeError, OSError):
                continue
            for begin in range(0, min(len(text), 200_000), 8000):
                chunk = text[begin:begin + 8000]
                chunks.append(chunk)
                taken += len(chunk.encode())
                total += len(chunk.encode())
    return chunks

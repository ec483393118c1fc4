"""Asks skua: runs build/bin/text_parity_runner and reads its lines."""
import json
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build" / "bin" / "text_parity_runner"


def _lines(*args):
    done = subprocess.run([PROGRAM, *map(str, args)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"text_parity_runner failed: {done.stderr.strip()[:2000]} (exit {done.returncode})")
    return [json.loads(line) for line in done.stdout.split("\n") if line]


def _written(value):
    file = tempfile.NamedTemporaryFile("w", suffix=".json", delete=False)
    with file:
        file.write(value if isinstance(value, str) else json.dumps(value))
    return pathlib.Path(file.name)


def encode(kind, path, texts):
    file = _written(texts)
    try:
        return _lines("encode", kind, path, file)
    finally:
        file.unlink()


def bench(kind, path, text):
    file = pathlib.Path(_written(text))
    try:
        return _lines("bench", kind, path, file)[0]
    finally:
        file.unlink()


def render(jobs):
    file = _written(jobs)
    try:
        return _lines("render", file)
    finally:
        file.unlink()

"""What transformers takes for a key that a config leaves out, for every key of every golden config.

usage: config_defaults.py GOLDEN_FOLDER > tests/models/config_defaults.json     (needs transformers 5.17, no torch)
"""
import json
import logging
import math
import pathlib
import sys

import transformers

transformers.logging.set_verbosity_error()


def decoded(pairs):
    """A config's objects, with the numbers that JSON has no words for."""
    out = dict(pairs)
    return float(out["__float__"]) if list(out) == ["__float__"] else out


def encoded(value):
    if isinstance(value, float) and math.isinf(value):
        return {"__float__": "Infinity"}
    if isinstance(value, dict):
        return {k: encoded(v) for k, v in value.items()}
    return [encoded(v) for v in value] if isinstance(value, (list, tuple)) else value


def defaults(config):
    """By key: the class's value without it. Keys that it does not know, or needs, are left out."""
    cls = transformers.CONFIG_MAPPING[config["model_type"]]
    out = {}
    for key in config:
        less = {k: v for k, v in config.items() if k not in (key, "transformers_version")}
        try:
            made = cls.from_dict(less).to_dict()
        except Exception as error:  # the class refuses: so may we
            logging.info("%s: %s", key, error)
            continue
        if key in made and key not in ("model_type", "architectures", "dtype", "transformers_version"):
            out[key] = encoded(made[key])
    return out


def main():
    lines = []
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*/config.json")):
        config = json.loads(path.read_text(), object_pairs_hook=decoded)
        lines.append(f"{json.dumps(path.parent.name)}: {json.dumps(defaults(config), separators=(',', ':'))}")
    print("{\n" + ",\n".join(lines) + "\n}")


main()

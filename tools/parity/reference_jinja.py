"""jinja2 set up as transformers sets it up for chat templates, with the clock stopped."""
import copy
import datetime
import json
import warnings

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

NOW = datetime.datetime(2024, 7, 9, 5, 6, 7)
warnings.filterwarnings("ignore")


class Generation(Extension):
    """{% generation %}: prints its body."""
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def _raise(message):
    raise jinja2.exceptions.TemplateError(message)


def _tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


ENVIRONMENT = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
ENVIRONMENT.filters["tojson"] = _tojson
ENVIRONMENT.globals["raise_exception"] = _raise
ENVIRONMENT.globals["strftime_now"] = NOW.strftime


def render(source, variables):
    """{"out": prompt} or {"error": words}."""
    try:
        return {"out": ENVIRONMENT.from_string(source).render(**copy.deepcopy(variables))}
    except Exception as error:  # the reference raises every kind there is
        return {"error": f"{type(error).__name__}: {error}"}

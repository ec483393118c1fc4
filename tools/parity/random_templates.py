"""Small random templates: every statement, most filters, tests and methods, on random values."""
import random

NAMES = ["x", "n", "f", "s", "t", "l", "d", "m", "none_value", "missing"]
FILTERS = ["upper", "lower", "title", "capitalize", "trim", "length", "first", "last", "list", "sort", "reverse", "unique|list",
           "join(', ')", "join", "tojson", "tojson(indent=2)", "string", "int", "float", "abs", "round(1)", "default('dd')",
           "d('z', true)", "replace('a', 'BB')", "indent(2)", "indent(3, true)", "wordcount", "items|list", "dictsort", "min", "max",
           "sum", "batch(2)|list", "slice(2)|list", "map('upper')|list", "map(attribute='a')|list", "select('odd')|list",
           "reject('none')|list", "selectattr('a')|list", "selectattr('a', 'gt', 1)|list", "rejectattr('a', 'equalto', 1)|list",
           "groupby('a')|list", "e", "safe", "center(9)", "truncate(7)", "truncate(5, true, '')", "urlencode", "striptags",
           "format(1, 'a')", "count", "filesizeformat", "attr('a')", "list|length", "pprint"]
TESTS = ["defined", "undefined", "none", "string", "number", "integer", "float", "boolean", "mapping", "sequence", "iterable",
         "true", "false", "odd", "even", "divisibleby(3)", "eq(1)", "ne(1)", "in([1, 2])", "lower", "upper", "callable", "sameas(none)"]
METHODS = [".upper()", ".split()", ".split('a')", ".strip()", ".lstrip('a')", ".rstrip()", ".startswith('a')", ".endswith('b')",
           ".replace('a', 'c')", ".items()", ".keys()|list", ".values()|list", ".get('a')", ".get('zz', 4)", ".count('a')", ".find('b')",
           ".title()", ".splitlines()", ".partition('b')", ".zfill(4)", ".isdigit()", ".a", "['a']", "[0]", "[-1]", "[1:]", "[::-1]",
           "[:2]", "[::2]", ".join(['p', 'q'])", ".index('a')", ".rsplit(' ', 1)", ".isalpha()", ".removeprefix('a')", ".center(7)",
           ".append(1)", ".__class__", ".nope", ".capitalize()", ".rfind('a')", ".ljust(5)", ".swapcase()", ".casefold()"]
BINARY = ["+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", ">", "<=", ">=", "and", "or", "in", "not in"]
CONSTANTS = ["1", "0", "-3", "2.5", "1e3", "'a'", "'b c'", "\"q'q\"", "true", "False", "none", "[]", "[1, 2, 3]", "(1,)", "{'a': 1}",
             "'\\u00e9\\n'", "['b', 'A', 'c']", "[{'a': 1}, {'a': 2}]", "'12'", "10 ** 12", "0x1F", "1_000", "('x', 2)"]


# Expressions that seldom fail, so that most templates run to their end.
SAFE = [f"l|{f}" for f in ("sort", "join('-')", "first", "last", "length", "list", "tojson", "reverse|list", "map('string')|list",
                           "unique|list", "batch(2)|list", "max", "min", "select('defined')|list")]
SAFE += [f"s{m}" for m in METHODS[:9] + METHODS[13:22] + METHODS[26:33] + METHODS[37:]]
SAFE += [f"s|{f}" for f in ("upper", "title", "trim", "wordcount", "indent(2)", "truncate(7)", "replace('a', 'X')", "urlencode", "e",
                            "reverse", "capitalize", "center(11)", "length", "list", "tojson", "default('q')", "int(3)", "float")]
SAFE += ["d|dictsort", "d.items()|list", "d|tojson(indent=1)", "d.get('a', 2)", "m|map(attribute='a')|list", "m|groupby('a')|list",
         "m|selectattr('b', 'defined')|list", "n % 3", "n // 2", "f * 2", "f|round(1)", "n|abs", "x ~ n ~ s", "d", "l", "m", "s", "missing",
         "l[::-1]", "s[1:3]", "l[0]", "'%s|%5.1f' % (s, f)", "'{:>6}|{!r}'.format(n, s)", "x is defined", "n is number", "s in 'abc'"]


class Maker:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.blocks = 0

    def atom(self):
        return self.r.choice(NAMES) if self.r.random() < 0.6 else self.r.choice(CONSTANTS)

    def expression(self, depth=2):
        r = self.r.random()
        if depth == 0 or r < 0.15:
            return self.atom()
        inner = lambda: self.expression(depth - 1)
        if r < 0.30:
            return self.r.choice(SAFE)
        if r < 0.40:
            return f"{inner()}|{self.r.choice(FILTERS)}" if self.r.random() < .5 else f"({inner()})|{self.r.choice(FILTERS)}"
        if r < 0.60:
            if self.r.random() < .3:  # jinja2 folds slices of constants by rules of their own
                return f"({inner()}){self.r.choice([m for m in METHODS if ':' not in m])}"
            return f"{self.r.choice(NAMES)}{self.r.choice(METHODS)}"
        if r < 0.78:
            return f"{inner()} {self.r.choice(BINARY)} {inner()}"
        if r < 0.85:
            return f"{inner()} is {self.r.choice(['', 'not '])}{self.r.choice(TESTS)}"
        if r < 0.90:
            return f"{inner()} if {inner()} else {inner()}"
        if r < 0.94:
            return f"not {inner()}"
        if r < 0.97:
            return f"-{self.atom()}"
        return f"[{inner()}, {inner()}]"

    def tag(self, text):
        return "{%" + self.r.choice(["", "", "-", "+"]) + " " + text + " " + self.r.choice(["", "", "-", "+"]) + "%}"

    def text(self):
        return self.r.choice(["", " ", "\n", "x", "  y\n", "\n\n", "\n   ", "z "])

    def body(self, depth, loop=False):
        out = self.text()
        for _ in range(self.r.randint(1, 2)):
            out += self.statement(depth, loop) + self.text()
        return out

    def statement(self, depth, loop):
        r = self.r.random()
        show = "{{" + self.r.choice(["", "", "-"]) + " " + self.expression() + " " + self.r.choice(["", "", "-"]) + "}}"
        if depth == 0 or r < 0.35:
            return show
        if r < 0.50:
            out = self.tag("if " + self.expression()) + self.body(depth - 1, loop)
            if self.r.random() < 0.4:
                out += self.tag("elif " + self.expression(1)) + self.body(depth - 1, loop)
            if self.r.random() < 0.5:
                out += self.tag("else") + self.body(depth - 1, loop)
            return out + self.tag("endif")
        if r < 0.68:
            head = self.r.choice(["for i in " + self.expression(1), "for i in l", "for i in range(3)", "for k, v in d.items()",
                                  "for i in m if " + self.expression(1), "for c in s"])
            shown = self.r.choice(["{{ loop.index }}", "{{ loop.last }}", "{{ i }}", "{{ loop.cycle('p', 'q') }}", "{{ loop.revindex0 }}",
                                   "{{ loop.previtem }}", "{{ loop.changed(i) }}", ""])
            out = self.tag(head) + shown + self.body(depth - 1, True)
            if self.r.random() < 0.2:
                out += self.tag("else") + self.body(0, loop)
            return out + self.tag("endfor")
        if r < 0.80:
            name = self.r.choice(["w", "y", "x", "n", "s", "missing"])
            return self.tag(f"set {name} = {self.expression()}") + "{{ " + name + " }}"
        if r < 0.84:
            return self.tag("set y") + self.body(depth - 1) + self.tag("endset") + "{{ y|length }}"
        if r < 0.89:
            name = self.r.choice(["foo", "bar"])
            return (self.tag(f"macro {name}(p, q={self.atom()})") + "[{{ p }}{{ q }}]" + self.body(depth - 1) + self.tag("endmacro")
                    + "{{ " + f"{name}({self.atom()})" + " }}")
        if r < 0.905:
            self.blocks += 1
            name = f"b{self.blocks}"
            again = self.r.choice(["", "", "{{ self." + name + "() }}"])
            return self.tag(f"block {name}" + self.r.choice(["", " scoped"])) + self.body(depth - 1) + self.tag("endblock") + again
        if r < 0.92:
            return self.tag(f"with x = {self.expression(1)}") + self.body(depth - 1, loop) + self.tag("endwith")
        if r < 0.95:
            return self.tag("filter " + self.r.choice(["upper", "trim", "indent(2)", "replace('x', 'w')"])) + self.body(depth - 1) + self.tag("endfilter")
        if r < 0.97 and loop:
            return self.tag(self.r.choice(["break", "continue"]))
        return self.r.choice(["{# note #}", "{#- note -#}", "{% raw %}{{ x }}{% endraw %}", "{% generation %}g{{ x }}{% set x = 3 %}{{ x }}{% endgeneration %}"])


VARIABLES = [
    {"x": 1, "n": -7, "f": 2.5, "s": "a b ab", "t": True, "l": [3, 1, 2], "d": {"a": 1, "b": None}, "m": [{"a": 2}, {"a": 1, "b": "q"}],
     "none_value": None},
    {"x": "12", "n": 0, "f": 1e16, "s": "\u00e9\u4f60\n Z", "t": False, "l": ["b", "A", "a"], "d": {}, "m": [], "none_value": None},
]


def jobs(count, seed=2024):
    return [{"template": Maker(seed * 100_003 + i).body(2), "cases": [VARIABLES[i % 2]]} for i in range(count)]

"""Small templates for urlize, xmlattr and wordwrap."""
WORDS = ["see", "(http://a.example/x_(y)).", "www.ab-c.org,", "HTTPS://EXAMPLE.com:80/?q=1&b=<i>", "me@mail.example.org", "mailto:a@b.co.",
         "<http://x.yz>", "@a@b.c", "foo.com", "foo.dev", "http://1.2.3.4:5/#", "http://[::1:2]/", "ftp://h/", "a@b", "(www.x.de)).", "\u00fcber.com",
         "x:y@z.com", "www.a@b.com", "&lt;", "(((", "http://", "caf\u00e9@m\u00fcller.de", "irc:room", "http://xn--ab.", "http://a.b/((c)"]
PROSE = ["Look, goof-ball -- use the -b option! It's a well-known e-mail--or isn't it?", "a-b-c d--e x-ray 12-34 semi-automatic-",
         "one\ntwo  three\r\n\n  four five-six-seven\t\teight", "----", "supercalifragilistic-expialidocious-word", "\u00fcber-gro\u00df \u4f60\u597d\u4e16\u754c\u4f60\u597d",
         "", " ", "   lead", "trail   ", "a\u00a0b \u2003 c", "--x y--z \"q\"--w", "aa-bb-1c c1-dd --- e", "12-34-56-78-90 1-2-3-4-5-6-7-8-9 -----a-1"]


def jobs():
    out = []
    text = " ".join(WORDS)
    calls = ["", "(10)", "(none, true)", "(target='_blank')", "(rel='me nofollow', nofollow=true)", "(extra_schemes=['ftp:', 'irc:'])", "(-3)",
             "(extra_schemes=['x'])", "(0, target='\"')"]
    out += [("{{ v|urlize%s }}" % call, {"v": text}) for call in calls]
    out += [("{{ v|urlize }}", {"v": v}) for v in ("a\n(b.com)\t x", "", None, 5, "\u2003foo.org\u00a0bar")]
    attributes = [{"class": "a b", "id": 5, "x": None, "t": "<&\"'>", "b": True, "l": [1, "x"]}, {}, {"a b": 1}, {"a": None}, {"a=": 1}, {"a=": None},
                  {"a\u00a0b": 1.5}, {"a/b": 1}, "no", [1]]
    out += [(template, {"v": v}) for v in attributes for template in ("<p{{ v|xmlattr }}>", "<p{{ v|xmlattr(false) }}>")]
    out.append(("{{ {'a': u, 'b': 1}|xmlattr }}", {}))
    for prose in PROSE:
        for call in ("(1)", "(3)", "(7)", "(12, false)", "(9, wrapstring='|')", "(6, true, '/', false)", "(width=10, break_on_hyphens=false)", ""):
            out.append(("{{ v|wordwrap%s }}" % call, {"v": prose}))
    out += [("{{ v|wordwrap(%s) }}" % w, {"v": v}) for w in (0, -1) for v in ("a", "")]
    out += [("{{ v|wordwrap }}", {"v": v}) for v in (None, 5, ["a"])]
    return out

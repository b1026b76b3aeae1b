"""Prometheus' text format, read strictly: what Prometheus refuses is an error here."""

import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (\S+)")
HEAD = re.compile(rf"# (HELP|TYPE) ({NAME}) (.*)")
NUMBER = re.compile(r"[-+]?(\d+(\.\d+)?(e[-+]?\d+)?|Inf)|NaN")


def unescaped(text):
    return re.sub(r"\\(.)", lambda match: {"n": "\n"}.get(match[1], match[1]), text)


def parse(text):
    """{(name, frozenset of labels): value}; the types by name."""
    assert text.endswith("\n"), "the last line has no end"
    samples, types, seen, current = {}, {}, set(), None
    for line in text[:-1].split("\n"):
        head = HEAD.fullmatch(line)
        if head:
            kind, name, rest = head.groups()
            assert (kind, name) not in seen, f"twice: {line}"
            seen.add((kind, name))
            current = name
            if kind == "TYPE":
                assert rest in ("counter", "gauge"), line
                assert (rest == "counter") == name.endswith("_total"), line
                types[name] = rest
            continue
        sample = SAMPLE.fullmatch(line)
        assert sample, f"no sample: {line!r}"
        assert sample[1] == current and current in types, f"out of its group: {line}"
        assert NUMBER.fullmatch(sample[sample.re.groups]), line
        pairs = [(name, unescaped(value)) for name, value in re.findall(LABEL, sample[2] or "")]
        assert len(dict(pairs)) == len(pairs), f"a label twice: {line}"
        key = (sample[1], frozenset(pairs))
        assert key not in samples, f"a series twice: {line}"
        samples[key] = float(sample[sample.re.groups])
    return samples, types

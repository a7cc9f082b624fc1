"""What identifies the problem of a run: the names in it without what other facts of the run state."""

import re
from collections.abc import Iterable, Iterator

from analysis.importing.draft import COUNTS, Draft
from analysis.importing.vocabulary import GPU_MODEL, Value, other_builds, parse_name
from analysis.schema.factors import TABLE

# Facts whose texts users give to files and projects as well.
_ON_GPUS = re.compile(rf"([a-z-]{{0,12}}(?:{GPU_MODEL}))-?0\d{{1,3}}", re.IGNORECASE)
_JOB = ("queue", "feature")
_MACHINE = tuple(one.name for one in TABLE if one.kind == "machine" and not one.numeric)


def plain_problem(draft: Draft) -> str:
    """Return the problem of a run; a name in it as ``box_gcc12_64cores`` without compiler and cores."""
    parts = (part.partition("=") for part in str(draft.value("problem")).split())
    return " ".join(
        f"{name}{equals}{_plain(value, draft) if re.search(r'[A-Za-z]{2}', value) else value}"
        for name, equals, value in parts
    )


def _plain(text: str, draft: Draft) -> str:
    """Return a name without the words that other facts state; as it is if nothing would be left."""
    parsed = parse_name(text, application=draft.application)
    said = [word for name, (value, word) in parsed.values.items() if _states(draft, name, value)]
    threads, ranks = draft.value("threads") or 1, draft.value("ranks")
    cores = {ranks, ranks * threads} if ranks else set()
    said += [word for number, word, place in parsed.vague if re.search("core|cpu", place) and number in cores]
    out = text
    for word in said:
        out = _cut(out, re.escape(word))
    out = without_names(out, draft)
    return out or text


def _states(draft: Draft, name: str, value: Value) -> bool:
    known = draft.value(name)
    if known is None or name == "case":
        return False
    if name == "build":
        return not other_builds(str(value), str(known))
    return known == value if name in COUNTS else str(known).casefold() == str(value).casefold()


def without_names(text: str, draft: Draft) -> str:
    """Return words without those of the queue, the cluster and other facts that are texts."""
    for pattern in _patterns(draft):
        text = _cut(text, pattern)
    return text


def _patterns(draft: Draft) -> Iterator[str]:
    # Queue and feature are a factor, the group of hosts, of runs whose processor is not known.
    names = (*_JOB, *_MACHINE) if draft.value("cpu") is None else _MACHINE
    for name in names:
        words = re.findall(r"[A-Za-z0-9]+", str(draft.value(name) or ""))
        if len("".join(words)) > 2:  # a letter may mean anything
            yield "[-_. ]?".join(map(re.escape, words))


def _cut(text: str, pattern: str) -> str:
    """Take a word out of a name, with one of its borders."""
    word = rf"[-_. ]?(?<![A-Za-z0-9]){pattern}(?![A-Za-z0-9])"
    return re.sub(word, "", text, flags=re.IGNORECASE).strip("-_. ")


def host_pattern(hosts: Iterable[str]) -> str:
    """Return the pattern of the names of hosts: ``cn080`` is ``cn``, ``r1i0n12`` is ``r#i#n``.

    A model of GPU in it is kept: ``gpuv100001`` is ``gpuv100``.
    """
    return "+".join(sorted({_bare(host) for host in hosts}))


def _bare(host: str) -> str:
    if found := _ON_GPUS.fullmatch(host):
        return found[1].lower()
    bare = re.sub(r"(?:[-_.]?\d+)+$", "", re.sub(r"[0-9a-f]{8,}", "", host))
    return re.sub(r"\d+", "#", bare).strip("-_.")

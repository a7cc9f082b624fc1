"""Job scripts and the outputs that they name, as in ``#SBATCH -o out/run_1.log`` or ``> out/run_1.log``."""

import posixpath
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from analysis.importing import launch
from analysis.importing.detect import Observation

_REDIRECTED = re.compile(r"(?:>>?|\btee(?: -a)?)[ \t]*([^\s>|&;]+)")
_HERE = re.compile(r"\$\{?(?:PWD|\w+_(?:SUBMIT_DIR|O_WORKDIR|SUBCWD))\}?/")
_VARIABLE = re.compile(r"\$\{?(\w+)\}?")
_JOB = re.compile(r"%\d*[jJAaI]|\{\{id\}\}")
_ANY = re.compile(r"%\d*[a-zA-Z]|\$\w+|\$?\{+[^}]*\}+")


def outputs(known: Iterable[Observation], results: Collection[str]) -> dict[str, set[str]]:
    """Return the results that each job script names; one that several scripts name belongs to none.

    A name is relative to the folder of the script or to the one above it, or it is a whole path.
    """
    below: dict[str, list[str]] = defaultdict(list)  # by folder
    called: dict[str, list[str]] = defaultdict(list)  # by the name alone
    for name in results:
        folder, _, base = name.rpartition("/")
        below[folder].append(name)
        called[base].append(name)
    writers: dict[tuple[str, str], list[str]] = defaultdict(list)
    for one in known:
        if one.what == "job script":
            for place in {place for text in _written(one.facts) for place in _places(one.file.folder, text)}:
                writers[place].append(one.name)
    owners: dict[str, str] = {}  # empty: several
    for (folder, form), scripts in writers.items():  # one form may be that of thousands of scripts
        for name in _meant(folder, form, below, called):
            own = scripts[0] if len(scripts) == 1 else ""
            owners[name] = own if owners.get(name, own) == own else ""
    out: dict[str, set[str]] = defaultdict(set)
    for name, script in owners.items():
        if script:
            out[script].add(name)
    return dict(out)


def of_launch(source: Observation, results: int, number: int) -> Mapping[str, Any]:
    """Return what a file states of the launch that made a result of an output, by the result's number.

    A trace of several launches has the settings of each; if there are more or fewer results, none is known.
    """
    if len(source.traced) < 2:
        return source.facts
    own = source.traced[max(number - 1, 0)] if len(source.traced) == results else {}
    last = ("environment", "threads")  # those of the last launch
    return {name: value for name, value in source.facts.items() if name not in last} | own


def of_file(facts: Mapping[str, Any], file: str) -> Mapping[str, Any]:
    """Return what a script states of the output with a name: ``-np $n ./lmp > out.$n`` made ``out.8``."""
    line = str(facts.get("launch", ""))
    values = next(filter(None, (_values(text, file) for text in _REDIRECTED.findall(line))), None)
    if not values:
        return facts
    own = _VARIABLE.sub(lambda match: values.get(match[1], match[0]), line)
    return {name: value for name, value in facts.items() if name != "launch"} | launch.of_line(own)


def _values(text: str, file: str) -> dict[str, str]:
    """Return the variables in the name of an output; none where more than one value would do."""
    parts = _VARIABLE.split(text.strip("\"'").rpartition("/")[2])
    names, between = parts[1::2], parts[2:-1:2]
    if len(set(names)) < len(names) or not all(between):
        return {}
    value = "([^/]+)" if len(names) == 1 else "([^-_./]+)"
    found = re.fullmatch(value.join(map(re.escape, parts[::2])), file)
    return dict(zip(names, found.groups(), strict=True)) if found else {}


def _written(facts: Mapping[str, Any]) -> set[str]:
    """Return the files that a script writes by its directives and launch lines, as it names them."""
    asked = facts.get("directives", {})
    lines = [*facts.get("launch_lines", ()), *(facts.get(name, "") for name in ("command", "launch"))]
    texts = [asked.get(name, "") for name in ("-o", "-oo", "--output")]
    texts += [text for line in lines for text in _REDIRECTED.findall(line)]
    named = str(facts.get("job_name", "")) or "%x"
    return {_HERE.sub("", text.strip("\"'").replace("%x", named)) for text in texts} - {""}


def _places(folder: str, text: str) -> Iterator[tuple[str, str]]:
    """Give where a script in a folder writes a file, and the form of its name: ``%j`` is a number.

    ``$t`` is any text. A whole path is a place of its own.
    """
    if text.startswith("/"):
        yield "/", text
        return
    where, _, base = text.rpartition("/")
    plain = _ANY.sub("\0", _JOB.sub("\1", base))
    if not re.search(r"\w", plain.rpartition(".")[0].replace("\1", "1")):
        return  # a variable alone
    form = re.escape(plain).replace("\0", "[^/]+").replace("\1", r"\d[\d_]*")
    for above in {folder, folder.rpartition("/")[0]}:
        yield posixpath.normpath(posixpath.join(above, where)).removeprefix("."), form


def _meant(
    folder: str, form: str, below: Mapping[str, Sequence[str]], called: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    """Give the results that a form means in a folder; ``/`` is that of whole paths."""
    if folder == "/":
        yield from (name for name in called.get(form.rpartition("/")[2], ()) if form.endswith(f"/{name}"))
        return
    yield from (name for name in below.get(folder, ()) if re.fullmatch(form, name.rpartition("/")[2]))

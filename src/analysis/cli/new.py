"""``benchbook new-campaign``: the files that a campaign needs, from flags or from questions."""

import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from analysis.base import project
from analysis.base.errors import ConfigError
from analysis.base.models import VARIABLE
from analysis.cli import CAMPAIGN, FINE, pasteable
from analysis.cli.built import built
from analysis.cli.parser import WRONG_USAGE
from analysis.estimates.campaign import load_campaign
from analysis.findings.search import conclusions
from analysis.measure import nodes
from analysis.measure.declare import load
from analysis.measure.matrix import expand
from analysis.measure.nodes import Kind
from analysis.measure.outline import Outline, Wanted, applications, by_hand, cases_of, engines, outline


def new_project(folder: str) -> int:
    """Write a new project and say what comes next; bring one that is there up to the installed release."""
    from benchbook.home import MARK, TARGETS, init  # the package that users import knows this one

    base, makefile = Path(folder), Path(folder) / "Makefile"
    there = (base / MARK).is_file()
    init(folder)
    if there:
        print(f"{base}: the links are those of the installed Benchbook")
        if TARGETS not in makefile.read_text(encoding="utf-8"):
            print(f"{makefile} is yours: to follow each release, let it `include {TARGETS}`")
        return FINE
    print(f"{base}: a project of your own. Next:\n\n  cd {shlex.quote(str(base))}")
    print(pasteable("  benchbook import FOLDER --as NAME    # or: benchbook new-campaign NAME", moved=True))
    print("  make report")
    return FINE


def new_campaign(name: str, *, trying: bool, **flags: Any) -> int:
    """Write a campaign's files; with `trying`, measure its cheapest run too, as ``benchbook try`` does."""
    if trying and flags["manual"]:
        print("benchbook new-campaign: --try measures a run; give no --by-hand with it", file=sys.stderr)
        return WRONG_USAGE
    status = _new(name, **flags)
    if not trying or status != FINE:
        return status
    from analysis.cli.trial import try_campaign  # it brings the workflow, which no other use here needs

    sys.stdout.flush()
    return try_campaign(name)


def _new(
    name: str,
    *,
    manual: bool,
    yes: bool,
    scontrol: str,
    from_slurm: bool,
    nodes: str,
    ranks_per_node: str,
    source: str,
    telling: bool,
    **flags: Any,
) -> int:
    """Write a campaign's files; on a terminal ask for what no flag gives, otherwise use defaults."""
    if not CAMPAIGN.fullmatch(name):
        remedy = "use letters, digits, dots, dashes, underscores"
        raise ConfigError.at(name, 0, "is no name for a campaign", remedy)
    if from_slurm and scontrol:
        print("benchbook new-campaign: give --from-slurm or --scontrol FILE, not both", file=sys.stderr)
        return WRONG_USAGE
    base = project.here()
    if source or telling:
        return _to_tell(name, source, base, cluster=flags["cluster"], telling=telling)
    flags["arguments"] = shlex.split(flags["arguments"])
    flags["environment"] = dict(map(_variable, flags["environment"]))
    counts = [_count(one, "--nodes") for one in _words(nodes)]
    ranks = [
        one if one in ("all", "half") else _count(one, "--ranks-per-node") for one in _words(ranks_per_node)
    ]
    flags["search"] = not scontrol  # of another cluster, this machine's programs say nothing
    lists: dict[str, Any] = {key: _split(flags.pop(key)) for key in ("cases", "mpi", "interconnect")}
    wanted = Wanted(name, nodes=counts, ranks_per_node=ranks, **lists, **flags)
    if manual:
        made = by_hand(wanted, base)
    else:
        refuse_there(name, base)
        asking = sys.stdin.isatty() and sys.stdout.isatty() and not yes
        kind = _nodes(wanted, scontrol, slurm=from_slurm, asking=asking)
        wanted = _asked(wanted, kind, base) if asking else wanted
        wanted = Wanted(**{**wanted.__dict__, "application": wanted.application or _usual(kind)})
        _enough(wanted, kind)
        made = outline(wanted, kind, base)
    made.write(base)
    if not manual:
        _check(name, made, base)
    (project.raw(name, base) / "runs").mkdir(parents=True, exist_ok=True)
    print(made.report(base))
    print("then: make report" if manual else pasteable(f"then: benchbook plan {name}"))
    return FINE


def _to_tell(name: str, source: str, base: Path, *, cluster: str, telling: bool) -> int:
    """Write the campaign of the runs that show which of several causes an effect of another one has."""
    if not (source and telling):
        raise ConfigError.at("--to-tell", 0, "goes with --from", "give --from CAMPAIGN --to-tell")
    refuse_there(name, base)
    built([source])
    from analysis.findings.conclusion import CONFOUNDED, SESSION, UNORDERED
    from analysis.measure.draft import to_tell

    searched = conclusions(load_campaign(source))
    open_ = (CONFOUNDED, SESSION, UNORDERED)
    mixed = ((one.finding.confounded, one.sentence) for one in searched if one.word in open_)
    made = to_tell(name, source, [(one, sentence) for one, sentence in mixed if one is not None], cluster)
    written(name, made, base)
    print(made.report(base))
    print(pasteable(f"then: benchbook plan {name}"))
    return FINE


def written(name: str, made: Outline, base: Path) -> None:
    """Write the files of a campaign to be measured; ConfigError, and none is left, if it is no plan."""
    made.write(base)
    _check(name, made, base)
    (project.raw(name, base) / "runs").mkdir(parents=True, exist_ok=True)


def _check(name: str, made: Outline, base: Path) -> None:
    """Plan the new campaign; if its files are refused, remove them again."""
    try:
        expand(load(name, base))
    except ConfigError:
        made.remove()
        raise


def refuse_there(name: str, base: Path) -> None:
    """Ask nothing for a campaign that is there already."""
    path = project.declaration(name, base)
    if path.exists():
        raise ConfigError.at(str(path.relative_to(base)), 0, "exists already", "choose another name")


def _enough(wanted: Wanted, kind: Kind) -> None:
    """Refuse more nodes than there are of the kind that was taken, before any file is written."""
    most = max(wanted.nodes, default=0)
    if most > kind.nodes and not wanted.cluster:
        what = f"asks for {most}; there {'is' if kind.nodes == 1 else 'are'} {kind.nodes} of this kind"
        ways = "--feature or --partition" if kind.slurm else "--from-slurm, --scontrol or --cluster"
        raise ConfigError.at("--nodes", 0, what, f"ask for fewer, or take other nodes with {ways}")


def _usual(kind: Kind) -> str:
    return "hpcg" if kind.slurm else "proxy"  # our own program is built where it runs


def _nodes(wanted: Wanted, scontrol: str, *, slurm: bool, asking: bool) -> Kind:
    """Find the nodes: of saved output, of Slurm, or this machine; of several kinds the one that is chosen."""
    if not (scontrol or slurm):
        return nodes.here()
    try:
        text = (
            Path(scontrol).read_text(encoding="utf-8", errors="replace") if scontrol else nodes.from_slurm()
        )
    except OSError as error:
        raise ConfigError.at(scontrol, 0, error.strerror or str(error), "check the path") from None
    source = scontrol or "scontrol show node"
    found = nodes.kinds(text, source, wanted.partition, wanted.feature)
    if len(found) > 1:
        print(f"{len(found)} kinds of nodes:")
        for number, kind in enumerate(found, 1):
            print(f"  {number}. {kind}")
    if len(found) > 1 and asking:
        chosen = _ask("which of them, by number", "1")
        return found[min(max(int(chosen) if chosen.isdecimal() else 1, 1), len(found)) - 1]
    if len(found) > 1:
        print("taken: the first, which has the most; --partition or --feature takes another")
    return found[0]


def _asked(wanted: Wanted, kind: Kind, base: Path) -> Wanted:
    """Ask on the terminal for what no flag has said."""
    print(f"nodes: {kind}" if kind.slurm else "nodes: this machine")
    said = dict(wanted.__dict__)
    if not said["application"]:
        said["application"] = _ask(f"application ({', '.join(applications(base))})", _usual(kind))
    there = cases_of(said["application"], base)
    if not said["cases"]:
        said["cases"] = _split(
            [_ask(f"case ({', '.join(there)})" if there else "case", (there or ["run"])[0])]
        )
    if not there:
        said["done"] = said["done"] or _ask("a text in its output after a good run", "")
        said["engine"] = said["engine"] or _ask(f"the reader of its output ({', '.join(engines(base))})", "")
    usual = ",".join(map(str, nodes.usual_counts(kind.nodes)))
    if not said["nodes"] and kind.nodes > 1:
        said["nodes"] = [_count(one, "nodes") for one in _words(_ask("nodes", usual))]
    if not said["mpi"]:
        said["mpi"] = _split(
            [_ask("MPI library with its version", (kind.libraries or ("Open MPI 4.1.4",))[0])]
        )
    if not said["interconnect"] and kind.nodes > 1:
        said["interconnect"] = _split([_ask("interconnects to compare, none if there is one", "")])
    if not said["binary"] and said["application"] != "proxy":
        said["binary"] = _ask("path of the program", "")
    return Wanted(**said)


def _ask(what: str, otherwise: str) -> str:
    try:
        answer = input(f"{what}{f' [{otherwise}]' if otherwise else ''}: ").strip()
    except EOFError:
        answer = ""
    return answer or otherwise


def _words(text: str) -> list[str]:
    return [word for word in re.split(r"[\s,]+", text or "") if word]


def _split(texts: Sequence[str] | None) -> list[str]:
    return [one.strip() for text in texts or () for one in text.split(",") if one.strip()]


def _variable(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not (sign and re.fullmatch(VARIABLE, name)):
        raise ConfigError.at("--env", 0, f"{text!r} sets no variable", "write it like UCX_TLS=tcp,self")
    return name, value


def _count(text: str, flag: str) -> int:
    if not text.isdecimal() or not int(text):
        raise ConfigError.at(flag, 0, f"{text!r} is no count", "give whole numbers like 1,2,4")
    return int(text)

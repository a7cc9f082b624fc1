"""Ramble's ``results.<time>.json``: the figures of merit of all experiments of a workspace."""

from typing import Any

import xarray as xr

from analysis.readers.format import Format
from analysis.readers.merits.output import Document, integer_of, items, text_of

FORMAT = Format(
    engine="ramble", kind="merits", tool="Ramble", marks=((b'"experiments"', b'"RAMBLE_STATUS"'),),
    near=r"(?i)\bramble",
)  # fmt: skip
_STATES = {"SUCCESS": "passed", "FAILED": "failed"}


def sniff(head: bytes, name: str = "") -> bool:
    """Tell whether some bytes are a JSON object with experiments in Ramble's states."""
    return head.lstrip().startswith(b"{") and b'"experiments"' in head and b'"RAMBLE_STATUS"' in head


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read every figure of every experiment: kind ``merits``, the experiment's name in ``case``.

    A figure of a context other than Ramble's ``null`` has its name after that; what is no number is left out.
    """
    document = Document(data, source, "experiments")
    experiments = [one for one in items(document.content, "experiments") if isinstance(one, dict)]
    for result, experiment in enumerate(experiments):
        check = _STATES.get(text_of(experiment, "RAMBLE_STATUS"), "")
        for context in items(experiment, "CONTEXTS"):
            for fom in items(context, "foms"):
                name = text_of(fom, "name")
                if (where := text_of(context, "name")) not in ("null", ""):
                    name = f"{where}: {name}"
                document.add(
                    name, fom, "value", text_of(fom, "units"), result, text_of(experiment, "name"), check
                )
    if len(experiments) == 1:
        document.output.facts |= _counts(experiments[0])
    return document.dataset(FORMAT)


def _counts(experiment: dict[str, Any]) -> dict[str, int]:
    inner = experiment.get("RAMBLE_VARIABLES")
    known = {**(inner if isinstance(inner, dict) else {}), **experiment}
    names = {"ranks": "n_ranks", "threads": "n_threads", "nodes": "n_nodes"}
    return {name: integer_of(known, key) for name, key in names.items()}

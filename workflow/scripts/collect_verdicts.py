"""Join the verdicts of all reports and campaigns, each with the page that computes it.

Usage: collect_verdicts.py CONFIG OUT VERDICTS...
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from analysis.base import project


def page_of(verdict: dict[str, Any], pages: list[dict[str, Any]]) -> str | None:
    """Return the first page that names the verdict's report, campaign and topic; None if none does."""
    for page in pages:
        if (
            verdict["campaign"] in project.as_list(page, "campaign")
            and verdict["report"] in project.as_list(page, "report")
            and verdict["topic"] in page.get("topics", ())
        ):
            return str(page["name"])
    return None


def main(config: str, out: str, *paths: str) -> None:
    """Write the joined list, in the order of the configuration."""
    pages = project.load_yaml(config)["pages"]
    records = []
    for path in paths:
        for verdict in json.loads(Path(path).read_text(encoding="utf-8")):
            verdict["page"] = verdict.get("page") or page_of(verdict, pages)
            records.append(verdict)
    text = json.dumps(records, indent=1, sort_keys=True, ensure_ascii=False)
    Path(out).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])

"""``python roc_validate.py CRATE PROFILE``: what `rocrate-validator` finds, a line for each REQUIRED check.

It reads its profiles from its own package, but the context of RO-Crate 1.1 from the network. So that the
tests need none, the context comes from the package `rocrate`, with the terms of Bioschemas of that edition.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import requests
import rocrate
from rocrate_validator import services
from rocrate_validator.models import Severity, ValidationSettings
from rocrate_validator.utils import http

CONTEXT = "https://w3id.org/ro/crate/1.1/context"
BIOSCHEMAS = "https://bioschemas.org/"
OLDER = {name: BIOSCHEMAS + name for name in ("ComputationalWorkflow", "FormalParameter")} | {
    name: f"{BIOSCHEMAS}ComputationalWorkflow#{name}" for name in ("input", "output")
}


def get(self: object, url: str, **options: object) -> requests.Response:
    """Answer for the network: with the context, and with nothing else."""
    answer = requests.Response()
    answer.status_code = 404
    if url == CONTEXT:
        shipped = json.loads((Path(rocrate.__file__).parent / "data/ro-crate.jsonld").read_text())
        terms: dict[str, Any] = {**shipped["@context"], **OLDER}
        answer.status_code = 200
        answer.headers["Content-Type"] = "application/ld+json"
        answer._content = json.dumps({"@context": terms}).encode()
    return answer


def main(crate: str, profile: str) -> int:
    """Print what is wrong; 1 if anything is."""
    http.HttpRequester.get = get
    settings = ValidationSettings(
        rocrate_uri=crate, profile_identifier=profile, requirement_severity=Severity.REQUIRED
    )
    result = services.validate(settings)
    for issue in result.get_issues():
        print(f"{issue.check.identifier}: {issue.violatingEntity}: {issue.message}")
    return int(not result.passed())


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

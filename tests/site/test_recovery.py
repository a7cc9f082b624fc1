"""What a self-test must give back, and what no synthetic run can."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.base.errors import ConfigError
from analysis.site.board import check_recovered
from tests.site import mock


def test_check__only_what_is_looked_up_may_be_missing() -> None:
    lost = replace(mock.verdicts()[0], evidence="synthetic", verdict="not tested", application="openatom")
    check_recovered([replace(lost, application="specification")], {}, "config/selftest.yaml")
    with pytest.raises(ConfigError, match=f"{lost.claim} is not tested"):
        check_recovered([lost], {}, "config/selftest.yaml")
    check_recovered([lost], {lost.claim: "the report contradicts it"}, "config/selftest.yaml")

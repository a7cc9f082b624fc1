"""Names of rows in a figure of a slide."""

from __future__ import annotations

from analysis.decks import figure


def test_figure__names_of_rows_fit_and_stay_apart() -> None:
    long = [
        f"{steps} steps, 2016.4, {nodes} nodes, ucx/csd3/HECBioSim-{size}-atoms/cclake, 1 thread"
        for steps in (10000, 50000)
        for nodes in (1, 2, 4)
        for size in ("1400k", "3000k")
    ]
    short = figure._places(long)
    assert len(set(short.values())) == len(long)
    assert all("\n" not in text and len(text) <= 46 for text in short.values())
    told = [name.replace("HECBioSim-", "").replace("csd3", "alaska") for name in long[:6]]
    told += [name.replace("alaska", "other") for name in told]
    assert figure._places(told)[told[0]] == "1 nodes, ucx/alaska/1400k-atoms/cclake"
    few = figure._places(long[:3])
    assert max(text.count("\n") for text in few.values()) <= 2
    assert figure._places(["veth-1gbit", "veth-open"]) == {
        "veth-1gbit": "veth-1gbit",
        "veth-open": "veth-open",
    }


def test_figure__long_names_do_not_stand_beside_each_other() -> None:
    assert figure._beside(["veth-1gbit", "veth-10gbit", "veth-open", "shared-memory"])
    assert not figure._beside(
        ["bare-metal", "bare-metal-with-\nusernetes", "container", "usernetes/32"][:4] * 2
    )
    assert not figure._beside(["bare-metal", "bare-metal-with-\nusernetes", "container", "usernetes/32", "x"])

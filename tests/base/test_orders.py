"""Orders that chance gives: the same ones however many are taken at a time."""

from __future__ import annotations

import numpy as np

from analysis.base.orders import shuffled


def test_shuffled__portions_are_the_whole_in_its_order() -> None:
    parts = [np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0])]
    (whole,) = shuffled(parts, 50, (7,))
    portions = list(shuffled(parts, 50, (7,), portion=20))
    assert [len(one) for one in portions] == [20, 20, 10]
    assert np.array_equal(np.concatenate(portions), whole)
    # Values stay in their part, and chance changes their places.
    assert np.array_equal(np.sort(whole[:, :3], axis=1), np.tile([1, 2, 3], (50, 1)))
    assert len({tuple(row) for row in whole.tolist()}) > 6

"""Times of a step by hand on paper, every unknown given."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from analysis.model.network import Network
from analysis.model.patterns import Exchanged, MessagePattern, Reduced, Transposed

# 2 µs own, 0.5 µs adapter, 100 MB/s, 10 µs latency, 50 B of heads; within a node 1 µs and 1 GB/s.
NET = Network(
    own=np.array([2e-6]),
    nic=np.array([5e-7]),
    bandwidth=np.array([1e8]),
    latency=np.array([1e-5]),
    header=50,
    inside_latency=np.array([1e-6]),
    inside_bandwidth=np.array([1e9]),
)
# Three messages of a rank to other nodes, twelve of its node with 12 x 950 B, two of 500 B within.
SENT = Exchanged(1.0, 3.0, 3 * 950.0, 12.0, 12 * 950.0, 2.0, 1000.0)


def test_step__the_adapter_is_busier_than_the_processor() -> None:
    # (12 x 950 + 12 x 50) B / 1e8 B/s = 120 µs, 12 x 0.5 = 6 µs, 10 µs; 3 x 2 + 2 x 1 + 1 µs are hidden
    assert NET.step(MessagePattern((SENT,)), 4, 4) == pytest.approx([136e-6])


def test_step__the_processor_is_busier_than_the_adapter() -> None:
    slow = replace(NET, own=np.array([1e-4]))
    # 3 x 100 µs against 126 µs, 10 µs of latency, 3 µs within
    assert slow.step(MessagePattern((SENT,)), 4, 4) == pytest.approx([313e-6])


def test_step__copies_are_the_processor_s_own_time() -> None:
    # 3 x 2 µs and 2850 B / 20 MB/s = 142.5 µs and 3 µs within, against 126 µs; 10 µs of latency
    copied = replace(NET, copying=np.array([2e7]))
    assert copied.step(MessagePattern((SENT,)), 4, 4) == pytest.approx([161.5e-6])
    # A reduction's hop copies its 8 B: 0.4 µs more than 13.08 µs.
    assert copied.step(MessagePattern(reduced=(Reduced(1.0, 8.0),)), 2, 1) == pytest.approx([13.48e-6])


def test_step__one_node_has_no_adapter_in_the_way() -> None:
    alone = Exchanged(1.0, 0.0, 0.0, 0.0, 0.0, 2.0, 1000.0)
    assert NET.step(MessagePattern((alone,)), 1, 4) == pytest.approx([3e-6])


def test_step__a_crowded_adapter_takes_as_many_times_as_long() -> None:
    # 3 x 126 µs + 10; own time and what stays within are each job's own, and hidden
    assert replace(NET, crowd=3.0).step(MessagePattern((SENT,)), 4, 4) == pytest.approx([388e-6])


def test_step__phases_add_up_as_often_as_they_are_made() -> None:
    twice = replace(SENT, times=2.0)
    assert NET.step(MessagePattern((twice, SENT)), 4, 4) == pytest.approx([3 * 136e-6])


def test_step__a_reduction_climbs_the_nodes_and_then_the_ranks_of_one() -> None:
    # hop: 2 + 0.5 + 10 + (8 + 50) / 100 = 13.08 µs; 3 of them over 8 nodes, 2 x 1 µs over 4 ranks
    pattern = MessagePattern(reduced=(Reduced(1.0, 8.0),))
    assert NET.step(pattern, 8, 4) == pytest.approx([41.24e-6])
    assert NET.step(pattern, 5, 4) == pytest.approx([41.24e-6])  # as 8: the tree has three levels
    assert NET.step(pattern, 1, 4) == pytest.approx([2e-6])


def test_step__switches_reduce_whatever_the_number_of_nodes() -> None:
    pattern = MessagePattern(reduced=(Reduced(2.0, 8.0),))
    switched = replace(NET, in_switches=np.array([4e-6]))
    # 2 x (2 + 4) µs, and 2 x 2 µs within the node
    assert switched.step(pattern, 8, 4) == pytest.approx([16e-6])
    assert switched.step(pattern, 64, 4) == pytest.approx([16e-6])


def test_step__a_transpose_is_a_message_to_each_in_pieces() -> None:
    # 4 ranks on 2 nodes send 160 kB to 4: 10 kB a pair. Of 3 partners 2/3 x 3 = 2 are outside.
    # A node: 2 x 2 pairs in 5 pieces, 40 kB + 20 x 50 B over 100 MB/s = 410 µs, 20 x 0.5 = 10 µs, 10 µs.
    # The processor has less: 10 x 2 µs, and one partner within, 5 x 1 µs + 10 kB / 1 GB/s = 15 µs.
    pattern = MessagePattern(transposed=(Transposed(1.0, 160_000.0, 4.0, 5.0),))
    assert NET.step(pattern, 2, 2) == pytest.approx([430e-6])

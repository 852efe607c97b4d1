# SPDX-License-Identifier: Apache-2.0
"""A test suite of a user's, some of whose kernels are wrong. plugin_test.py runs it."""

import driver
import kernels
import pytest


def test_right_kernel():
    assert driver.launch(kernels.turn(True), "turn", 64) == [i ^ 32 for i in range(64)]


def test_race_that_nobody_looks_at():
    with pytest.raises(RuntimeError):
        driver.launch(kernels.turn(False), "turn", 64)


def test_hang():
    driver.launch(kernels.handover(2), "handover", 64)


def test_right_kernel_after_the_hang():
    assert driver.launch(kernels.handover(1), "handover", 64)[0] == 7


@pytest.mark.heddle(expect="race")
def test_race_is_expected():
    driver.launch(kernels.turn(False), "turn", 64)


@pytest.mark.heddle(expect="race")
def test_race_is_expected_and_does_not_come():
    driver.launch(kernels.turn(True), "turn", 64)


@pytest.mark.heddle(skip=True)
def test_only_for_a_real_card():
    assert False


def test_wrong_without_a_kernel():
    assert 1 + 1 == 3

"""The standard errors of the method's paper, recomputed by hand (Miller 2024, arXiv 2411.00640)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodus_tui.statistics.standard_errors import (
    ClusterEstimator,
    bernoulli_standard_error,
    clt_standard_error,
    clustered_standard_error,
    mean,
    sample_variance,
    task_means_standard_error,
    variance_components,
)

CLUSTERS = ([1, 1, 1], [0, 0], [1, 0, 1], [0, 1])
FIVE_QUESTIONS = ([1, 1, 1, 0], [0, 0, 0, 0], [1, 0, 1, 1], [0, 0, 1, 0], [1, 1, 1, 1])
"""Means 0.75, 0, 0.75, 0.25, 1 over four answers each."""


def test_clt_of_3275_right_among_5000_is_0_6723_percent() -> None:
    assert f"{100 * clt_standard_error([1] * 3275 + [0] * 1725):.4f}" == "0.6723"


def test_clt_of_7_among_50_is_0_0495696_with_n_minus_1() -> None:
    assert clt_standard_error([1] * 7 + [0] * 43) == pytest.approx(0.0495696, abs=5e-8)


def test_bernoulli_of_one_half_among_100_is_5_points() -> None:
    assert bernoulli_standard_error(0.5, 100) == 0.05


def test_clustered_example_has_mean_0_6() -> None:
    assert mean([score for cluster in CLUSTERS for score in cluster]) == pytest.approx(0.6)


def test_clustered_example_pooled_clt_is_0_1632993() -> None:
    assert clt_standard_error([score for cluster in CLUSTERS for score in cluster]) == pytest.approx(0.1632993, abs=5e-8)


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [(ClusterEstimator.PAPER_EQUATION_4, 0.1796292), (ClusterEstimator.CR0, 0.1720465), (ClusterEstimator.CR1, 0.1986622)],
)
def test_clustered_example_by_each_estimator(estimator: ClusterEstimator, expected: float) -> None:
    assert clustered_standard_error(CLUSTERS, estimator) == pytest.approx(expected, abs=5e-8)


def test_repeats_example_standard_error_of_task_means_is_0_1837117() -> None:
    assert task_means_standard_error(FIVE_QUESTIONS) == pytest.approx(0.1837117, abs=5e-8)


def test_repeats_example_pooled_error_which_is_wrong_is_0_1141329() -> None:
    assert clt_standard_error([score for task in FIVE_QUESTIONS for score in task]) == pytest.approx(0.1141329, abs=5e-8)


def test_repeats_example_variance_components_are_0_15_and_0_13125() -> None:
    components = variance_components(FIVE_QUESTIONS)
    assert components.within == pytest.approx(0.15)
    assert components.between == pytest.approx(0.13125)


scores = st.floats(0, 1)
equal_clusters = st.integers(1, 4).flatmap(lambda k: st.lists(st.lists(scores, min_size=k, max_size=k), min_size=2, max_size=12))
any_clusters = st.lists(st.lists(scores, min_size=1, max_size=4), min_size=2, max_size=12)


@given(equal_clusters)
def test_cr1_is_the_error_of_the_task_means_where_all_tasks_have_equally_many_answers(clusters: list[list[float]]) -> None:
    assert clustered_standard_error(clusters) == pytest.approx(task_means_standard_error(clusters), abs=1e-12)


@given(st.lists(scores, min_size=2, max_size=30))
def test_with_one_score_a_cluster_equation_4_and_cr1_are_the_error_of_independent_scores(values: list[float]) -> None:
    clusters = [[value] for value in values]
    for estimator in (ClusterEstimator.CR1, ClusterEstimator.PAPER_EQUATION_4):
        assert clustered_standard_error(clusters, estimator) == pytest.approx(clt_standard_error(values), abs=1e-8)


@given(st.lists(st.integers(0, 1), min_size=2, max_size=60))
def test_with_one_binary_score_a_cluster_cr0_is_the_bernoulli_error(values: list[int]) -> None:
    clustered = clustered_standard_error([[value] for value in values], ClusterEstimator.CR0)
    assert clustered == pytest.approx(bernoulli_standard_error(mean(values), len(values)), abs=1e-12)


@given(any_clusters)
def test_cr1_exceeds_cr0_by_the_number_of_clusters(clusters: list[list[float]]) -> None:
    ratio = len(clusters) / (len(clusters) - 1)
    small, large = (clustered_standard_error(clusters, each) for each in (ClusterEstimator.CR0, ClusterEstimator.CR1))
    assert large**2 == pytest.approx(small**2 * ratio, abs=1e-12)


def test_equation_4_never_gives_a_negative_variance() -> None:
    assert clustered_standard_error([[0, 1], [1, 0]], ClusterEstimator.PAPER_EQUATION_4) >= 0


def test_too_little_data_is_refused_with_a_sentence() -> None:
    with pytest.raises(ValueError, match="at least two scores, not 1"):
        clt_standard_error([1])
    with pytest.raises(ValueError, match="at least two clusters, not 1"):
        clustered_standard_error([[1, 0]])
    with pytest.raises(ValueError, match="a cluster has no scores"):
        clustered_standard_error([[1], []])
    with pytest.raises(ValueError, match="at least two tasks, not 1"):
        variance_components([[1, 0]])
    with pytest.raises(ValueError, match="at least two scores, not 1"):
        variance_components([[1], [1, 0]])
    with pytest.raises(ValueError, match="at least one score"):
        mean([])
    with pytest.raises(ValueError, match="at least two scores, not 0"):
        sample_variance([])
    with pytest.raises(ValueError, match="at least one answer, not 0"):
        bernoulli_standard_error(0.5, 0)
    with pytest.raises(ValueError, match="between 0 and 1"):
        bernoulli_standard_error(1.5, 10)

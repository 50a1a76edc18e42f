import functools
import itertools

import numpy as np
import pyarrow as pa
import pytest

import lambdarr as lr
from tests.statistics import assert_plausible, binomial

inverse_of = functools.partial(lr.estimate, method="inverse")

ATTRIBUTES = [
    lr.Attribute("sex", ["F", "M"]),
    lr.Attribute("age", ["young", "middle", "old"]),
    lr.Attribute("n", range(4)),
]
DESIGN = lr.design(ATTRIBUTES, lam={"sex": 0.8, "age": 0.6, "n": 0.5})
GENERATOR = np.random.default_rng(8)
CODES = np.array([GENERATOR.integers(0, size, 3_000) for size in (2, 3, 4)])
REPORTS = pa.table(
    {"sex": np.array(["F", "M"])[CODES[0]], "age": np.array(["young", "middle", "old"])[CODES[1]], "n": CODES[2]}
)
CONDITIONS = [
    {"sex": "F"},
    {"age": ["young", "old"]},
    {"sex": "M", "age": slice("middle", "old")},
    {"sex": "F", "age": slice(None, "middle"), "n": {0, 3}},
]


def holds(condition):
    """Return, for every cell of the full table, whether the condition holds."""
    sets = {
        "sex": {"F": {0}, "M": {1}},
        "age": {"young": {0}, "middle": {1}, "old": {2}},
    }
    result = np.ones((2, 3, 4), dtype=bool)
    for name, wanted in condition.items():
        axis = DESIGN.names.index(name)
        categories = DESIGN.attributes[axis].categories
        if isinstance(wanted, slice):
            first = 0 if wanted.start is None else categories.index(wanted.start)
            codes = set(range(first, categories.index(wanted.stop) + 1))
        elif isinstance(wanted, str):
            codes = sets[name][wanted]
        else:
            codes = {categories.index(category) for category in wanted}
        shape = [1, 1, 1]
        shape[axis] = -1
        result = result & np.isin(np.arange(DESIGN.attributes[axis].size), list(codes)).reshape(shape)
    return result


@pytest.mark.parametrize("inference", ["population", "finite"])
@pytest.mark.parametrize("weights", [None, GENERATOR.uniform(0.2, 3, 3_000)], ids=["plain", "weighted"])
@pytest.mark.parametrize("condition", CONDITIONS, ids=str)
def test_share_is_the_sum_of_the_cells_of_the_full_table(condition, weights, inference):
    found = lr.query(REPORTS, DESIGN, condition, inference=inference, weights=weights)
    table = inverse_of(REPORTS, DESIGN, DESIGN.names, inference=inference, weights=weights)
    cells = holds(condition).ravel().astype(float)
    assert found.value == pytest.approx(cells @ table.values.ravel())
    assert found.standard_error**2 == pytest.approx(cells @ table.covariance() @ cells, rel=1e-8)
    assert found.n == 3_000


@pytest.mark.parametrize("inference", ["population", "finite"])
def test_conditional_share_and_difference_agree_with_the_delta_method_over_the_full_table(inference):
    condition, given, versus = {"age": "old"}, {"sex": "F", "n": [1, 2]}, {"sex": "M", "n": [1, 2]}
    table = inverse_of(REPORTS, DESIGN, DESIGN.names, inference=inference)
    pi, covariance = table.values.ravel(), table.covariance()

    def share(group):
        top, bottom = (holds(condition) & holds(group)).ravel() * 1.0, holds(group).ravel() * 1.0
        ratio = (top @ pi) / (bottom @ pi)
        return ratio, (top - ratio * bottom) / (bottom @ pi)

    (first, gradient), (second, other) = share(given), share(versus)
    found = lr.query(REPORTS, DESIGN, condition, given=given, inference=inference)
    assert found.value == pytest.approx(first)
    assert found.standard_error == pytest.approx(np.sqrt(gradient @ covariance @ gradient))
    found = lr.query(REPORTS, DESIGN, condition, given=given, versus=versus, inference=inference)
    gradient = gradient - other
    assert found.value == pytest.approx(first - second)
    assert found.standard_error == pytest.approx(np.sqrt(gradient @ covariance @ gradient))


def test_scores_are_averaged():
    scores = {0: 0.5, 1: 1.0, 2: -2.0, 3: 7.0}
    found = lr.query(REPORTS, DESIGN, {"n": scores})
    table = inverse_of(REPORTS, DESIGN, ["n"])
    vector = np.array(list(scores.values()))
    assert found.value == pytest.approx(vector @ table.values)
    assert found.standard_error**2 == pytest.approx(vector @ table.covariance() @ vector)


def test_condition_on_many_attributes_needs_no_table():
    m, n = 30, 4_000
    design = lr.design([lr.Attribute(f"a{j}", range(9)) for j in range(m)], lam=0.95)
    truths = pa.table({f"a{j}": GENERATOR.integers(0, 2, n) for j in range(m)})  # 9³⁰ cells
    reports = lr.randomize(truths, design, rng=lr.SeededWords(1))
    found = lr.query(reports, design, {f"a{j}": [0, 1] for j in range(m)}, inference="finite")
    assert abs(found.value - 1) < 5 * found.standard_error
    assert found.standard_error < 0.05


@pytest.mark.parametrize("inference", ["population", "finite"])
def test_intervals_cover_the_truth_as_often_as_they_say(inference):
    """1,000 repetitions: 95 % intervals of shares, conditional shares and differences cover 93 % to 97 %."""
    generator, rng, n = np.random.default_rng(2), lr.SeededWords(2), 2_500
    pi = np.random.default_rng(3).dirichlet(np.full(24, 2.0)).reshape(2, 3, 4)
    questions = [
        ({"sex": "F", "n": [0, 1]}, None, None),
        ({"age": "old"}, {"sex": "F"}, None),
        ({"age": "old"}, {"sex": "F"}, {"sex": "M"}),
    ]

    def true_value(table, condition, given, versus):
        def share(group):
            everyone = holds(group) if group is not None else np.ones((2, 3, 4), dtype=bool)
            return table[holds(condition) & everyone].sum() / table[everyone].sum()

        return share(given) - (share(versus) if versus is not None else 0)

    fixed = generator.choice(24, size=n, p=pi.ravel())
    covered = np.zeros(3)
    for _ in range(1_000):
        flat = fixed if inference == "finite" else generator.choice(24, size=n, p=pi.ravel())
        goal = np.bincount(fixed, minlength=24).reshape(2, 3, 4) / n if inference == "finite" else pi
        sex, age, number = np.unravel_index(flat, (2, 3, 4))
        truths = pa.table(
            {"sex": np.array(["F", "M"])[sex], "age": np.array(["young", "middle", "old"])[age], "n": number}
        )
        reports = lr.randomize(truths, DESIGN, rng=rng)
        for place, (condition, given, versus) in enumerate(questions):
            found = lr.query(reports, DESIGN, condition, given=given, versus=versus, inference=inference)
            lower, upper = found.interval(0.95)
            covered[place] += lower <= true_value(goal, condition, given, versus) <= upper
    assert ((covered >= 930) & (covered <= 970)).all()
    assert_plausible(binomial(covered, 1_000, 0.95) * 10)


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"condition": {"nobody": 1}}, lr.DesignError, "'nobody' is not in the design"),
        ({"condition": {"sex": "X"}}, lr.DesignError, "'X' is no category of 'sex'; it has: F, M"),
        ({"condition": {"sex": []}}, lr.DataError, "names no category"),
        ({"condition": {"n": {0: "abc"}}}, lr.DataError, "finite numbers"),
        ({"condition": {"n": {0: float("nan")}}}, lr.DataError, "finite numbers"),
        ({"condition": {"sex": "F"}, "weights": np.zeros(3_000)}, lr.DataError, "weights must not all be zero"),
        ({"condition": {"age": slice("old", "young")}}, lr.DataError, "earlier category"),
        ({"condition": "sex"}, lr.DataError, "a mapping"),
        ({"condition": {"sex": "F"}, "versus": {"age": "old"}}, lr.DataError, "versus needs given"),
        ({"condition": {"sex": "F"}, "inference": "magic"}, lr.DataError, "inference"),
        ({"condition": {"sex": "F"}, "weights": [1.0]}, lr.DataError, "weights"),
    ],
)
def test_impossible_question_is_refused(arguments, error, says):
    with pytest.raises(error, match=says):
        lr.query(REPORTS, DESIGN, **arguments)


def test_group_that_nobody_seems_to_be_in_is_refused():
    design = lr.design({"a": ["x", "y"], "b": ["x", "y"]}, lam=0.1)
    reports = pa.table({"a": ["x"] * 100, "b": ["x", "y"] * 50})
    with pytest.raises(lr.DataError, match="nobody"):
        lr.query(reports, design, {"b": "x"}, given={"a": "y"})


def test_answer_that_nobody_gave_still_has_an_error():
    found = lr.query(pa.table({"a": ["x"] * 40}), lr.design({"a": ["x", "y"]}, lam=0.95), {"a": "y"})
    assert found.standard_error == pytest.approx(0.026, abs=0.001)


def test_level_must_be_a_probability():
    with pytest.raises(lr.DataError, match="level"):
        lr.query(REPORTS, DESIGN, {"sex": "F"}).interval(95)


def test_every_product_of_indicators_is_unbiased():
    """Enumeration: over all reports of each truth, what a report is worth averages to the truth's own value."""
    channels = DESIGN.channels
    P = lr.kronecker.dense(channels)
    condition = CONDITIONS[3]
    worth = np.zeros(24)
    for code, (sex, age, number) in enumerate(itertools.product(range(2), range(3), range(4))):
        one = pa.table({"sex": ["FM"[sex]], "age": [["young", "middle", "old"][age]], "n": [number]})
        worth[code] = lr.query(one, DESIGN, condition).value
    np.testing.assert_allclose(P @ worth, holds(condition).ravel(), atol=1e-9)


@pytest.mark.parametrize(("share", "lam"), [(0.01, 1), (0.01, 0.97), (0.01, 0.6), (0.3, 1), (0.3, 0.6)])
def test_share_of_a_rare_answer_is_covered(share, lam):
    """500 files of 400 people, 4 of whom are in it on average: at least 92 %, where the plain interval had 75 to 90."""
    generator, hits = np.random.default_rng(3), 0
    design = lr.design({"a": range(4), "b": range(3)}, lam=lam)
    for seed in range(500):
        chosen = generator.random(400) < share
        table = pa.table(
            {
                "a": np.where(chosen, 1, generator.choice([0, 2, 3], 400)),
                "b": np.where(chosen, generator.integers(1, 3, 400), generator.integers(0, 3, 400)),
            }
        )
        found = lr.query(lr.randomize(table, design, rng=lr.SeededWords(seed)), design, {"a": 1, "b": [1, 2]})
        lower, upper = found.interval()
        hits += lower <= share <= upper
    assert 0.92 < hits / 500 < 0.995

import numpy as np
import pytest

import lambdarr as lr
from lambdarr import kronecker

DESIGN = lr.design({"sex": ["F", "M"], "smokes": ["no", "some", "daily"], "age": [1, 2, 3, 4]}, lam=0.6)
Z = 1.959964


def files(part, truth, n, count=4_000):
    """Return the unbiased tables of simulated files."""
    generator = np.random.default_rng(1)
    reported = kronecker.apply(part.channels, truth)
    counts = generator.multinomial(n, reported.ravel(), size=count).reshape(count, *reported.shape)
    return np.array([kronecker.solve(part.channels, table / n) for table in counts])


def truth_of(part, uneven):
    shape = tuple(channel.size for channel in part.channels)
    if not uneven:
        return np.full(shape, 1 / np.prod(shape))
    return np.random.default_rng(2).dirichlet(np.full(int(np.prod(shape)), 4.0)).reshape(shape)


@pytest.mark.parametrize("uneven", [False, True])
def test_predicted_margins_are_those_of_simulated_files(uneven):
    """4,000 files: the margins' own Monte-Carlo error is 1.1 %, and they have to agree within 5 %."""
    n = 20_000
    expected = {}

    def margin(names, **question):
        part = DESIGN.select(names)
        truth = truth_of(part, uneven)
        expected["found"] = files(part, truth, n)
        return lr.plan(DESIGN, n=n, expected=truth if uneven else None, **question).margin

    found = margin(["sex", "smokes"], table=["sex", "smokes"])
    assert found == pytest.approx(Z * expected["found"].std(axis=0).max(), rel=0.05)

    found = margin(["smokes", "sex"], condition={"smokes": ["some", "daily"], "sex": "F"})
    assert found == pytest.approx(Z * expected["found"][:, 1:, 0].sum(axis=1).std(), rel=0.05)

    found = margin(["smokes", "sex"], condition={"smokes": "daily"}, given={"sex": "F"})
    tables = expected["found"]
    assert found == pytest.approx(Z * (tables[:, 2, 0] / tables[:, :, 0].sum(axis=1)).std(), rel=0.05)

    found = margin(["smokes", "sex"], condition={"smokes": "daily"}, given={"sex": "F"}, versus={"sex": "M"})
    tables = expected["found"]
    shares = tables[:, 2] / tables.sum(axis=1)
    assert found == pytest.approx(Z * (shares[:, 0] - shares[:, 1]).std(), rel=0.05)

    found = margin(["sex", "age"], correlate=["sex", "age"])
    tables = expected["found"]
    x, y = np.array([0.0, 1.0]), np.array([1.0, 2.0, 3.0, 4.0])
    mean_x, mean_y = tables.sum(axis=2) @ x, tables.sum(axis=1) @ y
    covariance = np.einsum("kij,i,j->k", tables, x, y) - mean_x * mean_y
    spread = (tables.sum(axis=2) @ x**2 - mean_x**2) * (tables.sum(axis=1) @ y**2 - mean_y**2)
    assert found == pytest.approx(Z * (covariance / np.sqrt(spread)).std(), rel=0.05)


def test_the_number_of_respondents_keeps_the_margin():
    for question in ({"table": ["sex", "age"]}, {"condition": {"smokes": "daily"}}, {"correlate": ["sex", "age"]}):
        needed = lr.plan(DESIGN, margin=0.02, **question)
        assert needed.margin <= 0.02
        assert lr.plan(DESIGN, n=needed.n, **question).margin <= 0.02
        assert lr.plan(DESIGN, n=needed.n - 1, **question).margin > 0.02


def test_the_strongest_protection_keeps_the_margin_and_no_more():
    found = lr.plan(DESIGN, n=20_000, margin=0.02, condition={"smokes": "daily"}, given={"sex": "F"})
    assert found.margin == pytest.approx(0.02, rel=1e-3)
    assert found.margin <= 0.02 * (1 + 1e-9)
    by_name = found.design.by_name
    assert by_name["smokes"].strength == pytest.approx(by_name["sex"].strength, abs=1e-4)
    assert by_name["age"] == DESIGN.by_name["age"]
    with pytest.raises(lr.DesignError, match="not even λ = 1"):
        lr.plan(DESIGN, n=100, margin=0.001, condition={"smokes": "daily"})


def test_weak_demands_are_met_by_protection_far_beyond_what_anyone_wants():
    """A share of a half, ± 0.3 with 100,000: z √(1/4)/(λ √n) = 0.3 at λ = 0.0103."""
    found = lr.plan(lr.design({"sex": ["F", "M"]}, lam=0.5), n=100_000, margin=0.3, table=["sex"])
    assert found.design.by_name["sex"].lam == pytest.approx(Z * 0.5 / 0.3 / np.sqrt(100_000), rel=1e-3)
    assert 0.2999 < found.margin <= 0.3
    with pytest.raises(lr.DesignError, match=r"hide all but everything keep this margin \(sex 4e-05\); narrow it"):
        lr.plan(DESIGN, n=10**12, margin=0.9, table=["sex"])


def test_a_plan_says_whom_it_expects_and_when_it_tells_nothing():
    even, given = (lr.plan(DESIGN, n=900, table=["sex"], expected=pi) for pi in (None, [0.9, 0.1]))
    assert "for people spread evenly over all categories" in str(even)
    assert "for the people expected" in str(given)
    assert repr(even) == f"<Plan: {even}>"
    assert "spread evenly" in even._repr_html_()
    assert "0.6" in even._repr_html_()
    assert "which tells nothing" in str(lr.plan(DESIGN, n=1, table=["sex"]))
    scored = {"age": {1: 10, 4: 100}}
    assert "nothing" not in str(lr.plan(DESIGN, n=9, condition=scored)) + str(even)


def test_the_highest_order_worth_reading_is_the_prediction_of_the_whole_table():
    design = lr.design({f"a{place}": range(4) for place in range(6)}, lam=0.5)
    for n in (100, 1_000, 10_000, 100_000):
        order = lr.readable_order(design, n)
        errors = []
        for count in range(1, 7):
            part = design.select(design.names[:count])
            even = np.full((4,) * count, 4.0**-count)
            variance = (kronecker.solve_squared(part.channels, kronecker.apply(part.channels, even)) - even**2) / n
            errors.append(0.5 * np.sqrt(2 / np.pi) * np.sqrt(variance).sum())
        assert order == sum(error < 0.25 for error in errors)
    assert lr.readable_order(design, 1) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 10}, "ask about one thing"),
        ({"n": 10, "table": ["sex"], "correlate": ["sex", "age"]}, "ask about one thing"),
        ({"table": ["sex"]}, "give n to find"),
        ({"n": 0, "table": ["sex"]}, "n must be a whole number"),
        ({"n": True, "table": ["sex"]}, "n must be a whole number"),
        ({"margin": -1, "table": ["sex"]}, "margin must be a positive number"),
        ({"n": 10, "table": ["nope"]}, "'nope' is not in the design"),
        ({"n": 10, "table": ["sex", "age", "sex"]}, "'sex' is in the table twice"),
        ({"n": 10, "correlate": ["sex"]}, "correlate must name two"),
        ({"n": 10, "correlate": ["sex", "age"], "scores": {"age": [1, 1, 1, 1]}}, "scores of 'age' are all equal"),
        ({"n": 10, "correlate": ["sex", "smokes"]}, "'smokes' has no numbers to correlate"),
        ({"n": 10, "correlate": ["sex", "smokes"], "scores": {"smokes": [1, 2]}}, "one finite number for each"),
        ({"n": 10, "correlate": ["sex", "age"], "scores": {"smokes": [1, 2, 3]}}, "'smokes' is not one of them"),
        ({"n": 10, "table": ["sex"], "scores": {"sex": [1, 2]}}, "'sex' is not one of them"),
        ({"n": 10, "given": {"sex": "F"}, "table": ["sex"]}, "go with a condition"),
        ({"n": 10, "condition": {"sex": "F"}, "versus": {"age": 1}}, "versus needs given"),
        ({"n": 10, "table": ["sex"], "expected": [0.5, 0.6]}, "expected must be proportions of sex"),
        ({"n": 10, "table": ["sex"], "level": 1.0}, "level must be between"),
        (
            {"n": 10, "condition": {"sex": "F"}, "given": {"age": 1}, "expected": np.eye(2, 4) * [0, 0.5, 0, 0] * 2},
            "nobody",
        ),
    ],
)
def test_bad_questions_are_one_clear_error(options, message):
    with pytest.raises(lr.LambdarrError, match=message):
        lr.plan(DESIGN, **options)


def test_a_plan_knows_how_many_are_asked():
    design = lr.design({name: range(4) for name in "abcd"}, lam=0.6, asked=2)
    everyone = lr.design({name: range(4) for name in "abcd"}, lam=0.6)
    for table, share in ((["a"], 2 / 4), (["a", "b"], 2 / 4 * 1 / 3)):
        alone = lr.plan(everyone, n=4_000, table=table).margin
        assert lr.plan(design, n=4_000, table=table).margin == pytest.approx(alone / np.sqrt(share))
    with pytest.raises(lr.LambdarrError, match="no respondent was asked all"):
        lr.plan(design, n=4_000, table=["a", "b", "c"])
    assert lr.readable_order(design, 10**7) == 2
    assert lr.plan(design, n=40_000, margin=0.05, table=["a"]).design.asked == 2


def test_a_correlation_takes_scores():
    reversed_ages = lr.plan(DESIGN, n=9_000, correlate=["sex", "age"], scores={"age": [4, 3, 2, 1]})
    assert reversed_ages.margin == pytest.approx(lr.plan(DESIGN, n=9_000, correlate=["sex", "age"]).margin)
    assert lr.plan(DESIGN, n=9_000, correlate=["sex", "smokes"], scores={"smokes": [0, 1, 5]}).margin < 0.1


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ({"table": ["sex", "age"]}, "the widest cell of sex × age ±"),
        ({"condition": {"smokes": ["some", "daily"], "age": slice(2, 3)}},
         "the share with smokes = some or daily, age from 2 to 3 ±"),
        ({"condition": {"smokes": "daily"}, "given": {"sex": "F"}, "versus": {"sex": "M"}},
         "the share with smokes = daily among sex = F less that among sex = M ±"),
        ({"correlate": ["sex", "age"]}, "the correlation of sex and age ±"),
    ],
)  # fmt: skip
def test_a_plan_says_what_its_margin_is_for(question, said):
    assert f"1 respondent: {said}" in str(lr.plan(DESIGN, n=1, **question))
    assert f"2,000 respondents: {said}" in str(lr.plan(DESIGN, n=2_000, **question))


@pytest.mark.parametrize(("arguments", "options"), [((DESIGN, "x"), {}), ((DESIGN, 5), {"error": None})])
def test_orders_need_numbers(arguments, options):
    with pytest.raises(lr.DataError, match="must be numbers"):
        lr.readable_order(*arguments, **options)

import itertools
import math

import numpy as np
import pytest

import lambdarr as lr
from lambdarr.optimizing import Bound, Budget, Problem, Relation, workload_of

SIZES = (9, 16, 7, 15, 6, 5, 2, 2)
EIGHT = {f"a{place}": range(size) for place, size in enumerate(SIZES)}


def error_of(design, tables):
    """Return Σ (Π c − 1/R)/R over tables, each divided by the share asked all of it, straight from the definition."""
    total = 0.0
    for table in tables:
        channels = design.select(table).channels
        cells = math.prod(c.size for c in channels)
        asked, count, order = design.asked or len(design.names), len(design.names), len(table)
        share = math.comb(count - order, asked - order) / math.comb(count, asked)
        total += (math.prod((1 + (c.size - 1) / c.lam**2) / c.size for c in channels) - 1 / cells) / cells / share
    return total


def rounding(design):
    """Return the part of the error that moving λ's down to the grid, by less than r/2³², can add at most."""
    return math.prod((1 - c.size / 2**32 / (c.lam + c.size / 2**32)) ** -2 for c in design.channels) - 1


def search(sizes, budget, asked):
    """Return the least error of {a × b: 1, c: 5, b × c: 2} among ε's on a grid, of those that keep the budget."""
    grid = np.linspace(0.01, budget - 0.02, 150)
    epsilons = np.meshgrid(grid, grid, grid)
    taken = np.sort(np.stack(epsilons), axis=0)[-asked:].sum(axis=0)
    spare = budget / taken  # every ε as large as the budget lets them be, in the grid's directions
    c = []
    for size, epsilon in zip(sizes, epsilons, strict=True):
        lam = -np.expm1(-epsilon * spare) / (1 + (size - 1) * np.exp(-epsilon * spare))
        c.append((1 + (size - 1) / lam**2) / size)
    share = [asked / 3, asked / 3 * (asked - 1) / 2]
    error = 0.0
    for table, weight in (((0, 1), 1), ((2,), 5), ((1, 2), 2)):
        cells = math.prod(sizes[place] for place in table)
        error += weight * (math.prod(c[place] for place in table) - 1 / cells) / cells / share[len(table) - 1]
    return error.min()


@pytest.mark.parametrize(("epsilon", "order", "gain"), [(4, 1, 1.2), (8, 2, 1.4)])
def test_the_optimum_beats_equal_parts(epsilon, order, gain):
    tables = list(itertools.combinations(EIGHT, order))
    found = lr.design(EIGHT, epsilon=epsilon, workload=order)
    equal = lr.design(EIGHT, epsilon=epsilon)
    assert found.epsilon <= epsilon
    assert found.epsilon == pytest.approx(epsilon, abs=1e-6)
    assert found.certificate.error == pytest.approx(error_of(found, tables), rel=1e-6)
    assert found.certificate.equal_epsilon == pytest.approx(error_of(equal, tables), rel=1e-6)
    assert found.certificate.equal_epsilon / found.certificate.error > gain
    assert found.certificate.equal_lambda / found.certificate.error > gain
    assert found.certificate.gap < 1e-6


@pytest.mark.parametrize(("epsilon", "order"), [(4, 1), (8, 2)])
def test_the_gain_is_there_in_simulation(epsilon, order):
    """The summed variance of all tables over 60 files of 20,000 people, within 10 % of the prediction."""
    generator = np.random.default_rng(1)
    tables = list(itertools.combinations(EIGHT, order))
    truth = [generator.dirichlet(np.full(size, 3.0)) for size in SIZES]
    n, gains = 20_000, []
    for design in (lr.design(EIGHT, epsilon=epsilon), lr.design(EIGHT, epsilon=epsilon, workload=order)):
        total = 0.0
        for _ in range(60):
            codes = [generator.choice(size, n, p=p) for size, p in zip(SIZES, truth, strict=True)]
            reports = [
                np.where(generator.random(n) < channel.lam, column, generator.integers(0, channel.size, n))
                for column, channel in zip(codes, design.channels, strict=True)
            ]
            for table in tables:
                places = [design.names.index(name) for name in table]
                shape = tuple(SIZES[place] for place in places)
                counted = [
                    np.bincount(
                        np.ravel_multi_index([column[place] for place in places], shape), minlength=math.prod(shape)
                    )
                    for column in (reports, codes)
                ]
                part = design.select(table)
                found = lr.kronecker.solve(part.channels, counted[0].reshape(shape) / n)
                total += ((found - counted[1].reshape(shape) / n) ** 2).mean()
        gains.append(total)
    certificate = lr.design(EIGHT, epsilon=epsilon, workload=order).certificate
    assert gains[0] / gains[1] == pytest.approx(certificate.equal_epsilon / certificate.error, rel=0.1)


@pytest.mark.parametrize("sizes", [(3, 5, 2), (2, 50, 9)])
@pytest.mark.parametrize("budget", [0.7, 4.0, 9.0])
@pytest.mark.parametrize("asked", [2, 3])
def test_three_attributes_agree_with_a_search(sizes, budget, asked):
    workload = {("a", "b"): 1.0, ("c",): 5.0, ("b", "c"): 2.0}
    attributes = dict(zip("abc", map(range, sizes), strict=True))
    found = lr.design(attributes, epsilon=budget, workload=workload, asked=asked)
    least = search(sizes, budget, asked)
    assert found.epsilon <= budget
    assert found.certificate.error <= least * (1 + 1e-9 + rounding(found))
    assert found.certificate.error == pytest.approx(least, rel=1e-3)
    assert found.certificate.lower_bound <= least
    assert found.certificate.gap < 1e-6 + rounding(found)


@pytest.mark.parametrize("asked", [None, 3, 6])
def test_the_certificate_tells_a_poor_solution(asked):
    problem = Problem(SIZES, workload_of(2, list(EIGHT)), [Budget("epsilon", 8.0, "ε", asked)])
    best = np.log(problem.solve()[0])
    poor = best - 0.05 * np.arange(8) / 7
    behind = problem._log_error(poor)[0] - problem._log_error(best)[0]
    assert problem._gap(poor) >= behind > 0.01


def test_bits_and_strength_are_budgets_too():
    found = lr.design(EIGHT, bits=12, workload=2)
    assert found.bits >= 12
    assert found.bits == pytest.approx(12, abs=1e-5)
    assert found.certificate.gap < 1e-6
    assert found.certificate.equal_lambda > found.certificate.error
    strong = lr.design(EIGHT, strength=0.7, workload=2)
    assert strong.strength == pytest.approx(0.7, abs=1e-6)


def test_floors_ceilings_and_relations_are_met():
    found = lr.design(
        EIGHT,
        epsilon=12,
        workload=2,
        at_least={"lam": {"a0": 0.3}, "strength": {"a1": 0.9}},
        at_most={"epsilon": {"a6": 0.5}, "truthfulness": {"a2": 0.3}},
        preserve={("a4", "a5"): 0.25},
        hide={("a3", "a7"): 0.02},
    )
    by_name = found.by_name
    assert found.epsilon <= 12 + 1e-9
    assert by_name["a0"].lam >= 0.3 - 1e-8
    assert by_name["a1"].strength >= 0.9 - 1e-8
    assert by_name["a6"].epsilon <= 0.5 + 1e-8
    assert by_name["a2"].truthfulness <= 0.3 + 1e-8
    assert by_name["a4"].lam * by_name["a5"].lam >= 0.25 - 1e-7
    assert by_name["a3"].lam * by_name["a7"].lam <= 0.02 + 1e-7
    assert found.certificate.gap < 1e-4


def test_all_pairs_are_the_default_where_there_are_demands():
    found = lr.design(EIGHT, epsilon=8, at_most={"lam": 0.3})
    assert max(channel.lam for channel in found.channels) <= 0.3
    assert found.certificate is not None
    assert lr.design(EIGHT, epsilon=8).certificate is None


def test_fixed_attributes_leave_the_rest_of_the_budget():
    found = lr.design({"a": range(3), "b": range(5), "c": range(2)}, lam={"a": 0.5}, epsilon=4, workload=2)
    assert found.by_name["a"].lam == pytest.approx(0.5, abs=1e-8)
    assert found.epsilon == pytest.approx(4, abs=1e-6)


def test_a_posterior_is_kept_for_a_prior():
    prior = {"sick": {"no": 0.95, "yes": 0.05}}
    found = lr.design({"sick": ["no", "yes"]}, posterior=0.97, prior=prior)
    assert lr.audit(found, prior=prior).attributes[0].worst_posterior == pytest.approx(0.97, abs=1e-6)
    both = lr.design(
        {"sick": ["no", "yes"], "age": range(5)},
        epsilon=6,
        workload=1,
        prior=prior,
        at_most={"posterior": {"sick": 0.96}},
    )
    assert lr.audit(both, prior=prior).attributes[0].worst_posterior <= 0.96 + 1e-8
    assert lr.design({"a": [0, 1], "b": [0, 1, 2]}, truthfulness=0.8).channels[1].truthfulness == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("options", "messages"),
    [
        ({"epsilon": 2, "preserve": {("a0", "a1"): 0.5}}, ["epsilon = 2", "preserve 0.5 of a0 × a1"]),
        (
            {"epsilon": 30, "preserve": {("a0", "a1"): 0.5}, "at_most": {"lam": {"a0": 0.4, "a5": 0.9}}},
            ["preserve 0.5 of a0 × a1", "lam of a0 at most 0.4"],
        ),
        (
            {"epsilon": 30, "at_least": {"strength": {"a3": 0.9}}, "at_most": {"strength": {"a3": 0.5}}},
            ["strength of a3 at least 0.9", "strength of a3 at most 0.5"],
        ),
        (
            {"epsilon": 30, "preserve": {("a0", "a1"): 0.5}, "hide": {("a0", "a1"): 0.4}},
            ["preserve 0.5 of a0 × a1", "hide 0.4 of a0 × a1"],
        ),
        ({"bits": 20, "at_least": {"lam": 0.8}}, ["bits = 20", "lam of"]),
    ],
)
def test_demands_that_conflict_are_named_and_no_others(options, messages):
    with pytest.raises(lr.DesignError, match="cannot all be met") as caught:
        lr.design(EIGHT, workload=2, **options)
    for message in messages:
        assert message in str(caught.value)
    assert "a5" not in str(caught.value) or "bits" in options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 4, "workload": 9}, "from 1 to 8"),
        ({"epsilon": 4, "workload": 0}, "from 1 to 8"),
        ({"epsilon": 4, "workload": True}, "workload must be"),
        ({"epsilon": 4, "workload": [("a0", "nope")]}, "'nope', which is no attribute"),
        ({"epsilon": 4, "workload": [("a0", "a0")]}, "each of them once"),
        ({"epsilon": 4, "workload": {("a0", "a1"): -1}}, "must be a positive number"),
        ({"epsilon": 4, "workload": {("a0", "a1"): 1.0, ("a1", "a0"): 5.0}}, "names the table a1 × a0 twice"),
        ({"epsilon": 4, "workload": [("a0",), "a0"]}, "names the table a0 twice"),
        ({"epsilon": 4, "workload": []}, "workload must be"),
        ({"epsilon": 4, "workload": "a0"}, "workload must be"),
        ({"epsilon": 4, "bits": 3, "workload": 2}, "one joint budget"),
        ({"epsilon": -4, "workload": 2}, "positive number"),
        ({"workload": 2}, "nothing keeps 'a0' from λ = 1"),
        ({"epsilon": 4, "at_least": {"size": 3}}, "no measure 'size' to be at least"),
        ({"epsilon": 4, "at_most": {"lam": {"nope": 0.1}}}, "no column or attribute 'nope'"),
        ({"epsilon": 4, "at_most": {"lam": 2}}, "keep rate in"),
        ({"epsilon": 4, "preserve": {("a0", "a0"): 0.5}}, "preserve must name two"),
        ({"epsilon": 4, "hide": {("a0", "a1"): 1.5}}, "hide must name two"),
        ({"epsilon": 4, "preserve": {"a0": 0.5}}, "preserve must name two"),
        ({"posterior": 0.1}, "already believes"),
        ({"posterior": 0.9, "prior": {"nope": [1]}}, "no column or attribute 'nope'"),
        ({"posterior": 0.9, "prior": {"a6": [0.5, 0.6]}}, "sum to 1"),
        ({"posterior": 0.9, "prior": [0.5]}, "prior must be a mapping"),
        ({"epsilon": 4, "prior": {"a6": [0.5, 0.5]}}, "prior goes with posterior"),
        ({"epsilon": 4, "at_most": {"lam": 0.5}, "prior": {"a6": [0.5, 0.5]}}, "prior goes with posterior"),
        ({"posterior": {"a0": 0.9}, "lam": {"a6": 0.5}, "prior": {"a6": [0.5, 0.5]}}, "'a6' has none"),
        ({"lam": 0.5, "workload": 2}, "lam fixes every λ"),
        ({"epsilon": 4, "truthfulness": 0.5}, "goes with no other one, got epsilon and truthfulness"),
        ({"epsilon": 4, "workload": 2, "asked": 1}, "tables of 2 attributes, and each respondent answers 1"),
        ({"epsilon": 4, "workload": 2, "asked": 9}, "from 1 to the 8"),
        ({"epsilon": 4, "workload": 2, "asked": "many"}, "from 1 to the 8"),
        ({"epsilon": 4, "asked": "auto"}, "needs a workload"),
        ({"bits": 4, "workload": 2, "asked": "auto"}, "needs a joint epsilon"),
        ({"epsilon": {"a0": 1}, "workload": 2, "asked": "auto"}, "needs a joint epsilon"),
        ({"epsilon": 1, "workload": 2, "asked": "auto", "preserve": {("a0", "a1"): 0.5}}, "cannot all be met"),
    ],
)
def test_bad_demands_are_one_clear_error(options, message):
    with pytest.raises(lr.DesignError, match=message):
        lr.design(EIGHT, **options)


def test_a_large_problem_is_solved_with_its_proof():
    generator = np.random.default_rng(2)
    sizes = generator.integers(2, 30, 30)
    demands = [Budget("epsilon", 20.0, "ε"), Bound(3, 0.2, 1.0, "floor"), Relation(1, 2, 0.3, True, "preserve")]
    lams, certificate = Problem(sizes, workload_of(2, [str(x) for x in range(30)]), demands).solve()
    assert certificate.gap < 1e-4
    assert lams[1] * lams[2] >= 0.3 - 1e-6


@pytest.mark.parametrize("ceiling", [None, 0.7])
def test_no_budget_is_ever_exceeded_and_every_optimum_is_proved(ceiling):
    generator = np.random.default_rng(7)
    for _ in range(60):
        sizes = generator.choice([2, 3, 5, 9, 50], generator.integers(1, 5))
        epsilon = float(generator.choice([0.01, 0.3, 1, 3.25, 8, 15, 30]))
        demands = {} if ceiling is None else {"at_most": {"epsilon": ceiling * epsilon}}
        order = int(generator.integers(1, min(len(sizes), 3) + 1))
        attributes = {f"a{place}": range(size) for place, size in enumerate(sizes)}
        found = lr.design(attributes, epsilon=epsilon, workload=order, **demands)
        assert found.epsilon <= epsilon
        assert found.certificate.gap < 1e-5 + rounding(found)
        if ceiling is None:
            assert found.certificate.error <= found.certificate.equal_epsilon * (1 + 1e-7 + rounding(found))


def test_small_budgets_and_sure_attributes_are_no_exceptions():
    assert lr.design({f"x{place}": [0, 1] for place in range(10)}, epsilon=0.001, workload=2).epsilon <= 0.001
    assert lr.design({"a": range(1_000)}, epsilon=0.05, workload=1).epsilon <= 0.05
    with pytest.raises(lr.DesignError, match="lam of a = 1; epsilon = 30"):
        lr.design({"a": [0, 1], "b": [0, 1, 2]}, lam={"a": 1.0}, epsilon=30, workload=2)
    with pytest.raises(lr.DesignError, match="'c' is in no table of the workload"):
        lr.design({"a": [0, 1], "b": [0, 1], "c": [0, 1]}, epsilon=3, workload=[("a", "b")])


# The grid.


@pytest.mark.parametrize(
    ("sizes", "epsilon", "order"),
    [((65_536, 2), 1, 1), ((65_536, 2), 2, 1), ((20_000, 5, 5), 2, 2), ((300, 4), 0.1, 1)],
)
def test_the_certificate_is_of_the_rates_that_are_run(sizes, epsilon, order):
    attributes = {f"a{place}": range(size) for place, size in enumerate(sizes)}
    found = lr.design(attributes, epsilon=epsilon, workload=order)
    tables = list(itertools.combinations(attributes, order))
    assert found.certificate.error == pytest.approx(error_of(found, tables), rel=1e-9)
    assert 0 <= found.certificate.gap <= rounding(found) + 1e-5


def test_errors_by_number_asked_are_of_the_rates_that_are_run():
    attributes = {"a": range(20_000), "b": range(3), "c": range(4)}
    compared = lr.compare_asked(attributes, epsilon=3, workload=1, n=1_000)
    chosen = lr.design(attributes, epsilon=3, workload=1, asked="auto")
    for plan in compared.plans:
        real = error_of(plan.design, [("a",), ("b",), ("c",)])
        assert plan.error * 1_000 == pytest.approx(real, rel=1e-9)
        assert chosen.certificate.by_asked[plan.asked] == pytest.approx(real, rel=1e-9)
    assert chosen.asked == compared.best.asked


MEASURES = {"lam": 1, "epsilon": 1, "truthfulness": 1, "posterior": 1, "strength": -1, "bits": -1}


def measured(channel, kind):
    return (
        channel.worst_posterior(np.full(channel.size, 1 / channel.size))
        if kind == "posterior"
        else getattr(channel, kind)
    )


@pytest.mark.parametrize("kind", MEASURES)
@pytest.mark.parametrize("size", [3, 7, 1_000])
def test_limits_hold_for_the_rates_that_are_run(kind, size):
    """Values off the grid, and one on it; a floor and a ceiling of each."""
    for lam in (0.1, 1 / 3, 0.7, lr.Channel(size, 0.4).lam):
        between = lr.Channel(size, lam), lr.Channel(size, lam + size / 2**32)
        value = lam if kind == "lam" else sum(measured(channel, kind) for channel in between) / 2
        for how in ("at_least", "at_most"):
            limits = {how: {kind: {"a": value}}}
            found = lr.design(
                {"a": range(size), "b": [0, 1]}, epsilon=40 if how == "at_most" else 30, workload=1, **limits
            )
            reached = measured(found.by_name["a"], kind)
            assert reached >= value if how == "at_least" else reached <= value


def test_a_floor_that_binds_is_met():
    for size, lam in itertools.product((3, 7, 50, 1_000), (0.1, 0.2345, 0.6)):
        limits, epsilon = {"at_least": {"lam": {"a": lam}}}, lr.Channel(size, lam).epsilon + 1
        found = lr.design({"a": range(size), "b": [0, 1]}, epsilon=epsilon, workload=[("b",)], **limits)
        assert 0 <= found.by_name["a"].lam - lam < 2 * size / 2**32


def test_a_ceiling_below_the_smallest_rate_is_named():
    attributes = {"a": range(65_536), "b": [0, 1]}
    with pytest.raises(lr.DesignError, match=r"lam of a at most 1e-06 cannot be met: .* 65,536 categories is 1.53e-05"):
        lr.design(attributes, epsilon=3, workload=1, at_most={"lam": {"a": 1e-6}})
    with pytest.raises(lr.DesignError, match=r"'a': ε = 0.1 cannot be reached"):
        lr.design(attributes, epsilon=3, workload=1, at_most={"epsilon": {"a": 0.1}})
    with pytest.raises(lr.DesignError, match=r"lam of a at least 2e-05; lam of a at most 1.6e-05"):
        lr.design(attributes, epsilon=3, workload=1, at_least={"lam": {"a": 2e-5}}, at_most={"lam": {"a": 1.6e-5}})


@pytest.mark.parametrize("size", [3, 7, 50])
def test_a_floor_that_is_the_ceiling_gives_way_by_less_than_a_step(size):
    attributes, ends = {"a": range(size), "b": [0, 1]}, {"lam": {"a": 0.5}}
    both = lr.design(attributes, epsilon=9, workload=1, at_least=ends, at_most=ends).by_name["a"]
    fixed = lr.design(attributes, lam={"a": 0.5}, epsilon=9, workload=1, at_most=ends).by_name["a"]
    assert both == fixed == lr.Channel(size, 0.5, rounding="private")
    parts = lr.design(attributes, epsilon=4, workload=1, at_least={"epsilon": 2}).channels
    assert [channel.epsilon for channel in parts] == pytest.approx([2, 2], abs=1e-7)


# Some of the attributes asked of each.


@pytest.mark.parametrize(("epsilon", "order"), [(1, 1), (8, 2), (20, 2)])
def test_every_number_asked_has_its_own_proved_optimum(epsilon, order):
    tables = list(itertools.combinations(EIGHT, order))
    errors = {}
    for asked in range(order, 9):
        found = lr.design(EIGHT, epsilon=epsilon, workload=order, asked=asked)
        assert found.epsilon <= epsilon
        assert found.epsilon == pytest.approx(epsilon, abs=1e-5)
        errors[asked] = found.certificate.error
        assert errors[asked] == pytest.approx(error_of(found, tables), rel=1e-6)
        equal = lr.design(EIGHT, epsilon=epsilon, asked=asked)
        assert found.certificate.equal_epsilon == pytest.approx(error_of(equal, tables), rel=1e-4)
        assert errors[asked] <= found.certificate.equal_epsilon * (1 + 1e-7 + rounding(found))
        assert found.certificate.gap < 1e-6
    best = lr.design(EIGHT, epsilon=epsilon, workload=order, asked="auto")
    assert best.certificate.by_asked == pytest.approx(errors)
    assert best.certificate.error == min(best.certificate.by_asked.values())
    assert (best.asked or 8) == min(errors, key=errors.get)


def test_auto_asks_as_many_as_the_demands_allow():
    demands = {"epsilon": 8, "workload": 1, "preserve": {("a0", "a1"): 0.5, ("a2", "a3"): 0.5}}
    found = lr.design(EIGHT, asked="auto", **demands)
    assert list(found.certificate.by_asked) == [1, 2]
    assert found.by_name["a0"].lam * found.by_name["a1"].lam >= 0.5 - 1e-7
    with pytest.raises(lr.DesignError, match="epsilon = 8; preserve"):
        lr.design(EIGHT, asked=3, **demands)


def test_no_number_asked_exceeds_the_budget_or_lacks_a_proof_under_demands():
    generator = np.random.default_rng(5)
    met = 0
    for _ in range(40):
        sizes = generator.choice([2, 3, 5, 9, 50], generator.integers(2, 7))
        names = [f"a{place}" for place in range(len(sizes))]
        asked = int(generator.integers(1, len(sizes) + 1))
        epsilon = float(generator.choice([0.3, 1, 3.25, 8, 15, 30]))
        demands = {
            "at_most": {"epsilon": {names[0]: epsilon / 5}},
            "at_least": {"lam": {names[-1]: 0.2}},
            "preserve": {(names[0], names[1]): 0.05},
            "hide": {(names[0], names[-1]): 0.1},
        }
        chosen = {name: demand for name, demand in demands.items() if generator.random() < 0.4}
        order = int(generator.integers(1, asked + 1))
        attributes = dict(zip(names, map(range, sizes), strict=True))
        try:
            found = lr.design(attributes, epsilon=epsilon, workload=order, asked=asked, **chosen)
        except lr.DesignError as error:
            assert "cannot all be met" in str(error)  # noqa: PT017
            continue
        met += 1
        assert found.epsilon <= epsilon
        assert found.certificate.gap < 1e-5 + rounding(found)
    assert met > 25


def test_no_rates_that_meet_demands_beat_the_bound_when_some_are_asked():
    sizes, asked, epsilon = (3, 9, 2), 2, 5.0
    found = lr.design(
        dict(zip("abc", map(range, sizes), strict=True)),
        epsilon=epsilon,
        workload=1,
        asked=asked,
        at_most={"epsilon": {"c": 1.0}},
        preserve={("a", "b"): 0.45},
        hide={("a", "c"): 0.25},
    )
    generator = np.random.default_rng(3)
    near = [channel.lam for channel in found.channels] * generator.uniform(0.95, 1.05, (500_000, 3))
    lams = np.concatenate([generator.uniform(0.2, 0.95, (500_000, 3)), near])
    epsilons = np.log1p(lams * sizes / (1 - lams))
    met = (np.sort(epsilons, axis=1)[:, -asked:].sum(axis=1) <= epsilon) & (epsilons[:, 2] <= 1)
    met &= (lams[:, 0] * lams[:, 1] >= 0.45) & (lams[:, 0] * lams[:, 2] <= 0.25)
    r = np.array(sizes)
    errors = ((((1 + (r - 1) / lams[met] ** 2) / r - 1 / r) / r).sum(axis=1)) / (asked / 3)
    assert len(errors) > 1_000
    assert found.certificate.lower_bound <= found.certificate.error <= errors.min()
    assert found.certificate.error == pytest.approx(errors.min(), rel=0.01)
    assert found.certificate.gap < 1e-6


def test_bits_and_strength_of_those_asked_are_budgets_too():
    found = lr.design(EIGHT, bits=6, workload=2, asked=4)
    assert found.bits == pytest.approx(6, abs=1e-5)
    assert found.certificate.gap < 1e-6
    assert lr.design(EIGHT, strength=0.7, workload=2, asked=4).strength == pytest.approx(0.7, abs=1e-6)


def test_targets_that_leave_no_choice_are_not_called_best():
    found = lr.design({"a": range(3), "b": range(4)}, lam=0.5, at_most={"epsilon": 3})
    assert found.certificate is None

#!/usr/bin/env python3
"""Runs to the first violation of each claim that something is broken, per strategy: the table in docs/exploration.md.

  strategies.py PROGRAM [--seeds N] [--near-seeds N] [--runs N] [MODEL…]

The median over the seeds; `>` where half of them or more found none in that many runs. The last column is the
portfolio's median over that of the best strategy. Those two, and whatever comes near the best one, are measured over
other seeds and more of them: a median of twenty is good to a third, and the best of six is mostly the luckiest. Exits
with 1 if the last column is more than 3 anywhere.
"""
import argparse
import statistics
import sys
import tempfile

from broken import broken_models, claims_broken, lockstep

STRATEGIES = ["zones", "pct", "boundary", "uniform", "swarm", "coverage"]
PORTFOLIO = None
NEAR = 2
RATIO = 3
NEVER = float("inf")


def runs_until(options, model, scenario, strategy, seed, folder):
    """The number of the run that violated it, of each property that was found violated."""
    chosen = ["--strategy", strategy] if strategy else []
    done = lockstep(options.program, "fuzz", model, scenario, "--seed", str(seed), "--runs", str(options.runs),
                    "--as-found", "-q", "--json", "--no-pictures", "-o", folder, *chosen)
    return {find["property"]: find["run"] for find in done["scenarios"][0]["finds"]}


def median_of(results, name):
    return statistics.median(result.get(name, NEVER) for result in results)


def near_best(results, names):
    """The strategies that come near the best one in some property."""
    near = set()
    for name in names:
        medians = {strategy: median_of(results[strategy], name) for strategy in STRATEGIES}
        limit = NEAR * min(medians.values())
        near |= {strategy for strategy, median in medians.items() if median <= limit and median != NEVER}
    return near


def row(options, name, medians, near):
    """The table's row, and whether the portfolio is good enough in it."""
    ratio = medians[PORTFOLIO] / min(medians[strategy] for strategy in near)
    cells = [f"{median:,.0f}" if median != NEVER else f"> {options.runs:,}" for median in medians.values()]
    return f"| {name} | " + " | ".join(cells) + f" | {ratio:.1f} |", ratio <= RATIO


def measure_scenario(options, model, scenario, names, folder):
    """Prints a row for each of the properties; whether the portfolio is good enough in all of them."""
    def run(strategy, first, count):
        return [runs_until(options, model, scenario, strategy, seed, folder) for seed in range(first, first + count)]
    results = {strategy: run(strategy, 1, options.seeds) for strategy in STRATEGIES}
    near = near_best(results, names)
    for strategy in [*near, PORTFOLIO]:
        results[strategy] = run(strategy, options.seeds + 1, options.near_seeds)
    good = True
    for name in names:
        medians = {strategy: median_of(results[strategy], name) for strategy in [*STRATEGIES, PORTFOLIO]}
        text, is_good = row(options, f"`{model.removeprefix('broken/')} {scenario}`: {name}", medians, near)
        good &= is_good
        print(text, flush=True)
    return good


def measure(options, model, folder):
    """Whether the portfolio is good enough for all of the model's claims."""
    claims = claims_broken(options.program, model, folder)
    scenarios = dict.fromkeys(claim[0] for claim in claims)
    return all([measure_scenario(options, model, scenario, [claim[1] for claim in claims if claim[0] == scenario],
                                 folder) for scenario in scenarios])


def main():
    parser = argparse.ArgumentParser(description="Runs to the first violation, per strategy.")
    parser.add_argument("program")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--near-seeds", type=int, default=200, help="for the best strategies and the portfolio")
    parser.add_argument("--runs", type=int, default=4000)
    parser.add_argument("models", nargs="*", metavar="MODEL")
    options = parser.parse_intermixed_args()
    good = True
    print("| | " + " | ".join(STRATEGIES) + " | portfolio | ratio |")
    print("|---" * (len(STRATEGIES) + 3) + "|")
    with tempfile.TemporaryDirectory() as folder:
        for model in options.models or ["redlock", *broken_models(options.program)]:
            good &= measure(options, model, folder)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()

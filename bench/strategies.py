#!/usr/bin/env python3
"""Runs to the first violation of each claim that something is broken, per strategy: the table in docs/exploration.md.

  strategies.py PROGRAM [--seeds N] [--more N] [--runs N] [MODEL…]

The median over the seeds; `>` where most of them found none in that many runs. The last column is the portfolio's
median over that of the best strategy, which are measured over more seeds than the others, and so is each strategy that
comes near the best one: else the ratio is mostly chance. Exits with 1 if it is more than 3 anywhere.
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


def medians_of(results, name):
    """Per strategy, the portfolio last."""
    return [statistics.median(result.get(name, NEVER) for result in of_strategy) for of_strategy in results.values()]


def are_close(results, names):
    """The strategies that come near the best one in some property, and the portfolio."""
    close = {PORTFOLIO}
    for name in names:
        medians = medians_of(results, name)[:-1]
        close |= {strategy for strategy, median in zip(STRATEGIES, medians) if median <= NEAR * min(medians)}
    return [strategy for strategy in results if strategy in close]


def run_seeds(options, model, scenario, names, folder):
    """The results per strategy."""
    def add(strategy, first, last):
        results[strategy] += [runs_until(options, model, scenario, strategy, seed, folder)
                              for seed in range(first, last + 1)]
    results = {strategy: [] for strategy in [*STRATEGIES, PORTFOLIO]}
    for strategy in results:
        add(strategy, 1, options.seeds)
    for strategy in are_close(results, names):
        add(strategy, options.seeds + 1, options.more)
    return results


def row(options, name, medians):
    """The table's row, and whether the portfolio is good enough in it."""
    ratio = medians[-1] / min(medians[:-1])
    cells = [f"{median:,.0f}" if median != NEVER else f"> {options.runs:,}" for median in medians]
    return f"| {name} | " + " | ".join(cells) + f" | {ratio:.1f} |", ratio <= RATIO


def measure(options, model, folder):
    """Prints a row for each of the model's claims; whether the portfolio is good enough in all of them."""
    claims = claims_broken(options.program, model, folder)
    good = True
    for scenario in dict.fromkeys(claim[0] for claim in claims):
        names = [name for of_scenario, name, _, _ in claims if of_scenario == scenario]
        results = run_seeds(options, model, scenario, names, folder)
        for name in names:
            text, is_good = row(options, f"`{model.removeprefix('broken/')} {scenario}`: {name}",
                                medians_of(results, name))
            good &= is_good
            print(text, flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(description="Runs to the first violation, per strategy.")
    parser.add_argument("program")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--more", type=int, default=100, help="seeds for the best strategies and the portfolio")
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

#!/usr/bin/env python3
"""Whether random search finds everything that the broken models break, how fast, and how near it shrinks a run to the
cheapest one that `lockstep check` finds.

  broken.py PROGRAM [--seeds N] [--seconds S] [MODEL…]

A line for each claim that something is broken: the cheapest run, and over the seeds how often it was found, the median
and the most runs that it took, the median and the most seconds, shrinking included, and the dearest shrunk run. Exits
with 1 if a seed found nothing in the time, or a shrunk run has more faults than the cheapest or more than 1.5 times its
steps.
"""
import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time

OF_REDLOCK = ["pause", "ntp_step", "amnesia"]
STEPS_RATIO = 1.5


def lockstep(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 2):
        sys.exit(f"{' '.join(arguments)}: exit code {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def broken_models(program):
    return [model["name"] for model in lockstep(program, "list", "--json")["models"] if model["broken"]]


def claims_broken(program, model, folder):
    """Scenario, property, faults and steps of the cheapest run, of each claim that something is broken."""
    scenarios = OF_REDLOCK if model == "redlock" else []
    checked = lockstep(program, "check", model, *scenarios, "--json", "-q", "--no-pictures", "-o", folder)
    return [(scenario["name"], found["name"], found["faults"], found["steps"])
            for scenario in checked["scenarios"] for found in scenario["properties"] if found["expected"] == "broken"]


def fuzz(program, model, scenario, seed, seconds, folder):
    """The scenario's result, and the seconds that it took."""
    started = time.monotonic()
    result = lockstep(program, "fuzz", model, scenario, "--seed", str(seed), "--timeout", f"{seconds}s", "--json", "-q",
                      "--no-pictures", "-o", folder)
    return result["scenarios"][0], time.monotonic() - started


def find_of(result, name):
    """The run's number, faults, steps; None: not found."""
    found = next(one for one in result["result"]["properties"] if one["name"] == name)
    if found["verdict"] != "violated":
        return None
    return next(find["run"] for find in result["finds"] if find["property"] == name), found["faults"], found["steps"]


def measure(options, model, folder):
    """Whether all of the model's claims are as they should be."""
    claims = claims_broken(options.program, model, folder)
    good = True
    for scenario in dict.fromkeys(claim[0] for claim in claims):
        fuzzed = [fuzz(options.program, model, scenario, seed, options.seconds, folder)
                  for seed in range(1, options.seeds + 1)]
        seconds = [taken for _, taken in fuzzed]
        for _, name, faults, steps in [claim for claim in claims if claim[0] == scenario]:
            finds = [find for find in (find_of(result, name) for result, _ in fuzzed) if find]
            runs = [find[0] for find in finds] or [0]
            most_faults = max((find[1] for find in finds), default=0)
            most_steps = max((find[2] for find in finds), default=0)
            is_good = (len(finds) == options.seeds and most_faults <= faults and most_steps <= STEPS_RATIO * steps and
                       max(seconds) <= options.seconds)
            good &= is_good
            print(f"{'' if is_good else '!':1} {model:<30} {scenario:<14} {name[:16]:<16} "
                  f"{faults:>2} {steps:>4} {len(finds):>3}/{options.seeds} {statistics.median(runs):>7.0f} "
                  f"{max(runs):>7} {statistics.median(seconds):>6.1f} {max(seconds):>6.1f} "
                  f"{most_faults:>2} {most_steps:>4} {most_steps / steps:>5.2f}", flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(description="What random search makes of the broken models.")
    parser.add_argument("program")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--seconds", type=int, default=10, help="a search may take")
    parser.add_argument("models", nargs="*", metavar="MODEL")
    options = parser.parse_intermixed_args()
    good = True
    print(f"  {'model':<30} {'scenario':<14} {'property':<16} cheapest found   runs:  most      s:   most dearest ratio")
    with tempfile.TemporaryDirectory() as folder:
        for model in options.models or ["redlock", *broken_models(options.program)]:
            good &= measure(options, model, folder)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()

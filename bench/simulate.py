#!/usr/bin/env python3
"""Measures how many events a second one core simulates.

  simulate.py PROGRAM

An event is one step of the concrete engine: a delivery, a timer, a time-out, the end of a wait, a fault. Seconds are CPU
time of the whole process, model and start included; the best of three.
"""
import json
import resource
import subprocess
import sys

CASES = [
    ("redlock", "calm", 1000),  # 5 servers, 2 clients: at least 1,000,000 are asked for
    ("redlock", "pause", 1000),
    ("single_node", "calm", 1000),
    ("fenced", "pause", 1000),
    ("zookeeper", "calm", 1000),
]


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(program, model, scenario, runs):
    began = cpu_seconds()
    done = subprocess.run([program, "simulate", model, scenario, "--runs", str(runs), "--seed", "1", "-j", "1", "-q", "--json"],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["scenarios"][0]["events"], cpu_seconds() - began


def main():
    print(f"{'model':<14} {'scenario':<10} {'events':>12} {'CPU s':>7} {'events/s':>12}")
    for model, scenario, runs in CASES:
        events, seconds = min((measure(sys.argv[1], model, scenario, runs) for _ in range(3)), key=lambda pair: pair[1])
        print(f"{model:<14} {scenario:<10} {events:>12,} {seconds:>7.2f} {events / seconds:>12,.0f}", flush=True)


if __name__ == "__main__":
    main()

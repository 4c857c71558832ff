"""Time of `emab.run`, of the command, and of a learner in Python: `python python/bench/run.py PATH_TO_EMAB`.

The command (the whole process) and Python (the whole call) alternate, so that other load slows both. Install the
package first, with `pip install ./python`, and build the command with `cargo build --release`.
"""

import json
import platform
import statistics
import subprocess
import sys
import time
import warnings

import numpy as np

import emab

ROUNDS = 9
JOB = {"runs": 4000, "episodes": 20_000, "seed": 1}


def seconds(work):
    """Return the seconds that a call takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def against(command, threads):
    """Return the seconds of the command and of Python, alternating."""
    arguments = [command, "run", "resource", "--json", "--threads", str(threads)]
    arguments += [word for key, value in JOB.items() for word in (f"--{key}", str(value))]
    texts = {}

    def by_command():
        texts["command"] = subprocess.run(arguments, check=True, capture_output=True, text=True).stdout

    def by_python():
        texts["python"] = emab.run("resource", threads=threads, progress=False, **JOB).text

    pairs = [(seconds(by_command), seconds(by_python)) for _ in range(ROUNDS)]
    curves = [json.loads(text)["learners"][0]["curve"] for text in texts.values()]
    assert curves[0] == curves[1], "the numbers differ"
    return pairs


def main():
    """Measure and print."""
    warnings.simplefilter("ignore")
    command = sys.argv[1] if len(sys.argv) > 1 else "target/release/emab"
    print(f"{time.strftime('%Y-%m-%d')}, Python {platform.python_version()}, {platform.machine()}; {JOB}")
    for threads in (1, 2):
        pairs = against(command, threads)
        ratios = sorted(python / command for command, python in pairs)
        first, last = ratios[1], ratios[-2]
        print(
            f"threads {threads}: command {statistics.median(c for c, _ in pairs):.2f} s, "
            f"emab.run {statistics.median(p for _, p in pairs):.2f} s; "
            f"ratio {statistics.median(ratios):.3f} ({ROUNDS} pairs; without the extremes {first:.3f} to {last:.3f})"
        )
    problem = emab.load("resource")
    learner = emab.FeedBAL(problem.spec)
    steps, states = np.ones(1_000_000, dtype=np.int64), np.zeros(1_000_000, dtype=np.int64)
    rates = [len(steps) / seconds(lambda: learner.choose_batch(steps, states)) for _ in range(ROUNDS)]
    print(f"choose, in a batch: {statistics.median(rates) / 1e6:.0f} million a second")

    def one_by_one():
        for _ in range(100_000):
            learner.choose(step=1, state=0)

    rates = [100_000 / seconds(one_by_one) for _ in range(ROUNDS)]
    print(f"choose, one by one: {statistics.median(rates) / 1e6:.1f} million a second")
    episode = emab.Episode(actions=[0, 0], feedbacks=[1, 0], costs=[0.0, 0.0], rewards=[0.0, 0.9, 0.81])

    def learn():
        for _ in range(100_000):
            learner.learn(episode)

    rates = [100_000 / seconds(learn) for _ in range(3)]
    print(f"learn, one by one: {statistics.median(rates) / 1e6:.2f} million episodes of 3 steps a second")


if __name__ == "__main__":
    main()

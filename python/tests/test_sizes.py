"""Sizes that do not fit into memory are errors: they do not end the interpreter."""

import subprocess
import sys

SETUP = """
import json, resource, warnings
import numpy as np
import emab
from emab._emab import Experiment, Sweep, VectorCore, text_table

warnings.simplefilter("ignore")
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))

class Endless:
    def __len__(self): return 10**17
    def __getitem__(self, i): return "1"

class Iterated:
    def __iter__(self):
        while True: yield 0

def episode(**lists):
    return emab.Episode(**{"actions": [0], "feedbacks": [0], "costs": [0.0], "rewards": [0.0, 0.0]} | lists)

def spec(states):
    sizes = {"horizon": 3, "states": states, "actions": 2, "feedbacks": 2, "transition": "x"}
    return emab.Spec.from_json(json.dumps(sizes))

resource_problem = emab.load("resource")
learner = emab.Learner("feedbal", resource_problem)
sweep = Sweep('problem = "resource"\\n[grid]\\nlearner.sigma2 = [0.1]\\n')
sizes = {"horizon": 3, "states": 10**9, "actions": 1, "feedbacks": 1}
many = np.broadcast_to(1, (10**9,))

def experiment(learners=("feedbal",), checkpoints=None):
    return Experiment(resource_problem, learners, runs=10, episodes=10**18, seed=1, checkpoints=checkpoints)
"""

CASES = """
episode(actions=range(10**9))
episode(feedbacks=range(10**9))
episode(states=range(10**9))
episode(costs=range(10**9))
episode(rewards=np.broadcast_to(0.0, (10**9,)))
episode(rewards=Endless())
episode(costs=Iterated())
episode(actions=Iterated())
emab.Episode._from_lists([range(10**9), [], []], [[], []])
emab.run("resource", episodes=10**10, checkpoints=range(1, 10**9))
experiment(checkpoints=range(1, 10**9))
experiment(checkpoints=range(1, 3 * 10**6))
experiment(learners=Endless())
resource_problem.with_conditions(Endless())
learner.choose_batch(many, many)
learner.choose_batch(range(10**9), range(10**9))
spec(10**9).states
spec(10**7).states
VectorCore(resource_problem, 10**9, True)
VectorCore(resource_problem, 1 << 20, True)
VectorCore(resource_problem, 1 << 18, True)
text_table(["a"], Endless())
sweep.csv(Endless())
sweep.document(Endless())
emab.problem("p", **sizes, transition="x", feedback=[1.0], cost=0.0, reward=lambda t, x: 0.0)
"""

CHECK = """
for case in CASES.strip().splitlines():
    print(case, flush=True)
    try:
        eval(case)
    except (MemoryError, ValueError):
        continue
    raise AssertionError("accepted")
print("done")
"""


def test_sizes_that_do_not_fit_into_memory_are_errors() -> None:
    script = f"{SETUP}\nCASES = {CASES!r}\n{CHECK}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-2000:]}"
    assert done.stdout.endswith("done\n")

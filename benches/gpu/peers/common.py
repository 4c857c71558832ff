"""What the Python programs here share: the job's numbers, the command line and the line of JSON."""

import argparse
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "peers"))

import job  # noqa: E402, F401  (benches/peers/job.py, used by the programs as common.job)


def parser(description: str) -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(description=description)
    p.add_argument("--runs", type=int, default=4096)
    p.add_argument("--episodes", type=int, default=job.EPISODES)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--precision", choices=["float32", "float64"], default="float32")
    return p


def report(peer: str, options: argparse.Namespace, regret: np.ndarray, steps: int, seconds: float, compiling: float) -> None:
    """Prints the line of JSON. `regret` has one value for each run."""
    line = {
        "peer": peer,
        "precision": options.precision,
        "runs": options.runs,
        "episodes": options.episodes,
        "steps": steps,
        "seconds": seconds,
        "compile_seconds": compiling,
        "ns_per_step": seconds * 1e9 / steps,
        "mean_regret": float(regret.mean()),
        "regret_stderr": float(regret.std(ddof=1) / len(regret) ** 0.5),
    }
    print(json.dumps(line))

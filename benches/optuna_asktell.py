"""Optuna's ask and tell on a store, as fast as it goes: `optuna_asktell.py URL SECONDS WORKERS`, one JSON object.

Storage and its settings are those that Optuna takes by itself for a URL. The sampler draws at random: what is measured
is what it takes to be asked and told durably, not to think. A pair is ask, one suggested parameter, tell.
"""

import json
import multiprocessing
import sys
import time

import optuna


def work(url, name, seconds, results):
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.load_study(study_name=name, storage=url, sampler=optuna.samplers.RandomSampler())
    times, failures = [], 0
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        begun = time.perf_counter()
        try:
            trial = study.ask()
            study.tell(trial, trial.suggest_float("x", 0, 1))
            times.append(time.perf_counter() - begun)
        except Exception:  # a database that is locked, above all
            failures += 1
    results.put((times, failures))


def main():
    url, seconds, workers = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    name = f"bench-{workers}"
    optuna.create_study(study_name=name, storage=url)
    # Not forked: connections must not be shared.
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    args = (url, name, seconds, results)
    processes = [context.Process(target=work, args=args) for _ in range(workers)]
    for process in processes:
        process.start()
    times, failures = [], 0
    for _ in processes:
        some, failed = results.get()
        times += some
        failures += failed
    for process in processes:
        process.join()
    times.sort()
    part = lambda p: times[min(len(times) - 1, int(len(times) * p))] * 1000 if times else None
    print(
        json.dumps(
            {
                "version": optuna.__version__,
                "workers": workers,
                "pairs_per_second": len(times) / seconds,
                "p50_ms": part(0.5),
                "p99_ms": part(0.99),
                "failures": failures,
            }
        )
    )


if __name__ == "__main__":
    main()

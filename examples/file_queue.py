"""A laboratory, or a cluster without Dask: queries go out as files, values come back as files, and nobody waits for anybody.

    python examples/file_queue.py           # the optimizer, with two workers beside it
    python examples/file_queue.py worker queue   # one more worker, on any machine that sees the folder

queue/todo holds one JSON file per query (key, point, seed of the noise); a worker takes one by renaming it and puts the value into
queue/done. The optimizer tells values as they come, in any order. Everything can be stopped at any moment, by Ctrl-C or by a power cut:
started again, the optimizer continues from queue/run and puts out again only the queries that have no value.
"""

import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from scipy.optimize import LinearConstraint

import zolal
from zolal.sets import Box

TARGET = np.linspace(0.2, 1.0, 6)
OPTIONS = dict(step_size=0.04, penalty=4.0, dual_step=4.0, smoothing=1e-2, num_directions=6, share_base=True, momentum=0.1)


def measure(x, seed):
    """What the laboratory does: a yield with noise. Equal seeds are the same sample of the material."""
    quality = np.random.default_rng(seed).normal(size=x.size)
    return float(np.sum((x - TARGET) ** 2) + 0.02 * quality @ x)


def write(path, content):
    """A file that is whole or not there."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps(content))
    os.replace(new, path)


def put_out(query, todo):
    """One query as a file; equal sample keys give equal seeds."""
    digest = hashlib.blake2b(repr(tuple(query.sample_key)).encode(), digest_size=8).digest()
    write(todo / f"{query.key}.json", dict(key=query.key, point=query.point.tolist(), seed=int.from_bytes(digest, "little")))


def optimize(queue, maxfev=1200):
    """Keep the queue filled and tell what comes back, until the run ends."""
    todo, done = (queue / name for name in ("todo", "done"))
    for folder in (todo, done):
        folder.mkdir(parents=True, exist_ok=True)
    for stale in todo.glob("*"):
        stale.unlink(missing_ok=True)
    mixture = LinearConstraint(np.ones((1, TARGET.size)), 3.0, 3.0)
    arguments = dict(constraints=mixture, region=Box(0.0, 2.0), maxfev=maxfev, tol=1e-2, rng=0, options=OPTIONS)
    with zolal.Optimizer(None, np.full(TARGET.size, 0.5), checkpoint=queue / "run", resume=True, **arguments) as opt:
        out: set[str] = set()
        while (batch := opt.ask()) is not None:
            for query in batch:
                if query.key not in out and not (done / f"{query.key}.json").exists():
                    put_out(query, todo)
                out.add(query.key)
            found = {path.stem: path for path in done.glob("*.json") if path.stem in opt.missing}
            if found:
                opt.tell({key: json.loads(path.read_text())["value"] for key, path in found.items()})
                for path in found.values():
                    path.unlink()
                out &= set(opt.missing)
            else:
                time.sleep(0.005)
        return opt.result


def work(queue):
    """Take a query, measure, put the value back; leave when the folder is gone or says stop."""
    while queue.exists() and not (queue / "stop").exists():
        for path in sorted((queue / "todo").glob("*.json")):
            mine = path.with_suffix(f".{os.getpid()}")
            try:
                os.replace(path, mine)  # whoever renames it has it
            except FileNotFoundError:
                continue
            query = json.loads(mine.read_text())
            write(queue / "done" / path.name, dict(value=measure(np.array(query["point"]), query["seed"])))
            mine.unlink(missing_ok=True)
        time.sleep(0.005)


def main(queue):
    (queue / "stop").unlink(missing_ok=True)
    queue.mkdir(parents=True, exist_ok=True)
    workers = [subprocess.Popen([sys.executable, __file__, "worker", str(queue)]) for _ in range(2)]
    try:
        result = optimize(queue)
    finally:
        (queue / "stop").touch()
        for worker in workers:
            worker.wait()
    print("mixture", result.x.round(3), " sum", round(float(result.x.sum()), 4))
    print(result.message)


if __name__ == "__main__":
    if sys.argv[1:2] == ["worker"]:
        work(Path(sys.argv[2]))
    else:
        main(Path(sys.argv[1] if len(sys.argv) > 1 else "queue"))

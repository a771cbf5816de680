#!/usr/bin/env python3
"""Times α-entmax as PyTorch sees it: torch.softmax, filigree and, where given, the reference library.

All methods of one (shape, deviation, mode) run in turn inside every round, so that what disturbs the
machine falls on all of them; a ratio is the median over the rounds of (time / time of torch.softmax in
that round). `learned` has one α per head, spread evenly over 1.05 … 1.95, with its gradient.

    python3 bench/entmax_speed.py --package BUILD/python --threads 1 --json one.json
    python3 bench/entmax_speed.py --package BUILD/python --reference DIR --methods reference
    python3 bench/entmax_speed.py --package BUILD/python --plot time-by-alpha.svg

BUILD/python holds the package that the build makes; DIR the folder with the reference's package
`entmax`. Memory is kept between calls for every method alike (the script starts itself again with the
allocator set so); --fresh-memory leaves the allocator as it is.
"""
import argparse
import json
import os
import statistics
import sys
import time

SHAPES = "64x8x32x32,32x8x64x64,8x8x256x256,2x8x1024x1024,512x32000"
KEEP_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": str(4 << 30),
    "MALLOC_TRIM_THRESHOLD_": str(8 << 30),
    "MALLOC_TOP_PAD_": str(256 << 20),
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--package", required=True, help="folder that holds the package filigree")
    parser.add_argument("--reference", help="folder that holds the reference's package entmax")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--shapes", default=SHAPES)
    parser.add_argument("--deviations", default="1,4")
    parser.add_argument("--modes", default="forward,both", help="both: forward and backward")
    parser.add_argument("--methods", default="", help="only those whose name contains this")
    parser.add_argument("--seconds", type=float, default=0.02, help="least time of one measurement")
    parser.add_argument("--limit", type=float, default=10.0, help="seconds for one method of a cell")
    parser.add_argument("--fresh-memory", action="store_true")
    parser.add_argument("--json", help="write the figures here")
    parser.add_argument("--plot", help="instead: draw the time by α for several row lengths")
    return parser.parse_args()


def methods(options, torch, filigree, shape):
    heads = shape[1] if len(shape) == 4 else 1
    alpha = torch.linspace(1.05, 1.95, heads) if heads > 1 else torch.tensor([1.5])
    alpha = alpha.reshape((1, heads, 1, 1) if len(shape) == 4 else (1, 1)).requires_grad_()
    rows = {
        "torch.softmax": lambda x: torch.softmax(x, -1),
        "softmax": lambda x: filigree.entmax(x, 1.0),
        "entmax15": lambda x: filigree.entmax15(x),
        "sparsemax": lambda x: filigree.sparsemax(x),
        "learned": lambda x: filigree.entmax(x, alpha),
    }
    if options.reference:
        import entmax as reference

        rows["reference entmax15"] = lambda x: reference.entmax15(x)
        rows["reference sparsemax"] = lambda x: reference.sparsemax(x)
        rows["reference entmax_bisect learned"] = lambda x: reference.entmax_bisect(x, alpha)
    keep = lambda name: name == "torch.softmax" or options.methods in name
    return {name: f for name, f in rows.items() if keep(name)}, alpha


def seconds(work, repetitions):
    start = time.perf_counter()
    for _ in range(repetitions):
        work()
    return (time.perf_counter() - start) / repetitions


def measure(options, torch, filigree, shape, deviation, mode):
    torch.manual_seed(0)
    scores = torch.randn(shape) * deviation
    cotangent = torch.randn(shape)
    functions, alpha = methods(options, torch, filigree, shape)

    def work(function):
        if mode == "forward":
            with torch.no_grad():
                function(scores)
        else:
            x = scores.detach().requires_grad_()
            alpha.grad = None
            function(x).backward(cotangent)

    plan = {}
    for name, function in functions.items():
        one = min(seconds(lambda: work(function), 1) for _ in range(2))
        repetitions = max(1, int(options.seconds / one))
        plan[name] = (repetitions, max(3, min(options.rounds, int(options.limit / (one * repetitions)))))
    times = {name: [] for name in functions}
    for i in range(options.rounds):
        for name, function in functions.items():
            repetitions, rounds = plan[name]
            if i < rounds or name == "torch.softmax":
                times[name].append(seconds(lambda: work(function), repetitions))
    softmax = times["torch.softmax"]
    rows = []
    for name, taken in times.items():
        rows.append(dict(
            shape=shape, deviation=deviation, mode=mode, threads=options.threads, method=name,
            milliseconds=statistics.median(taken) * 1e3, rounds=len(taken),
            ratio=statistics.median(t / s for t, s in zip(taken, softmax))))
    return rows


def table(options, torch, filigree):
    results = []
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {options.rounds} rounds,",
          "fresh memory" if options.fresh_memory else "memory kept", flush=True)
    for shape in [[int(n) for n in s.split("x")] for s in options.shapes.split(",")]:
        for deviation in [float(d) for d in options.deviations.split(",")]:
            for mode in options.modes.split(","):
                rows = measure(options, torch, filigree, shape, deviation, mode)
                results += rows
                for row in rows:
                    print(f"{'x'.join(map(str, shape)):>14} deviation {deviation:g} {mode:>7} "
                          f"{row['method']:<32} {row['milliseconds']:10.3f} ms  x {row['ratio']:.2f}",
                          flush=True)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(results, file, indent=1)


def plot(options, torch, filigree):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    alphas = [1.0, 1.02] + [1 + i / 20 for i in range(1, 21)]
    figure, axes = pyplot.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
    for axis, deviation in zip(axes, (1.0, 4.0)):
        for length, marker in ((20, "o"), (64, "s"), (256, "^"), (1024, "D"), (32000, "v")):
            scores = torch.randn(max(64, (1 << 19) // length), length) * deviation
            ratios = {alpha: [] for alpha in alphas}
            with torch.no_grad():
                for _ in range(options.rounds):
                    softmax = seconds(lambda: torch.softmax(scores, -1), 5)
                    for alpha in alphas:
                        taken = seconds(lambda: filigree.entmax(scores, alpha), 5)
                        ratios[alpha].append(taken / softmax)
            axis.plot(alphas, [statistics.median(ratios[a]) for a in alphas], marker=marker,
                      markersize=3, linewidth=1, label=f"rows of {length}")
        axis.axhline(1, color="black", linewidth=0.8, linestyle=":")
        axis.set_title(f"scores of deviation {deviation:g}")
        axis.set_xlabel("α")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("time / time of torch.softmax")
    axes[0].set_ylim(bottom=0)
    axes[1].legend()
    figure.savefig(options.plot)


def main():
    options = arguments()
    if not options.fresh_memory and any(k not in os.environ for k in KEEP_MEMORY):
        os.execve(sys.executable, [sys.executable] + sys.argv, {**os.environ, **KEEP_MEMORY})
    sys.path[:0] = [options.package] + ([options.reference] if options.reference else [])
    import torch

    import filigree

    torch.set_num_threads(options.threads)
    (plot if options.plot else table)(options, torch, filigree)


if __name__ == "__main__":
    main()

"""Times entmax_attention, forward and backward, against dense softmax attention.

Every method runs in every round, one after the other; the table holds medians of milliseconds, and
medians of the ratio to the faster of two softmax attentions in the same round: "composition" is
matmul, torch.softmax, matmul; "softmax" is this operator at alpha = 1. With --reference also the
factor by which the operator is faster than the composition with that library's entmax. --plot draws
the times for scores of deviation 1 against the length. With --memory L: instead, peak memory and time
of one forward and backward at length L in a fresh process.

The process sets what every method needs to be fast: memory that is kept between calls, one thread
pool, and OpenBLAS kernels for the processor.
"""
import argparse
import json
import math
import os
import resource
import statistics
import sys
import time

ENVIRONMENT = {
    "MALLOC_MMAP_THRESHOLD_": str(4 << 30),
    "MALLOC_TRIM_THRESHOLD_": str(8 << 30),
    "MALLOC_TOP_PAD_": str(256 << 20),
    "OMP_WAIT_POLICY": "PASSIVE",
}
# [batch, head, length], about as many scores each.
SHAPES = "64x8x20,16x8x64,4x8x256,1x8x1024,1x2x4096"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--package", required=True, help="folder that holds the package filigree")
    parser.add_argument("--reference", help="folder that holds the reference's package entmax")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--shapes", default=SHAPES)
    parser.add_argument("--widths", default="32,64")
    parser.add_argument("--deviations", default="1,2")
    parser.add_argument("--seconds", type=float, default=0.03, help="least time of one measurement")
    parser.add_argument("--memory", type=int, help="length of one run with 8 heads")
    parser.add_argument("--json", help="write the figures here")
    parser.add_argument("--plot", help="draw the times here")
    return parser.parse_args()


def blas_kernels():
    """OpenBLAS older than the processor needs to be told."""
    with open("/proc/cpuinfo") as file:
        flags = next(line for line in file if line.startswith("flags"))
    return {"OPENBLAS_CORETYPE": "SkylakeX" if "avx512dq" in flags else "Haswell"}


def methods(options, torch, filigree, heads):
    scale = lambda q: q.size(-1) ** -0.5

    def composition(transform):
        return lambda q, k, v: transform(q @ k.transpose(-1, -2) * scale(q)) @ v

    alpha = torch.linspace(1.05, 1.95, heads).requires_grad_()
    rows = {
        "composition": composition(lambda x: torch.softmax(x, -1)),
        "softmax": lambda q, k, v: filigree.entmax_attention(q, k, v, 1.0),
        "entmax15": lambda q, k, v: filigree.entmax_attention(q, k, v, 1.5),
        "learned": lambda q, k, v: filigree.entmax_attention(q, k, v, alpha),
    }
    if options.reference:
        import entmax as reference

        shaped = alpha.view(1, -1, 1, 1)
        rows["reference entmax15"] = composition(lambda x: reference.entmax15(x))
        rows["reference learned"] = composition(lambda x: reference.entmax_bisect(x, shaped))
    return rows, alpha


def measure(options, torch, filigree, shape, width, deviation):
    torch.manual_seed(0)
    batch, heads, length = shape
    q, k, v, cotangent = (torch.randn(batch, heads, length, width) for _ in range(4))
    leaves = [(q * deviation).requires_grad_(), k.requires_grad_(), v.requires_grad_()]
    functions, alpha = methods(options, torch, filigree, heads)

    def work(function, repetitions=1):
        start = time.perf_counter()
        for _ in range(repetitions):
            for leaf in (*leaves, alpha):
                leaf.grad = None
            function(*leaves).backward(cotangent)
        return (time.perf_counter() - start) / repetitions

    plan = {}
    for name, function in functions.items():
        one = min(work(function) for _ in range(2))
        plan[name] = max(1, int(options.seconds / one))
    times = {name: [] for name in functions}
    for _ in range(options.rounds):
        for name, function in functions.items():
            times[name].append(work(function, plan[name]))
    best = [min(pair) for pair in zip(times["composition"], times["softmax"])]
    ratio = lambda name, base: statistics.median(t / b for t, b in zip(times[name], base))
    result = dict(shape=shape, width=width, deviation=deviation, threads=options.threads)
    result["milliseconds"] = {name: statistics.median(t) * 1e3 for name, t in times.items()}
    result["ratio"] = {name: ratio(name, best) for name in times}
    result["to composition"] = {name: ratio(name, times["composition"]) for name in times}
    if options.reference:
        result["factor"] = {n: 1 / ratio(n, times[f"reference {n}"]) for n in ("entmax15", "learned")}
    return result


def table(options, torch, filigree):
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {options.rounds} rounds")
    results = []
    for shape in [[int(n) for n in s.split("x")] for s in options.shapes.split(",")]:
        for width in [int(n) for n in options.widths.split(",")]:
            for deviation in [float(d) for d in options.deviations.split(",")]:
                row = measure(options, torch, filigree, shape, width, deviation)
                results.append(row)
                ms, ratio = row["milliseconds"], row["ratio"]
                print(f"{'x'.join(map(str, shape)):>10} d {width} deviation {deviation:g}: "
                      f"composition {ms['composition']:.2f} ms, softmax {ms['softmax']:.2f} ms; "
                      f"entmax15 {ratio['entmax15']:.2f} (composition: "
                      f"{row['to composition']['entmax15']:.2f}), learned {ratio['learned']:.2f} "
                      f"({row['to composition']['learned']:.2f}) {row.get('factor', '')}", flush=True)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(results, file, indent=1)
    if options.plot:
        plot(options, results)


NAMES = {
    "reference learned": "learned α, reference library",
    "reference entmax15": "α = 1.5, reference library",
    "composition": "softmax, PyTorch",
    "softmax": "softmax",
    "learned": "learned α",
    "entmax15": "α = 1.5",
}


def plot(options, results):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    widths = sorted({row["width"] for row in results})
    figure, axes = pyplot.subplots(1, len(widths), figsize=(5 * len(widths), 4), sharey=True,
                                   layout="constrained", squeeze=False)
    for axis, width in zip(axes[0], widths):
        rows = [r for r in results if r["width"] == width and r["deviation"] == 1]
        lengths = [r["shape"][2] for r in rows]
        for name, label in NAMES.items():
            if any(name not in r["milliseconds"] for r in rows):
                continue
            per_query = [r["milliseconds"][name] * 1e3 / math.prod(r["shape"]) for r in rows]
            axis.loglog(lengths, per_query, marker="o", markersize=3, linewidth=1, label=label,
                        linestyle="--" if name.startswith("reference") or name == "composition" else "-")
        axis.set_title(f"head size {width}")
        axis.set_xlabel("length")
        axis.set_xticks(lengths, [str(n) for n in lengths])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("µs per query, forward and backward")
    axes[0][-1].legend()
    figure.savefig(options.plot)


def memory(options, torch, filigree):
    torch.manual_seed(0)
    length, heads, width = options.memory, 8, 64
    q, k, v = (torch.randn(1, heads, length, width).requires_grad_() for _ in range(3))
    cotangent = torch.randn(1, heads, length, width)
    peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    before, start = peak(), time.perf_counter()
    output = filigree.entmax_attention(q, k, v, 1.5)
    middle = time.perf_counter()
    output.backward(cotangent)
    print(f"length {length}, {heads} heads, d {width}, alpha 1.5, {options.threads} threads: "
          f"forward {middle - start:.2f} s, backward {time.perf_counter() - middle:.2f} s, "
          f"{peak() - before:.0f} MB above the {before:.0f} MB before, of which the gradients and the "
          f"output take {4 * q.numel() * 4 / 2**20:.0f} MB; all weights would take "
          f"{heads * length ** 2 * 4 / 2**20:.0f} MB")


def main():
    options = arguments()
    environment = {**ENVIRONMENT, **blas_kernels(), "OPENBLAS_NUM_THREADS": str(options.threads)}
    if options.memory:
        environment = {**blas_kernels(), "OMP_WAIT_POLICY": "PASSIVE"}
    if any(os.environ.get(k) != v for k, v in environment.items()):
        os.execve(sys.executable, [sys.executable] + sys.argv, {**os.environ, **environment})
    sys.path[:0] = [options.package] + ([options.reference] if options.reference else [])
    import torch

    import filigree

    torch.set_num_threads(options.threads)
    (memory if options.memory else table)(options, torch, filigree)


if __name__ == "__main__":
    main()

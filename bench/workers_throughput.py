#!/usr/bin/env python3
"""What several processes cost on one machine: the same training by one process of N threads and by
N processes of one thread.

    bench/workers_throughput.py --filigree build/release/bin/filigree \
        --train-sets train.en.gz train.de.gz --vocab joint8k.model [--preset tiny] [--workers 2] [--rounds 7]

Both take turns. Prints the medians of target tokens per second and of the ratios within a round,
and the largest relative difference of their losses, which is rounding.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile


def train(args, cache, folder, arguments):
    """The reports of a short training; its last one leaves out the first updates, which warm up."""
    model = os.path.join(folder, "model")
    subprocess.run([args.filigree, "train", "--model", model, "--train-sets", *args.train_sets,
                    "--vocabs", args.vocab, "--preset", args.preset, "--data-cache", cache,
                    "--batch-tokens", str(args.batch_tokens), "--max-steps", str(2 * args.steps),
                    "--report-every", str(args.steps), "--valid-every", "1000000",
                    "--log-level", "error", *arguments], check=True)
    with open(os.path.join(model, "metrics.jsonl"), encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--filigree", required=True)
    parser.add_argument("--train-sets", nargs=2, required=True)
    parser.add_argument("--vocab", required=True)
    parser.add_argument("--preset", default="tiny")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--batch-tokens", type=int, default=4096)
    args = parser.parse_args()
    n = str(args.workers)
    ways = {f"1 process, {n} threads": ["--threads", n],
            f"{n} processes, 1 thread": ["--workers", n, "--threads", "1"]}
    rates = {way: [] for way in ways}
    difference = 0.0
    with tempfile.TemporaryDirectory() as cache:
        for _ in range(args.rounds):
            losses = []
            for way, arguments in ways.items():
                with tempfile.TemporaryDirectory() as folder:
                    reports = train(args, cache, folder, arguments)
                rates[way].append(reports[-1]["tokens_per_second"])
                losses.append([report["loss"] for report in reports])
            difference = max(difference, *(abs(a - b) / a for a, b in zip(*losses)))
    print(f"preset {args.preset}, batches of {args.batch_tokens} tokens, {args.rounds} rounds; "
          "target tokens/s, medians")
    for way, values in rates.items():
        print(f"  {way:22} {statistics.median(values):8.0f}")
    threads, processes = rates.values()
    ratio = statistics.median(b / a for a, b in zip(threads, processes))
    print(f"  processes / threads {ratio:5.3f}   losses differ by at most {difference:.1e}")


if __name__ == "__main__":
    main()

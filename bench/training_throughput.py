#!/usr/bin/env python3
"""Training throughput of Filigree as a ratio to another trainer, in one run.

    bench/training_throughput.py --filigree build/release/bin/filigree \
        --train-sets train.en.gz train.de.gz --vocab joint8k.model \
        --baseline "python3 pytorch_baseline.py bench --rounds 1 --steps 6 --size {size}" \
        [--size tiny small] [--attention softmax softmax:bfloat16x3] [--rounds 7] [--threads 2]

Both sides take turns: in every round Filigree trains each attention for --steps updates, then the
baseline command runs. The baseline must print its rates in a form that --pattern finds: groups NAME and RATE. The
table shows medians over the rounds of target tokens per second, and of the ratios within a round.
"""
import argparse
import json
import os
import re
import shlex
import statistics
import subprocess
import tempfile


def filigree_tokens_per_second(args, size, method, folder):
    """Runs a short training; its last report leaves out the first updates, which warm up."""
    attention, _, precision = method.partition(":")
    model = os.path.join(folder, "model")
    command = [args.filigree, "train", "--model", model, "--train-sets", *args.train_sets,
               "--vocabs", args.vocab, "--preset", size, "--attention", attention,
               "--dropout", "0.3", "--batch-tokens", str(args.batch_tokens),
               "--max-steps", str(2 * args.steps), "--report-every", str(args.steps),
               "--valid-every", "1000000", "--threads", str(args.threads), "--log-level", "warn",
               "--precision", precision or "float32"]
    subprocess.run(command, check=True)
    with open(os.path.join(model, "metrics.jsonl"), encoding="utf-8") as lines:
        return json.loads(lines.readlines()[-1])["tokens_per_second"]


def baseline_tokens_per_second(args, size):
    command = shlex.split(args.baseline.format(size=size))
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {name: float(rate) for name, rate in re.findall(args.pattern, output)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--filigree", required=True)
    parser.add_argument("--train-sets", nargs=2, required=True)
    parser.add_argument("--vocab", required=True)
    parser.add_argument("--baseline", required=True)
    parser.add_argument("--pattern", default=r"(\w+)\s+n_iter=\S+\s+median ([\d.]+) tok/s")
    parser.add_argument("--size", nargs="+", default=["tiny"])
    parser.add_argument("--attention", nargs="+", default=["softmax", "adaptive"],
                        help="attentions, each maybe with :PRECISION")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    for size in args.size:
        ours = {attention: [] for attention in args.attention}
        theirs = {}
        for _ in range(args.rounds):
            for attention in args.attention:
                with tempfile.TemporaryDirectory() as folder:
                    ours[attention].append(filigree_tokens_per_second(args, size, attention, folder))
            for name, rate in baseline_tokens_per_second(args, size).items():
                theirs.setdefault(name, []).append(rate)
        print(f"preset {size}, {args.threads} threads, {args.rounds} rounds; target tokens/s, medians")
        for attention, rates in ours.items():
            text = f"  filigree {attention:20} {statistics.median(rates):8.0f}"
            for name, others in theirs.items():
                ratio = statistics.median(a / b for a, b in zip(rates, others))
                text += f"   {ratio:5.2f} x {name} ({statistics.median(others):.0f})"
            print(text)
        if {"softmax", "adaptive"} <= ours.keys():
            ratio = statistics.median(a / b for a, b in zip(ours["adaptive"], ours["softmax"]))
            print(f"  filigree adaptive / softmax {ratio:5.2f}", flush=True)


if __name__ == "__main__":
    main()

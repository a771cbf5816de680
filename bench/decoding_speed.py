#!/usr/bin/env python3
"""Times decoding with random weights, our transforms and other programs in turn.

In every round each method runs once for every setting, so that what disturbs the machine falls on all
of them; a ratio is the median over the rounds of (tokens per second / those of the first method in that
round). Sources and outputs have the same lengths for all.

    python3 bench/decoding_speed.py --program BUILD/bench/decoding_bench --presets tiny,small
    python3 bench/decoding_speed.py --program BUILD/bench/decoding_bench --peer \\
        'ctranslate2=ct2-translator --model {models}/{preset}-{vocabulary} --src {src} --out {out}
         --beam_size {beam} --batch_size {batch} --inter_threads {threads} --intra_threads 1
         --min_decoding_length {length} --max_decoding_length {length} --compute_type float32'

    python3 bench/decoding_speed.py --table speed.json

prints what --json has gathered as a table in Markdown. A peer is a command in which names in braces are replaced; --define models=DIR adds one. Its time is
that of the whole file without that of the file's first line, which stands for its start.
"""
import argparse
import itertools
import json
import os
import random
import shlex
import statistics
import subprocess
import tempfile
import time


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", help="decoding_bench")
    parser.add_argument("--methods", default="softmax,adaptive",
                        help="transforms, each maybe with :PRECISION")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=COMMAND")
    parser.add_argument("--define", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--presets", default="tiny,small,base")
    parser.add_argument("--vocabularies", default="8000,32000")
    parser.add_argument("--beams", default="1,5")
    parser.add_argument("--batches", default="1,32")
    parser.add_argument("--threads", default="2")
    parser.add_argument("--length", type=int, default=24, help="words of every output")
    parser.add_argument("--seconds", type=float, default=1.0, help="about how long a run takes")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", help="file to append the figures to, one object a line")
    parser.add_argument("--table", metavar="JSON", help="print such a file as a table, and stop")
    return parser.parse_args()


class Ours:
    """A running decoding_bench: one model, any number of runs."""

    def __init__(self, a, preset, vocabulary, method, sources):
        transform, _, precision = method.partition(":")
        self.process = subprocess.Popen(
            [a.program, "--preset", preset, "--vocabulary", vocabulary, "--transform", transform,
             "--precision", precision or "float32", "--length", str(a.length), sources],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, beam, batch, threads, sentences):
        self.process.stdin.write(f"{beam} {batch} {threads} {sentences}\n")
        self.process.stdin.flush()
        result = json.loads(self.process.stdout.readline())
        return result["tokens"] / result["seconds"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def peer_speed(command, names, lines, folder):
    """Tokens per second of a command; an output's words and its end are its tokens."""
    def seconds(count):
        source, out = os.path.join(folder, "source"), os.path.join(folder, "out")
        with open(source, "w") as file:
            file.writelines(lines[:count])
        start = time.perf_counter()
        subprocess.run(shlex.split(command.format(src=source, out=out, **names)), check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        took = time.perf_counter() - start
        return took, sum(len(line.split()) + 1 for line in open(out))

    started, first_tokens = seconds(1)
    took, tokens = seconds(len(lines))
    return (tokens - first_tokens) / (took - started)


def print_table(file):
    """A row for every setting, a column for every method: tokens per second of the first, ratios of the others."""
    rows = [json.loads(line) for line in open(file)]
    methods = [key[:-len(" ratio")] for key in rows[0] if key.endswith(" ratio")]
    heads = ["preset", "vocabulary", "beam", "batch", "threads", methods[0] + ", tokens/s"] + methods[1:]
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for row in rows:
        cells = [f"`{row['preset']}`", *(row[key] for key in heads[1:5]), f"{row[methods[0]]:.0f}"]
        ratios = (row.get(method + " ratio") for method in methods[1:])
        cells += ["" if ratio is None else f"{ratio:.2f}" for ratio in ratios]
        print("| " + " | ".join(map(str, cells)) + " |")


def main():
    a = arguments()
    if a.table:
        return print_table(a.table)
    peers = dict(peer.split("=", 1) for peer in a.peer)
    defined = dict(name.split("=", 1) for name in a.define)
    methods = a.methods.split(",")
    with tempfile.TemporaryDirectory() as folder:
        for preset in a.presets.split(","):
            for vocabulary in a.vocabularies.split(","):
                draw = random.Random(1)
                lines = [" ".join(f"w{draw.randrange(4, int(vocabulary))}"
                                  for _ in range(draw.randint(8, 32))) + "\n" for _ in range(4000)]
                sources = os.path.join(folder, "sources")
                with open(sources, "w") as file:
                    file.writelines(lines)
                ours = {m: Ours(a, preset, vocabulary, m, sources) for m in methods}
                for threads, beam, batch in itertools.product(
                        map(int, a.threads.split(",")), a.beams.split(","), a.batches.split(",")):
                    measure(a, preset, vocabulary, beam, batch, threads, ours, peers, defined, lines,
                            folder)
                for method in ours.values():
                    method.close()


def measure(a, preset, vocabulary, beam, batch, threads, ours, peers, defined, lines, folder):
    first = next(iter(ours.values()))
    # Enough sentences for all threads to be busy, and about the time asked for.
    least = 4 * threads * min(int(batch), 8)
    speed = first.run(beam, batch, threads, least)
    sentences = min(len(lines), max(least, int(a.seconds * speed / (a.length + 1))))
    for method in ours.values():
        method.run(beam, batch, threads, least)
    names = dict(defined, preset=preset, vocabulary=vocabulary, beam=beam, batch=batch,
                 threads=threads, length=a.length)
    speeds = {}
    for _ in range(a.rounds):
        for name, method in ours.items():
            speeds.setdefault(name, []).append(method.run(beam, batch, threads, sentences))
        for name, command in peers.items():
            speeds.setdefault(name, []).append(
                peer_speed(command, names, lines[:sentences], folder))
    base = next(iter(speeds.values()))
    row = {"preset": preset, "vocabulary": int(vocabulary), "beam": int(beam), "batch": int(batch),
           "threads": threads, "sentences": sentences, "rounds": a.rounds}
    for name, values in speeds.items():
        row[name] = round(statistics.median(values), 1)
        row[name + " ratio"] = round(statistics.median(v / b for v, b in zip(values, base)), 3)
    print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    if a.json:
        with open(a.json, "a") as file:
            file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()

"""Collectives and a step of DistributedDataParallel on 1, 2, 4 and 8 processes of this machine, ours beside the real
torch.

    python benchmarks/distributed_curve.py [--sizes 1 2 4 8] [--oracle PYTHON] [--turns 1]
For each number of processes, in milliseconds: all_reduce of 4 bytes, 256 KiB and 16 MiB, and a training step of the
same model and batch for each process:
of linear layers, and of a tiny BERT where transformers is installed. The best of the rounds counts, the processes'
slowest. The two torches take turns; with several turns the best of them counts. Each process has one thread. At the
end: how many times the real torch's steps ours cost, against that of one process.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import time

RESULT = "CURVE "


def tiny_bert():
    """Two layers of 128, as the smallest that is published; None without transformers."""
    try:
        from transformers import BertConfig, BertForSequenceClassification
    except ModuleNotFoundError:
        return None
    return BertForSequenceClassification(
        BertConfig(
            vocab_size=500,
            hidden_size=128,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=512,
            max_position_embeddings=64,
        )
    )


def worker(rank, size, port):
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=size)

    def best(f, rounds):
        f()
        times = []
        for _ in range(rounds):
            dist.barrier()
            start = time.perf_counter()
            f()
            times.append(time.perf_counter() - start)
        slowest = torch.tensor([min(times)], dtype=torch.float64)
        dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
        return slowest.item() * 1e3

    found = {}
    for name, count, rounds in (("4 B", 1, 60), ("256 KiB", 1 << 16, 40), ("16 MiB", 1 << 22, 10)):
        x = torch.ones(count)
        found[name] = best(lambda: dist.all_reduce(x, op=dist.ReduceOp.MAX), rounds)
    layers = [layer for _ in range(6) for layer in (torch.nn.Linear(384, 384), torch.nn.ReLU())]
    plain = torch.nn.Sequential(*layers, torch.nn.Linear(384, 8))
    batch = torch.randn(64, 384)

    def step(model, optimizer):
        def run():
            optimizer.zero_grad()
            model(batch).square().mean().backward()
            optimizer.step()

        return run

    if size == 1:
        found["step without DDP"] = best(step(plain, torch.optim.SGD(plain.parameters(), lr=0.01)), 30)
    model = torch.nn.parallel.DistributedDataParallel(plain)
    found["step"] = best(step(model, torch.optim.SGD(model.parameters(), lr=0.01)), 30)
    bert = tiny_bert()
    if bert is not None:
        inputs, labels = torch.arange(8 * 32).view(8, 32) * 7 % 500, torch.arange(8) % 2
        mask = torch.ones_like(inputs)

        def train(model):
            optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

            def run():
                optimizer.zero_grad()
                model(input_ids=inputs, attention_mask=mask, labels=labels).loss.backward()
                optimizer.step()

            return run

        if size == 1:
            found["BERT step without DDP"] = best(train(bert), 20)
        found["BERT step"] = best(train(torch.nn.parallel.DistributedDataParallel(bert)), 20)
    if rank == 0:
        print(RESULT + json.dumps(found), flush=True)
    dist.barrier()
    dist.destroy_process_group()


def run(python, size, active):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    prefix = [python, "-m", "mindtorch_proxy"] if active else [python]
    environment = {k: v for k, v in os.environ.items() if k != "MINDTORCH_ACTIVATE"} | {"OMP_NUM_THREADS": "1"}
    processes = [
        subprocess.Popen(
            [*prefix, __file__, "--worker", str(r), str(size), str(port)],
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for r in range(size)
    ]
    outputs = [p.communicate()[0] for p in processes]
    return json.loads(next(line for line in outputs[0].splitlines() if line.startswith(RESULT)).removeprefix(RESULT))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", type=int, nargs="*", default=[1, 2, 4, 8])
    parser.add_argument("--oracle", help="a Python with the real torch")
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--worker", type=int, nargs=3)
    options = parser.parse_args()
    if options.worker:
        return worker(*options.worker)
    ratios = {}
    for size in options.sizes:
        rows = {}
        for _ in range(options.turns):
            turn = {"ours": run(sys.executable, size, True)}
            if options.oracle:
                turn["torch"] = run(options.oracle, size, False)
            for who, row in turn.items():
                known = rows.setdefault(who, row)
                rows[who] = {name: min(value, known[name]) for name, value in row.items()}
        for who, row in rows.items():
            print(
                f"{size} processes, {who}: " + ", ".join(f"{name} {value:.3f} ms" for name, value in row.items()),
                flush=True,
            )
        if options.oracle:
            ratios[size] = {name: rows["ours"][name] / rows["torch"][name] for name in rows["ours"] if "step" in name}
    for size, row in ratios.items():
        for name, ratio in row.items():
            alone = ratios.get(1, {}).get(f"{name} without DDP")
            against = f", {ratio / alone:.2f} times the ratio for one process" if size > 1 and alone else ""
            print(f"{name} on {size} processes: {ratio:.2f} times the real torch's{against}")


if __name__ == "__main__":
    main()

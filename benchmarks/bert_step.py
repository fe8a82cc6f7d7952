"""One training step of a tiny BERT here and in the real torch, as a ratio.

    python benchmarks/bert_step.py --oracle PYTHON_WITH_TORCH [--layers 2 --width 128]
Runs itself under both, turn by turn, and prints forward, forward and backward, and whole step in milliseconds and as
ratios.
"""

import argparse
import json
import subprocess
import sys
import time


def work(layers, width, batch, length):
    import torch
    from transformers import BertConfig, BertForMaskedLM

    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=1000, hidden_size=width, num_hidden_layers=layers, num_attention_heads=4, intermediate_size=4 * width
    )
    model = BertForMaskedLM(config).train()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
    ids = torch.randint(0, 1000, (batch, length))

    def forward():
        return model(input_ids=ids, labels=ids).loss

    def both():
        opt.zero_grad()
        forward().backward()

    def step():
        both()
        opt.step()

    out = {}
    for name, f in {"forward": forward, "forward+backward": both, "step": step}.items():
        f()
        best = float("inf")
        for _ in range(30):
            start = time.perf_counter()
            f()
            best = min(best, time.perf_counter() - start)
        out[name] = best * 1e3
    print(json.dumps(out))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--oracle")
    ap.add_argument("--layers", type=int, default=2)
    ap.add_argument("--width", type=int, default=128)
    ap.add_argument("--batch", type=int, default=2)
    ap.add_argument("--length", type=int, default=16)
    ap.add_argument("--worker", action="store_true")
    opt = ap.parse_args()
    if opt.worker:
        return work(opt.layers, opt.width, opt.batch, opt.length)
    args = [__file__, "--worker", *(f"--{k}={getattr(opt, k)}" for k in ("layers", "width", "batch", "length"))]
    best = {}
    for _ in range(2):
        for side, command in {"ours": [sys.executable, "-m", "mindtorch_proxy"], "torch": [opt.oracle]}.items():
            if command[0]:
                r = json.loads(
                    subprocess.run(command + args, capture_output=True, text=True, check=True).stdout.splitlines()[-1]
                )
                old = best.setdefault(side, r)
                best[side] = {k: min(old[k], r[k]) for k in r}
    for k in best["ours"]:
        t = best.get("torch", {}).get(k)
        print(
            f"{k:18s} ours {best['ours'][k]:8.2f} ms"
            + (f"   torch {t:8.2f} ms   ratio {best['ours'][k] / t:6.1f}" if t else "")
        )


if __name__ == "__main__":
    main()

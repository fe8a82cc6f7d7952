"""What accelerate and peft do with torch: the same under the real torch and under ours."""

import os

import torch
import transformers
from model_programs import CAUSAL, arrays, causal


def llama(**options):
    torch.manual_seed(0)
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**CAUSAL | options))


def mlp():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(6, 12), torch.nn.GELU(), torch.nn.BatchNorm1d(12), torch.nn.Linear(12, 3)
    )


def batch():
    torch.manual_seed(1)
    return causal()


def outputs(model, inputs=None):
    with torch.no_grad():
        return arrays(model.eval()(**(inputs or batch())).logits)


def prepared(folder):
    """Accelerator: prepare, accumulation, clipping, scheduler, state on disk and back."""
    from accelerate import Accelerator
    from accelerate.utils import set_seed

    set_seed(0)
    accelerator, model = Accelerator(cpu=True, gradient_accumulation_steps=2), mlp()
    x, y = torch.randn(40, 6), torch.randint(3, (40,))
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=8, shuffle=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)

    def epoch():
        losses = []
        for inputs, target in loader:
            with accelerator.accumulate(model):
                loss = torch.nn.functional.cross_entropy(model(inputs), target)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
                losses.append(accelerator.gather_for_metrics(loss.detach()).mean().item())
        return losses

    result = {"losses": epoch()}
    accelerator.save_state(os.path.join(folder, "state"))
    result["after"] = epoch()
    weights = arrays(model.state_dict())
    accelerator.load_state(os.path.join(folder, "state"))
    result["again"] = epoch()
    result["weights"], result["same"] = (
        weights,
        all((weights[k] == v).all() for k, v in arrays(model.state_dict()).items()),
    )
    accelerator.save_model(model, os.path.join(folder, "model"))
    return result | {"files": sorted(os.listdir(os.path.join(folder, "model"))), "rate": scheduler.get_last_lr()}


def mixed(folder):
    """Accelerator with bfloat16: forward under autocast, outputs in float32."""
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState

    AcceleratorState._reset_state(True)
    accelerator, model = Accelerator(cpu=True, mixed_precision="bf16"), mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer = accelerator.prepare(model, optimizer)
    out = model(torch.randn(5, 6))
    accelerator.backward(out.square().mean())
    optimizer.step()
    result = {"dtype": str(out.dtype), "out": arrays(out), "gradients": arrays([p.grad for p in model.parameters()])}
    AcceleratorState._reset_state(True)
    return result


def offloaded(folder):
    """Models whose weights wait elsewhere: in memory, on disk, in a checkpoint."""
    from accelerate import cpu_offload, disk_offload, dispatch_model, init_empty_weights, load_checkpoint_and_dispatch
    from accelerate.utils import infer_auto_device_map

    model = llama()
    result = {"plain": outputs(model)}
    model.save_pretrained(os.path.join(folder, "saved"), max_shard_size="20KB")
    result["cpu_offload"] = outputs(cpu_offload(llama(), "cpu"))
    result["disk_offload"] = outputs(disk_offload(llama(), os.path.join(folder, "disk"), "cpu"))
    places = {
        "model.embed_tokens": "cpu",
        "model.layers.0": "cpu",
        "model.layers.1": "disk",
        "model.norm": "disk",
        "model.rotary_emb": "cpu",
        "lm_head": "cpu",
    }
    result["dispatch"] = outputs(
        dispatch_model(
            llama(), places, main_device="cpu", offload_dir=os.path.join(folder, "dispatched"), force_hooks=True
        )
    )
    with init_empty_weights():
        empty = llama()
    result["devices"] = sorted({p.device.type for p in empty.parameters()})
    result["map"] = {
        k: str(v)
        for k, v in infer_auto_device_map(
            empty, {"cpu": "60KB", "disk": "1GB"}, no_split_module_classes=["LlamaDecoderLayer"]
        ).items()
    }
    loaded = load_checkpoint_and_dispatch(
        empty, os.path.join(folder, "saved"), device_map=places, offload_folder=os.path.join(folder, "offloaded")
    )
    return result | {
        "loaded": outputs(loaded),
        "waiting": sorted(n for n, p in loaded.named_parameters() if p.device.type == "meta"),
    }


ADAPTERS = {
    "lora": (
        "LoraConfig",
        {
            "r": 4,
            "lora_alpha": 8,
            "lora_dropout": 0.1,
            "target_modules": ["q_proj", "v_proj", "down_proj"],
            "modules_to_save": ["lm_head"],
        },
    ),
    "dora": ("LoraConfig", {"r": 4, "use_dora": True, "target_modules": "all-linear"}),
    "rslora, embeddings": (
        "LoraConfig",
        {"r": 4, "use_rslora": True, "init_lora_weights": "gaussian", "target_modules": ["embed_tokens", "k_proj"]},
    ),
    "ia3": ("IA3Config", {"target_modules": ["k_proj", "down_proj"], "feedforward_modules": ["down_proj"]}),
    "prompt": ("PromptTuningConfig", {"num_virtual_tokens": 3}),
    "prefix": ("PrefixTuningConfig", {"num_virtual_tokens": 3}),
}


def adapted(name, folder):
    """peft: train, save, load, switch off, merge."""
    import peft

    kind, options = ADAPTERS[name]
    torch.manual_seed(2)
    model = peft.get_peft_model(llama(), getattr(peft, kind)(task_type="CAUSAL_LM", **options))
    result = {"trainable": list(model.get_nb_trainable_parameters()), "losses": []}
    optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=1e-2, eps=1e-3)
    for _ in range(3):
        torch.manual_seed(3)
        optimizer.zero_grad()
        loss = model.train()(**batch()).loss
        loss.backward()
        optimizer.step()
        result["losses"].append(loss.item())
    result["adapter"] = arrays(peft.get_peft_model_state_dict(model))
    result["trained"] = outputs(model)
    model.save_pretrained(os.path.join(folder, "adapter"))
    loaded = peft.PeftModel.from_pretrained(llama(), os.path.join(folder, "adapter"))
    result["loaded"] = outputs(loaded)
    if hasattr(loaded, "merge_and_unload"):
        with loaded.disable_adapter():
            result["without"] = outputs(loaded)
        merged = loaded.merge_and_unload()
        result["merged"], result["class"] = outputs(merged), type(merged).__name__
    return result


CASES = {"accelerate": ["prepared", "mixed", "offloaded"], "peft": list(ADAPTERS)}


def run(name, folder):
    return globals()[name](folder) if name in globals() else adapted(name, folder)

"""Text sampled from models with random weights: the same tokens under the real torch and under ours."""

import torch
import transformers
from model_programs import CAUSAL, SPECIAL, arrays

GPT2 = {"vocab_size": 99, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64} | SPECIAL
MIDDLE = {"vocab_size": 5003, "max_position_embeddings": 128}
MODELS = {  # name: model class, config
    "gpt2": ("GPT2LMHeadModel", GPT2),
    "gpt2, middle": (
        "GPT2LMHeadModel",
        GPT2 | {"vocab_size": 5003, "n_embd": 192, "n_layer": 4, "initializer_range": 0.1},
    ),
    "llama": ("LlamaForCausalLM", CAUSAL | {"max_position_embeddings": 64}),
    "llama, middle": (
        "LlamaForCausalLM",
        CAUSAL
        | MIDDLE
        | {"hidden_size": 192, "intermediate_size": 500, "num_hidden_layers": 4, "initializer_range": 0.1},
    ),
}
WAYS = {
    "plain": {"top_k": 0},
    "cold": {"temperature": 0.3},
    "hot": {"temperature": 1.9, "top_k": 0},
    "top k": {"top_k": 7},
    "top p": {"top_p": 0.8, "top_k": 0},
    "both": {"temperature": 0.8, "top_k": 40, "top_p": 0.95, "repetition_penalty": 1.3, "no_repeat_ngram_size": 2},
    "min p": {"min_p": 0.1, "top_k": 0},
    "typical": {"typical_p": 0.7},
    "cut off": {"epsilon_cutoff": 3e-3, "eta_cutoff": 3e-3},
    "several": {"num_return_sequences": 3, "top_k": 20},
    "beams": {"num_beams": 4, "num_return_sequences": 2, "temperature": 1.2, "length_penalty": 0.5},
}


def sample(name, folder):
    torch.manual_seed(0)
    model = getattr(transformers, MODELS[name][0])
    model = model(model.config_class(**MODELS[name][1])).eval()
    ids = torch.randint(3, 97, (2, 5))
    mask = torch.ones_like(ids)
    mask[0, :2] = 0
    result = {}
    for way, options in WAYS.items():
        for seed in range(1 if "middle" in name else 3):
            torch.manual_seed(seed)
            result[f"{way}, seed {seed}"] = arrays(
                model.generate(ids, attention_mask=mask, do_sample=True, max_new_tokens=8, **options)
            )
    return result

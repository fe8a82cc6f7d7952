"""Small models of real architectures as programs that run the same under the real torch and under ours.

    train(name, folder)   build, forward, backward, AdamW, generate, and write every kind of file into the folder
    load(name, folder)    read these files, whoever wrote them, and compute with what they hold
    python -c "import model_programs; model_programs.serve()"   answers calls, a JSON list a line, with the path of a pickle

What they return is NumPy arrays, numbers, and dicts and lists of them.
"""
import copy
import json
import os
import pickle
import sys
import traceback
import warnings

import torch
import transformers
from torch import nn

TEXT = {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 37, "max_position_embeddings": 40}
CAUSAL = TEXT | {"num_key_value_heads": 2, "bos_token_id": 97, "eos_token_id": 98, "pad_token_id": 0}
IMAGE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 37, "image_size": 30, "patch_size": 6}
SPECIAL = {"bos_token_id": 1, "pad_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2, "forced_eos_token_id": None}
SEQ2SEQ = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
           "encoder_ffn_dim": 37, "decoder_ffn_dim": 37, "vocab_size": 99} | SPECIAL


class Lstm(nn.Module):
    """Two layers and two directions over packed sequences."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8, padding_idx=0)
        self.lstm = nn.LSTM(8, 12, num_layers=2, batch_first=True, bidirectional=True, dropout=0.1)
        self.out = nn.Linear(24, 4)

    def forward(self, ids, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(self.embed(ids), lengths, batch_first=True, enforce_sorted=False)
        output, (h, c) = self.lstm(packed)
        output, _ = nn.utils.rnn.pad_packed_sequence(output, batch_first=True)
        return self.out(output.mean(1) + torch.cat([h[-2], c[-1]], -1))


def mlp():
    return nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.LayerNorm(32), nn.Dropout(0.1), nn.Linear(32, 16), nn.GELU(), nn.Linear(16, 4))


def cnn():
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, stride=2, groups=4),
                         nn.GroupNorm(4, 16), nn.SiLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Dropout(0.1), nn.Linear(64, 4))


PLAIN = {  # name: how to build, how to make inputs
    "mlp": (mlp, lambda: [torch.randn(6, 10)]),
    "cnn": (cnn, lambda: [torch.randn(4, 3, 12, 12)]),
    "lstm": (Lstm, lambda: [torch.randint(1, 20, (5, 7)), torch.tensor([7, 3, 5, 1, 6])]),
}


def text(padding=slice(3)):
    """Ids, the last row with padding, on the left as generation wants it."""
    ids = torch.randint(3, 97, (3, 9))
    mask = torch.ones_like(ids)
    mask[-1, padding] = 0
    return {"input_ids": ids.masked_fill(mask == 0, 0), "attention_mask": mask}


def causal():
    return (x := text()) | {"labels": x["input_ids"].masked_fill(x["attention_mask"] == 0, -100)}


def clip():
    # padding on the right: under a causal mask, rows of padding on the left see no key, and the real torch's fused attention has wrong gradients there
    x = text(slice(6, None)) | {"pixel_values": torch.rand(3, 3, 30, 30), "return_loss": True}
    x["input_ids"][:, 5] = 98  # the end of the text, which stands for all of it
    return x


def seq2seq():
    return text() | {"labels": torch.randint(3, 97, (3, 6))}


MODELS = {  # name: model class, config class, what the config says, how to make inputs
    "albert": ("AlbertForPreTraining", "AlbertConfig", TEXT | {"embedding_size": 16, "num_hidden_groups": 2, "hidden_dropout_prob": 0.1},
               lambda: text() | {"labels": torch.randint(99, (3, 9)), "sentence_order_label": torch.randint(2, (3,))}),
    "bert": ("BertForMaskedLM", "BertConfig", TEXT, lambda: text() | {"labels": torch.randint(99, (3, 9))}),
    "distilbert": ("DistilBertForQuestionAnswering", "DistilBertConfig", {"vocab_size": 99, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 37},
                   lambda: text() | {"start_positions": torch.randint(9, (3,)), "end_positions": torch.randint(9, (3,))}),
    "roberta": ("RobertaForSequenceClassification", "RobertaConfig", TEXT | {"num_labels": 3, "attn_implementation": "eager"},
                lambda: text() | {"labels": torch.randint(3, (3,))}),
    "electra": ("ElectraForTokenClassification", "ElectraConfig", TEXT | {"embedding_size": 16, "num_labels": 5},
                lambda: text() | {"labels": torch.randint(5, (3, 9))}),
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", {"vocab_size": 99, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 40, "bos_token_id": 97,
                                               "eos_token_id": 98, "pad_token_id": 0}, causal),
    "llama": ("LlamaForCausalLM", "LlamaConfig", CAUSAL, causal),
    "mistral": ("MistralForCausalLM", "MistralConfig", CAUSAL | {"sliding_window": 5, "attn_implementation": "eager"}, causal),
    "qwen2": ("Qwen2ForCausalLM", "Qwen2Config", CAUSAL | {"tie_word_embeddings": True}, causal),
    "t5": ("T5ForConditionalGeneration", "T5Config", {"vocab_size": 99, "d_model": 32, "d_kv": 8, "d_ff": 37, "num_layers": 2, "num_heads": 4,
                                                      "feed_forward_proj": "gated-gelu", "pad_token_id": 0, "eos_token_id": 2,
                                                      "decoder_start_token_id": 0}, seq2seq),
    "bart": ("BartForConditionalGeneration", "BartConfig", SEQ2SEQ | {"max_position_embeddings": 40, "scale_embedding": True}, seq2seq),
    "whisper": ("WhisperForConditionalGeneration", "WhisperConfig",
                SEQ2SEQ | {"num_mel_bins": 8, "max_source_positions": 20, "max_target_positions": 40, "begin_suppress_tokens": None, "suppress_tokens": None},
                lambda: {"input_features": torch.randn(3, 8, 40), "labels": torch.randint(3, 97, (3, 6))}),
    "vit": ("ViTForImageClassification", "ViTConfig", IMAGE | {"num_labels": 3},
            lambda: {"pixel_values": torch.rand(3, 3, 30, 30), "labels": torch.randint(3, (3,))}),
    "clip": ("CLIPModel", "CLIPConfig", {"text_config": TEXT | {"projection_dim": 16, "eos_token_id": 98, "bos_token_id": 97},
                                         "vision_config": IMAGE | {"projection_dim": 16}, "projection_dim": 16},
             clip),
}
NAMES = [*PLAIN, *MODELS]
GENERATION = {"greedy": {"min_new_tokens": 6}, "sampled": {"do_sample": True, "top_k": 20, "top_p": 0.9, "temperature": 1.3, "repetition_penalty": 1.2},
              "beams": {"num_beams": 3, "num_return_sequences": 2, "length_penalty": 0.7}}


def arrays(x):
    """The values of whatever a model returns; caches are left out."""
    if isinstance(x, torch.Tensor):
        return (x.detach().float() if x.dtype is torch.bfloat16 else x.detach()).numpy().copy()
    if isinstance(x, dict):
        return {k: v for k, v in ((str(k), arrays(v)) for k, v in x.items()) if v is not None}
    if isinstance(x, (list, tuple)):
        return [arrays(v) for v in x]
    return x if isinstance(x, (bool, int, float, str)) else None


def build(name):
    torch.manual_seed(0)
    if name in PLAIN:
        return PLAIN[name][0]()
    model, config, options, _ = MODELS[name]
    return getattr(transformers, model)(getattr(transformers, config)(**copy.deepcopy(options)))


def inputs_of(name):
    torch.manual_seed(1)
    return PLAIN[name][1]() if name in PLAIN else MODELS[name][3]()


def forward(name, model, inputs):
    """The loss and all outputs."""
    if name in PLAIN:
        out = model(*inputs)
        return nn.functional.cross_entropy(out, torch.arange(len(out)) % 4, label_smoothing=0.1), {"out": out}
    out = model(**inputs, output_hidden_states=True)
    return out.loss, dict(out)


def evaluate(name, model, dtype=torch.float32):
    model.eval()
    inputs = inputs_of(name)
    for k, x in inputs.items() if isinstance(inputs, dict) else enumerate(inputs):
        inputs[k] = x.to(dtype) if isinstance(x, torch.Tensor) and x.is_floating_point() else x
    with torch.no_grad():
        return arrays(forward(name, model, inputs)[1])


def generate(name, model):
    inputs = {k: v for k, v in inputs_of(name).items() if k != "labels"}
    result = {}
    for kind, options in GENERATION.items():
        torch.manual_seed(2)
        result[kind] = arrays(model.generate(**inputs, max_new_tokens=8, **options))
    return result


def optimizer_for(model):
    # eps damps the noise in gradients that are zero in exact arithmetic: a step would make it as large as any other
    return torch.optim.AdamW(model.parameters(), lr=1e-2, eps=1e-3, weight_decay=0.1)


def train(name, folder):
    model = build(name)
    result = {"weights": arrays(model.state_dict()), "inputs": arrays(inputs_of(name)), "outputs": evaluate(name, model)}
    if name in MODELS and model.can_generate():
        result["generated"] = generate(name, model)
    inputs, optimizer, result["losses"] = inputs_of(name), optimizer_for(model), []
    model.train()
    for step in range(5):
        torch.manual_seed(3)
        loss, _ = forward(name, model, inputs)
        optimizer.zero_grad()
        loss.backward()
        if step == 0:
            result["gradients"] = {n: None if p.grad is None else arrays(p.grad) for n, p in model.named_parameters()}
        optimizer.step()
        if step == 0:
            result["stepped"] = arrays(model.state_dict())
        result["losses"].append(loss.item())
    result["trained"] = arrays(model.state_dict())
    result["trained outputs"] = evaluate(name, model)
    state = torch.random.get_rng_state()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "random": state}, os.path.join(folder, "checkpoint.pt"))
    torch.save(model, os.path.join(folder, "model.pt"))
    torch.save(model.state_dict(), os.path.join(folder, "legacy.pt"), _use_new_zipfile_serialization=False)
    if name in MODELS:
        model.save_pretrained(os.path.join(folder, "safetensors"))
        model.save_pretrained(os.path.join(folder, "bin"), safe_serialization=False)
    result["drawn"] = arrays([torch.rand(3), torch.randn(20), torch.randperm(5)])
    result["bfloat16"] = evaluate(name, copy.deepcopy(model).to(torch.bfloat16), torch.bfloat16)
    return result


def load(name, folder):
    """What `train` wrote, as weights of several models that must all be the trained one, and one more training step."""
    checkpoint = torch.load(os.path.join(folder, "checkpoint.pt"))
    model = build(name)
    model.load_state_dict(checkpoint["model"])
    models = {"checkpoint": model, "pickle": torch.load(os.path.join(folder, "model.pt"), weights_only=False), "legacy": build(name)}
    models["legacy"].load_state_dict(torch.load(os.path.join(folder, "legacy.pt")))
    if name in MODELS:
        for kind in ("safetensors", "bin"):
            # files do not say which attention: its rows without any key differ
            models[kind] = type(model).from_pretrained(os.path.join(folder, kind), attn_implementation=model.config._attn_implementation)
    result = {"weights": {kind: arrays(m.state_dict()) for kind, m in models.items()},
              "outputs": {kind: evaluate(name, m) for kind, m in models.items()}}
    optimizer = optimizer_for(model)
    optimizer.load_state_dict(checkpoint["optimizer"])
    torch.random.set_rng_state(checkpoint["random"])
    result["drawn"] = arrays([torch.rand(3), torch.randn(20), torch.randperm(5)])
    torch.manual_seed(3)
    forward(name, model.train(), inputs_of(name))[0].backward()
    optimizer.step()
    result["stepped"] = arrays(model.state_dict())
    return result


def serve():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    out, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        function, name, folder = json.loads(line)
        try:
            result = {"train": train, "load": load}[function](name, folder)
        except Exception:
            result = traceback.format_exc()
        with open(path := os.path.join(folder, f"{function}.pickle"), "wb") as file:
            pickle.dump(result, file)
        print(path, file=out, flush=True)

"""Small models of real architectures as programs that run the same under the real torch and under ours.

    train(name, folder)     build, forward, backward, AdamW, generate, and write every kind of file into the folder
    load(name, folder)      read these files, whoever wrote them, and compute with what they hold
    variants(name, folder)  the same model checkpointed, under autocast, with eager attention, on meta, with other
    embeddings

What they return is NumPy arrays, numbers, and dicts and lists of them.
"""

import copy
import os
import traceback

import numpy as np
import torch
import transformers
from torch import nn

TEXT = {
    "vocab_size": 99,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 37,
    "max_position_embeddings": 40,
}
SPECIAL = {"bos_token_id": 97, "eos_token_id": 98, "pad_token_id": 0}
CAUSAL = TEXT | SPECIAL | {"num_key_value_heads": 2}
MOE = CAUSAL | {
    "intermediate_size": 48,
    "num_experts": 4,
    "num_local_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 16,
}
SSM = {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 8} | SPECIAL
IMAGE = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 37,
    "image_size": 30,
    "patch_size": 6,
    "num_labels": 3,
}
DECODING = {
    "bos_token_id": 1,
    "pad_token_id": 0,
    "eos_token_id": 2,
    "decoder_start_token_id": 2,
    "forced_eos_token_id": None,
}
SEQ2SEQ = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 37,
    "decoder_ffn_dim": 37,
    "vocab_size": 99,
    "max_position_embeddings": 40,
} | DECODING
# where a row of padding sees no key, the real torch's fused attention has wrong gradients
EAGER = {"attn_implementation": "eager"}
T5 = {
    "vocab_size": 99,
    "d_model": 32,
    "d_kv": 8,
    "d_ff": 37,
    "num_layers": 2,
    "num_heads": 4,
    "pad_token_id": 0,
    "eos_token_id": 2,
    "decoder_start_token_id": 0,
}
SPEECH = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 37,
    "conv_dim": (16, 16),
    "conv_stride": (4, 4),
    "conv_kernel": (8, 4),
    "num_conv_pos_embeddings": 8,
    "num_conv_pos_embedding_groups": 2,
    "vocab_size": 20,
    "mask_time_length": 2,
}
SERIES = {
    "prediction_length": 4,
    "context_length": 8,
    "lags_sequence": [1, 2],
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 16,
    "decoder_ffn_dim": 16,
    "num_time_features": 1,
}
PATCHES = {
    "context_length": 16,
    "prediction_length": 4,
    "patch_length": 4,
    "patch_stride": 4,
    "stride": 4,
    "num_input_channels": 2,
    "d_model": 16,
    "num_hidden_layers": 2,
    "num_layers": 2,
    "num_attention_heads": 2,
    "ffn_dim": 16,
}


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
    return nn.Sequential(
        nn.Linear(10, 32), nn.ReLU(), nn.LayerNorm(32), nn.Dropout(0.1), nn.Linear(32, 16), nn.GELU(), nn.Linear(16, 4)
    )


def cnn():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, stride=2, groups=4),
        nn.GroupNorm(4, 16),
        nn.SiLU(),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.1),
        nn.Linear(64, 4),
    )


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


def tokens():
    return text() | {"labels": torch.randint(5, (3, 9))}


def classes():
    return text() | {"labels": torch.randint(3, (3,))}


def spans():
    return text() | {"start_positions": torch.randint(9, (3,)), "end_positions": torch.randint(9, (3,))}


def causal():
    return (x := text()) | {"labels": x["input_ids"].masked_fill(x["attention_mask"] == 0, -100)}


def routed():
    return causal() | {"output_router_logits": True}


def seq2seq():
    return text() | {"labels": torch.randint(3, 97, (3, 6))}


def pixels(size=30, **labels):
    return {"pixel_values": torch.rand(3, 3, size, size), "labels": torch.randint(3, (3,))} | labels


def pair():
    # padding on the right: under a causal mask, rows of padding on the left see no key, and the real torch's fused
    # attention has wrong gradients there
    x = text(slice(6, None)) | {"pixel_values": torch.rand(3, 3, 30, 30), "return_loss": True}
    x["input_ids"][:, 5] = 98  # the end of the text, which stands for all of it
    return x


def seen():
    """Text with an image in front: one token for each patch."""
    x = causal()
    x["input_ids"][:, :9], x["attention_mask"][:] = 96, 1
    ids = torch.cat([torch.full((3, 25), 96), torch.randint(3, 95, (3, 5))], 1)
    return {
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
        "pixel_values": torch.rand(3, 3, 30, 30),
        "labels": ids.masked_fill(ids == 96, -100),
    }


def boxes():
    labels = [{"class_labels": torch.randint(3, (2,)), "boxes": torch.rand(2, 4) * 0.3 + 0.3} for _ in range(3)]
    return {"pixel_values": torch.rand(3, 3, 30, 30), "labels": labels}


def speech():
    return {"input_values": torch.randn(2, 400), "labels": torch.randint(1, 20, (2, 4))}


def series():
    return {
        "past_values": torch.rand(3, 10),
        "past_time_features": torch.rand(3, 10, 1),
        "past_observed_mask": torch.ones(3, 10),
        "future_values": torch.rand(3, 4),
        "future_time_features": torch.rand(3, 4, 1),
    }


def patches():
    return {"past_values": torch.randn(3, 16, 2), "future_values": torch.randn(3, 4, 2)}


MODELS = {  # name: model class, what its config says, how to make inputs
    # text encoders
    "albert": (
        "AlbertForPreTraining",
        TEXT | {"embedding_size": 16, "num_hidden_groups": 2, "hidden_dropout_prob": 0.1},
        lambda: text() | {"labels": torch.randint(99, (3, 9)), "sentence_order_label": torch.randint(2, (3,))},
    ),
    "bert": ("BertForMaskedLM", TEXT, lambda: text() | {"labels": torch.randint(99, (3, 9))}),
    "distilbert": (
        "DistilBertForQuestionAnswering",
        {"vocab_size": 99, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 37},
        spans,
    ),
    "roberta": ("RobertaForSequenceClassification", TEXT | {"num_labels": 3} | EAGER, classes),
    "electra": ("ElectraForTokenClassification", TEXT | {"embedding_size": 16, "num_labels": 5}, tokens),
    "deberta_v2": (
        "DebertaV2ForTokenClassification",
        TEXT
        | {
            "relative_attention": True,
            "pos_att_type": ["p2c", "c2p"],
            "position_buckets": 8,
            "num_labels": 5,
            "type_vocab_size": 0,
        },
        tokens,
    ),
    "mpnet": ("MPNetForQuestionAnswering", TEXT, spans),
    "modernbert": (
        "ModernBertForMaskedLM",
        TEXT
        | {"local_attention": 4, "global_attn_every_n_layers": 2, "pad_token_id": 0, "reference_compile": False}
        | EAGER,
        lambda: text() | {"labels": torch.randint(99, (3, 9))},
    ),
    "fnet": (
        "FNetForSequenceClassification",
        TEXT | {"num_labels": 3, "use_tpu_fourier_optimizations": False},
        lambda: {"input_ids": torch.randint(99, (3, 9)), "labels": torch.randint(3, (3,))},
    ),
    "longformer": ("LongformerForTokenClassification", TEXT | {"attention_window": 4, "num_labels": 5}, tokens),
    "xlnet": (
        "XLNetLMHeadModel",
        {"vocab_size": 99, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 37, "attn_type": "bi"},
        causal,
    ),
    # decoders
    "gpt2": (
        "GPT2LMHeadModel",
        {"vocab_size": 99, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 40} | SPECIAL,
        causal,
    ),
    "gpt_neox": ("GPTNeoXForCausalLM", TEXT | SPECIAL, causal),
    "opt": ("OPTForCausalLM", TEXT | SPECIAL | {"ffn_dim": 37, "word_embed_proj_dim": 16} | EAGER, causal),
    "bloom": ("BloomForCausalLM", {"vocab_size": 99, "hidden_size": 32, "n_layer": 2, "n_head": 4} | SPECIAL, causal),
    "falcon": ("FalconForCausalLM", TEXT | SPECIAL | {"alibi": True}, causal),
    "llama": ("LlamaForCausalLM", CAUSAL, causal),
    "mistral": ("MistralForCausalLM", CAUSAL | {"sliding_window": 5} | EAGER, causal),
    "qwen2": ("Qwen2ForCausalLM", CAUSAL | {"tie_word_embeddings": True}, causal),
    "gemma2": ("Gemma2ForCausalLM", CAUSAL | {"head_dim": 8, "sliding_window": 5}, causal),
    "phi3": ("Phi3ForCausalLM", CAUSAL, causal),
    # mixtures of experts, state spaces
    "mixtral": ("MixtralForCausalLM", MOE, routed),
    "qwen3_moe": ("Qwen3MoeForCausalLM", MOE, routed),
    "gpt_oss": ("GptOssForCausalLM", MOE | {"head_dim": 8, "sliding_window": 5}, routed),
    "mamba": ("MambaForCausalLM", SSM, causal),
    "mamba2": ("Mamba2ForCausalLM", SSM | {"num_heads": 8, "head_dim": 8, "n_groups": 2, "chunk_size": 4}, causal),
    "rwkv": (
        "RwkvForCausalLM",
        {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "intermediate_size": 37} | SPECIAL,
        causal,
    ),
    # encoder-decoders
    "t5": ("T5ForConditionalGeneration", T5 | {"feed_forward_proj": "gated-gelu"}, seq2seq),
    "switch": (
        "SwitchTransformersForConditionalGeneration",
        T5
        | {"num_experts": 4, "num_sparse_encoder_layers": 1, "num_sparse_decoder_layers": 1, "num_decoder_layers": 2},
        seq2seq,
    ),
    "bart": ("BartForConditionalGeneration", SEQ2SEQ | {"scale_embedding": True}, seq2seq),
    "pegasus": ("PegasusForConditionalGeneration", SEQ2SEQ, seq2seq),
    "m2m_100": ("M2M100ForConditionalGeneration", SEQ2SEQ, seq2seq),
    # vision
    "vit": ("ViTForImageClassification", IMAGE, pixels),
    "dinov2": ("Dinov2ForImageClassification", IMAGE, pixels),
    "beit": ("BeitForImageClassification", IMAGE | {"use_relative_position_bias": True}, pixels),
    "swin": (
        "SwinForImageClassification",
        {
            "image_size": 32,
            "patch_size": 4,
            "embed_dim": 16,
            "depths": [1, 2],
            "num_heads": [2, 4],
            "window_size": 4,
            "num_labels": 3,
        },
        lambda: pixels(32),
    ),
    "convnext": (
        "ConvNextForImageClassification",
        {"hidden_sizes": [8, 16], "depths": [1, 2], "num_stages": 2, "num_labels": 3},
        lambda: pixels(32),
    ),
    "resnet": (
        "ResNetForImageClassification",
        {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 2], "layer_type": "basic", "num_labels": 3},
        lambda: pixels(32),
    ),
    "segformer": (
        "SegformerForSemanticSegmentation",
        {
            "num_encoder_blocks": 2,
            "depths": [1, 1],
            "sr_ratios": [2, 1],
            "hidden_sizes": [8, 16],
            "patch_sizes": [7, 3],
            "strides": [4, 2],
            "num_attention_heads": [1, 2],
            "mlp_ratios": [2, 2],
            "decoder_hidden_size": 16,
            "num_labels": 3,
        },
        lambda: pixels(32, labels=torch.randint(3, (3, 32, 32))),
    ),
    "yolos": ("YolosForObjectDetection", IMAGE | {"image_size": [30, 30], "num_detection_tokens": 4}, boxes),
    # audio
    "whisper": (
        "WhisperForConditionalGeneration",
        SEQ2SEQ
        | {
            "num_mel_bins": 8,
            "max_source_positions": 20,
            "max_target_positions": 40,
            "begin_suppress_tokens": None,
            "suppress_tokens": None,
        },
        lambda: {"input_features": torch.randn(3, 8, 40), "labels": torch.randint(3, 97, (3, 6))},
    ),
    "wav2vec2": ("Wav2Vec2ForCTC", SPEECH, speech),
    "hubert": ("HubertForCTC", SPEECH | {"feat_extract_norm": "layer", "do_stable_layer_norm": True}, speech),
    "ast": (
        "ASTForAudioClassification",
        IMAGE | {"max_length": 24, "num_mel_bins": 16, "frequency_stride": 4, "time_stride": 4},
        lambda: {"input_values": torch.randn(3, 24, 16), "labels": torch.randint(3, (3,))},
    ),
    # several kinds of input
    "clip": (
        "CLIPModel",
        {
            "text_config": TEXT | {"projection_dim": 16, "eos_token_id": 98, "bos_token_id": 97},
            "vision_config": IMAGE | {"projection_dim": 16},
            "projection_dim": 16,
        },
        pair,
    ),
    "siglip": (
        "SiglipModel",
        {"text_config": TEXT | {"projection_size": 32}, "vision_config": IMAGE},
        lambda: pair() | {"interpolate_pos_encoding": False},
    ),
    "vilt": (
        "ViltForImagesAndTextClassification",
        TEXT | IMAGE | {"num_images": 1, "modality_type_vocab_size": 3},
        lambda: pixels(pixel_values=torch.rand(3, 1, 3, 30, 30)) | text(),
    ),
    "llava": (
        "LlavaForConditionalGeneration",
        {
            "text_config": CAUSAL | {"model_type": "llama"},
            "vision_config": IMAGE | {"model_type": "clip_vision_model"},
            "image_token_index": 96,
            "image_seq_length": 25,
        },
        seen,
    ),
    "blip": (
        "BlipForConditionalGeneration",
        {"text_config": TEXT | SPECIAL | {"encoder_hidden_size": 32, "sep_token_id": 98}, "vision_config": IMAGE},
        lambda: {k: v for k, v in (pair() | {"labels": torch.randint(3, 97, (3, 9))}).items() if k != "return_loss"},
    ),
    # time series
    "time_series": ("TimeSeriesTransformerForPrediction", SERIES, series),
    "informer": (
        "InformerForPrediction",
        SERIES | {"sampling_factor": 2, "attention_dropout": 0},
        series,
    ),  # dropout over unsorted top k is chance
    "patchtst": ("PatchTSTForPrediction", PATCHES, patches),
    "patchtsmixer": ("PatchTSMixerForPrediction", PATCHES, patches),
}
NAMES = [*PLAIN, *MODELS]
GENERATION = {
    "greedy": {"min_new_tokens": 6},
    "sampled": {"do_sample": True, "top_k": 20, "top_p": 0.9, "temperature": 1.3, "repetition_penalty": 1.2},
    "beams": {"num_beams": 3, "num_return_sequences": 2, "length_penalty": 0.7},
}


def arrays(x):
    """The values of whatever a model returns; caches are left out."""
    if isinstance(x, torch.Tensor):
        return (x.detach().float() if x.dtype is torch.bfloat16 else x.detach()).numpy().copy()
    if isinstance(x, dict):
        return {k: v for k, v in ((str(k), arrays(v)) for k, v in x.items()) if v is not None}
    if isinstance(x, (list, tuple)):
        return [arrays(v) for v in x]
    return x if isinstance(x, (bool, int, float, str)) else None


def attempt(function, *args):
    """What a function gives; or which error, where the real torch or the model says no as well."""
    try:
        return function(*args)
    except Exception as e:
        traceback.print_exc()
        return "raises " + next(c.__name__ for c in type(e).__mro__ if c.__module__ == "builtins")


def build(name, **options):
    torch.manual_seed(0)
    if name in PLAIN:
        return PLAIN[name][0]()
    model = getattr(transformers, MODELS[name][0])
    return model(model.config_class(**copy.deepcopy(MODELS[name][1]) | options))


def inputs_of(name):
    torch.manual_seed(1)
    return PLAIN[name][1]() if name in PLAIN else MODELS[name][2]()


def forward(name, model, inputs):
    """The loss and all outputs."""
    torch.manual_seed(3)
    np.random.seed(3)
    if name in PLAIN:
        out = model(*inputs)
        return nn.functional.cross_entropy(out, torch.arange(len(out)) % 4, label_smoothing=0.1), {"out": out}
    out = model(**inputs, output_hidden_states=True)
    return out.loss, dict(out)


def cast(x, dtype):
    """The floating tensors in x in another dtype."""
    if isinstance(x, torch.Tensor):
        return x.to(dtype) if x.is_floating_point() else x
    if isinstance(x, dict):
        return {k: cast(v, dtype) for k, v in x.items()}
    return [cast(v, dtype) for v in x] if isinstance(x, list) else x


def evaluate(name, model, dtype=torch.float32):
    with torch.no_grad():
        return arrays(forward(name, model.eval(), cast(inputs_of(name), dtype))[1])


def generate(name, model):
    inputs = {k: v for k, v in inputs_of(name).items() if k not in ("labels", "future_values", "output_router_logits")}
    result = {}
    if MODELS[name][2] is series:
        torch.manual_seed(2)
        return arrays(dict(model.generate(**inputs)))
    for kind, options in GENERATION.items():
        torch.manual_seed(2)
        result[kind] = attempt(lambda: arrays(model.generate(**inputs, max_new_tokens=8, **options)))
    return result


def optimizer_for(model):
    # eps damps the noise in gradients that are zero in exact arithmetic: a step would make it as large as any other
    return torch.optim.AdamW(model.parameters(), lr=1e-2, eps=1e-3, weight_decay=0.1)


def gradients(name, model):
    model.zero_grad()
    loss, _ = forward(name, model.train(), inputs_of(name))
    loss.backward()
    return loss.item(), {n: None if p.grad is None else arrays(p.grad) for n, p in model.named_parameters()}


def train(name, folder):
    model = build(name)
    result = {
        "weights": arrays(model.state_dict()),
        "inputs": arrays(inputs_of(name)),
        "outputs": evaluate(name, model),
        "losses": [],
    }
    if name in MODELS and hasattr(model, "generate") and (model.can_generate() or MODELS[name][2] is series):
        result["generated"] = generate(name, model)
    optimizer = optimizer_for(model)
    for step in range(5):
        loss, grads = gradients(name, model)
        optimizer.step()
        if step == 0:
            result["gradients"], result["stepped"] = grads, arrays(model.state_dict())
        result["losses"].append(loss)
    result["trained"] = arrays(model.state_dict())
    result["trained outputs"] = evaluate(name, model)
    state = torch.random.get_rng_state()
    torch.save(
        {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "random": state},
        os.path.join(folder, "checkpoint.pt"),
    )
    result["pickled"] = attempt(torch.save, model, os.path.join(folder, "model.pt"))
    torch.save(model.state_dict(), os.path.join(folder, "legacy.pt"), _use_new_zipfile_serialization=False)
    if name in MODELS:
        model.save_pretrained(os.path.join(folder, "safetensors"))
        model.save_pretrained(os.path.join(folder, "bin"), safe_serialization=False)
    result["drawn"] = arrays([torch.rand(3), torch.randn(20), torch.randperm(5)])
    result["bfloat16"] = attempt(evaluate, name, build(name).to(torch.bfloat16), torch.bfloat16)
    return result


def load(name, folder):
    """What `train` wrote, as weights of several models that must all be the trained one, and one more training step."""
    checkpoint = torch.load(os.path.join(folder, "checkpoint.pt"))
    model = build(name)
    model.load_state_dict(checkpoint["model"])
    models = {"checkpoint": model, "legacy": build(name)}
    models["legacy"].load_state_dict(torch.load(os.path.join(folder, "legacy.pt")))
    if not isinstance(
        pickled := attempt(lambda: torch.load(os.path.join(folder, "model.pt"), weights_only=False)), str
    ):
        models["pickle"] = pickled
    if name in MODELS:
        for kind in ("safetensors", "bin"):
            # files do not say which attention: its rows without any key differ
            models[kind] = type(model).from_pretrained(
                os.path.join(folder, kind), attn_implementation=model.config._attn_implementation
            )
    result = {
        "weights": {kind: arrays(m.state_dict()) for kind, m in models.items()},
        "outputs": {kind: evaluate(name, m) for kind, m in models.items()},
    }
    optimizer = optimizer_for(model)
    optimizer.load_state_dict(checkpoint["optimizer"])
    torch.random.set_rng_state(checkpoint["random"])
    result["drawn"] = arrays([torch.rand(3), torch.randn(20), torch.randperm(5)])
    gradients(name, model)
    optimizer.step()
    result["stepped"] = arrays(model.state_dict())
    return result


def resized(name, model):
    torch.manual_seed(4)
    model.resize_token_embeddings(model.config.vocab_size + 5)
    embeddings, output = model.get_input_embeddings(), model.get_output_embeddings()
    return {"tied": output is not None and output.weight is embeddings.weight, "outputs": evaluate(name, model)}


def on_meta(name, model):
    """Built without memory, then given the other's parameters."""
    with torch.device("meta"):
        empty = build(name)
    tensors = [*empty.named_parameters(), *empty.named_buffers()]
    empty.load_state_dict(model.state_dict(), assign=True)
    return [[n, str(t.device), str(t.dtype), list(t.shape)] for n, t in tensors] + [
        p.untyped_storage().data_ptr() != 0 for p in empty.parameters()
    ]


def checkpointed(name, model, reentrant):
    model.gradient_checkpointing_enable({"use_reentrant": reentrant})
    try:
        return gradients(name, model)[1]
    finally:
        model.gradient_checkpointing_disable()


def variants(name, folder):
    """The untrained model in other circumstances: what each gives, by kind."""
    model = build(name)
    with torch.autocast("cpu", torch.bfloat16):
        result = {"autocast": attempt(evaluate, name, model)}
    if name in PLAIN:
        return result
    if model.supports_gradient_checkpointing:
        result |= {f"checkpointed, use_reentrant={r}": attempt(checkpointed, name, model, r) for r in (True, False)}
    if model._supports_sdpa:
        result |= {a: evaluate(name, build(name, attn_implementation=a)) for a in ("eager", "sdpa")}
    result["meta"] = attempt(on_meta, name, model)
    if "vocab_size" in model.config.to_dict() and "labels" in inputs_of(name):
        result["resized"] = attempt(resized, name, model)
    return result

#!/bin/sh
# transformers 5.24.0 reads a GGUF file without `attention.head_count_kv` otherwise than one with it,
# though both describe the same model, and says nothing.
#
# GGUF's documentation of its keys calls `[llm].attention.head_count_kv` optional: where it is absent,
# or equal to `head_count`, every query head has keys of its own. Files of Llama's shape hold the rows
# of queries and keys in an order of their own (pairs of rotated dimensions side by side), and a reader
# for transformers must undo it. transformers does so where the key is there. Where it is not, queries
# and keys stay in the file's order while its rotation takes them for its own: other logits, no warning.
#
# The script writes one model of random weights twice with gguf 0.19.0, with the key and without, and
# has transformers 5.24.0 (with torch 2.13.0 and accelerate 1.15.0) read both. Seen on 2026-11-29:
#
#     with the key:    attention.head_count_kv = 2 of 2 heads
#     queries and keys with it and without: equal False, the same rows in another order True
#     all other tensors: equal True
#     largest difference of logits: 7.92
#
# It ends with 0 as long as that is so, and with 1 once transformers gives both files the same logits.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 transformers==5.24.0 \
    accelerate==1.15.0 gguf==0.19.0
cat > "$folder/two_files.py" <<'END'
import sys

import gguf
import numpy as np
import torch
from transformers import AutoModelForCausalLM, logging

logging.set_verbosity_warning()
D, HEADS, HIDDEN, TOKENS = 16, 2, 32, 40
generator = np.random.default_rng(0)


def draw(*shape):
    return generator.normal(0, 0.5, shape).astype(np.float32)


TENSORS = {
    "token_embd.weight": draw(TOKENS, D),
    "output.weight": draw(TOKENS, D),
    "output_norm.weight": np.ones(D, np.float32),
    "blk.0.attn_norm.weight": np.ones(D, np.float32),
    "blk.0.attn_q.weight": draw(D, D),
    "blk.0.attn_k.weight": draw(D, D),
    "blk.0.attn_v.weight": draw(D, D),
    "blk.0.attn_output.weight": draw(D, D),
    "blk.0.ffn_norm.weight": np.ones(D, np.float32),
    "blk.0.ffn_gate.weight": draw(HIDDEN, D),
    "blk.0.ffn_up.weight": draw(HIDDEN, D),
    "blk.0.ffn_down.weight": draw(D, HIDDEN),
}


def write(path, with_key):
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(D)
    writer.add_block_count(1)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    if with_key:
        writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(TOKENS)
    for name, tensor in TENSORS.items():
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def load(folder, with_key):
    name = "with.gguf" if with_key else "without.gguf"
    write(f"{folder}/{name}", with_key)
    return AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=torch.float32).eval()


folder = sys.argv[1]
present, absent = load(folder, True), load(folder, False)
print("with the key:    attention.head_count_kv =", HEADS, "of", HEADS, "heads")
one, other = present.state_dict(), absent.state_dict()
assert present.config.num_key_value_heads == absent.config.num_key_value_heads == HEADS
q = [name for name in one if "q_proj" in name or "k_proj" in name]
same_rows = all(
    sorted(map(tuple, one[name].tolist())) == sorted(map(tuple, other[name].tolist())) for name in q
)
equal = all(torch.equal(one[name], other[name]) for name in q)
print(f"queries and keys with it and without: equal {equal}, the same rows in another order {same_rows}")
rest = all(torch.equal(one[name], other[name]) for name in one if name not in q)
print("all other tensors: equal", rest)
tokens = torch.arange(12)[None]
with torch.no_grad():
    difference = (present(tokens).logits - absent(tokens).logits).abs().max().item()
print(f"largest difference of logits: {difference:.2f}")
sys.exit(not (same_rows and rest and not equal and difference > 0.1))
END
"$folder/venv/bin/python" "$folder/two_files.py" "$folder"

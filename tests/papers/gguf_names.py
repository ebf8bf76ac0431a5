"""What tensors of Llama's shape are called in GGUF, and how rows of queries and keys lie there."""

import numpy as np

# Llama's names of a layer's tensors, and the file's
NAMES = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
WHOLE = {
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
    "lm_head.weight": "output.weight",
}


def name_in_gguf(name: str) -> str:
    """The file's name of one of Llama's tensors."""
    if name in WHOLE:
        return WHOLE[name]
    _, _, layer, *middle, last = name.split(".")
    return f"blk.{layer}.{NAMES['.'.join(middle)]}.{last}"


def interleaved(rows: np.ndarray, heads: int) -> np.ndarray:
    """Rows of which each head's planes of rotation lie half a head apart, side by side."""
    return rows.reshape(heads, 2, -1, rows.shape[-1]).swapaxes(1, 2).reshape(rows.shape)

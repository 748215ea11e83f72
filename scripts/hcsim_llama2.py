#!/usr/bin/env python3
"""Writes HCSim's LLaMA2-13B: data-parallel training as a graph of vertices (its Table 4 and Fig. 7).

Every layer of a decoder is a vertex for the forward and one for the backward pass, at all XPUs; the
gradients of each decoder are added up behind its backward pass, and the next iteration's forward
pass of that decoder waits for them. What layers read and write is in memory that is not the XPU's
own, as where its own is too small for them; `--remote` changes that.

Tables:
  printed    Table 4 as it stands. Its FLOPs are in units of 2^40 / 1000, its bytes in GiB of 16-bit
             numbers (the text says FP32), and its block is GPT's: GeLU, two linear layers of four
             times the hidden size, layer norm, dropout.
  corrected  LLaMA-2's own block: RMSNorm, rotary positions, SwiGLU of 13824 (H. Touvron et al.,
             arXiv:2307.09288, and the model's configuration), FLOPs of the products, 16-bit numbers;
             a layer reads its inputs and weights and writes its outputs, backward twice the reads of
             activations, and weights and their gradients.
"""
import argparse
import pathlib
import sys

import graph_yaml

GIB = 2 ** 30
UNIT = 2 ** 40 / 1000 * 1e0  # "GFLOPs" of Table 4: 195 of them are 2 * 4096 * 5120^2
SEQUENCE, HIDDEN, HEADS, MLP = 4096, 5120, 40, 13824
# Table 4: layer, forward FLOPs for a batch of 1, forward bytes (fixed, for each of the batch),
# backward FLOPs, backward bytes. FLOPs in UNIT, bytes in GiB. "Negligible" is 0.
NORM = ("layer norm", 0, (0.00002, 0.039), 0, (0.00015, 0.156))
PRINTED = [
    NORM,
    ("linear K", 195, (0.0488, 0.039), 390, (0.39, 0.156)),
    ("linear Q", 195, (0.0488, 0.039), 390, (0.39, 0.156)),
    ("linear V", 195, (0.0488, 0.039), 390, (0.39, 0.156)),
    ("self-attention", 312.5, (0, 3.242), 625, (0, 0.234)),
    ("concat", 0, (0, 0), 0, (0, 0)),
    ("linear", 195, (0.0488, 0.039), 390, (0.39, 0.156)),
    ("dropout", 0, (0, 0.0195), 0, (0.0195, 0)),
    ("add", 0, (0, 0.078), 0, (0.039, 0)),
    NORM,
    ("linear up", 780, (0.195, 0.039), 1560, (1.562, 0.39)),
    ("GeLU", 0, (0, 0.156), 0, (0.078, 0)),
    ("linear down", 780, (0.195, 0.156), 1560, (1.562, 0.39)),
    ("dropout", 0, (0, 0.0195), 0, (0.0195, 0)),
    ("add", 0, (0, 0.078), 0, (0.156, 0)),
]
# Gradients of a decoder in Table 4's block: the fixed forward bytes, which are its weights.
PRINTED_GRADIENTS = sum(row[2][0] for row in PRINTED) * GIB


def printed(batch):
    rows = []
    for name, forward, forward_bytes, backward, backward_bytes in PRINTED:
        rows.append((name, forward * UNIT * 1e6 * batch, (forward_bytes[0] + forward_bytes[1] * batch) * GIB,
                     backward * UNIT * 1e6 * batch,
                     (backward_bytes[0] + backward_bytes[1] * batch) * GIB))
    return rows, PRINTED_GRADIENTS

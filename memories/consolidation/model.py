"""The extractor that asks a language model.

Invariant: `extract` returns proposals made from one whole answer of the right shape, or raises ExtractionFault, and
nothing in between. A fault's message quotes neither key, address nor anybody's words.
"""

from __future__ import annotations

from memories.consolidation.answer_reading import read_answer
from memories.consolidation.answer_shape import Answer
from memories.consolidation.material import Material
from memories.consolidation.proposals import Extraction, ExtractionFault, FaultKind
from memories.consolidation.question import Labels, question
from memories.constants import CONSOLIDATION_QUESTION_CHARACTERS
from memories.llm import tokens
from memories.llm.base import FaultCause
from memories.llm.json_answers import JsonAnswer, JsonAnswers, NoAnswer

# What to do about each cause. A wrong key or name is mended by a person; until then nothing may be given up for it.
_KINDS = {
    FaultCause.ENDPOINT: FaultKind.PASSING,
    FaultCause.CONFIGURATION: FaultKind.PASSING,
    FaultCause.ANSWER: FaultKind.UNUSABLE,
    FaultCause.TOO_MUCH: FaultKind.UNUSABLE,
    FaultCause.REFUSAL: FaultKind.REFUSED,
}
_TOO_LONG_TO_ASK = "The episodes of this batch are too long to be asked about at once."
# What a user is told in a conversation, as staff are told of a batch.
_REWORDED = {
    tokens.TOO_MUCH: _TOO_LONG_TO_ASK,
    tokens.TOO_LONG: "The model's answer became too long and was stopped.",
}
_ADVICE = " Try again."


class ModelExtractor:
    """An Extractor; see `question` for what is asked, and `answer_shape` for what is accepted."""

    def __init__(self, model: JsonAnswers) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    def extract(self, material: Material) -> Extraction:
        """What the batch says. Raises ExtractionFault."""
        labels = Labels.of(material)
        answer = self._ask(material, labels)
        reading = read_answer(answer.value, labels)
        output = {
            "proposals": [{"what": part, **answer.plain[part][number]} for part, number in reading.found_at],
            "labels": labels.plain(),
            "unknown_labels": list(reading.unknown),
        }
        usage = answer.usage
        return Extraction(reading.proposals, output, usage.prompt_tokens or 0, usage.completion_tokens or 0)

    def _ask(self, material: Material, labels: Labels) -> JsonAnswer[Answer]:
        messages = question(material, labels)
        said = sum(len(message["content"]) for message in messages)
        if said > CONSOLIDATION_QUESTION_CHARACTERS and len(material.episodes) > 1:
            raise ExtractionFault(_TOO_LONG_TO_ASK, FaultKind.UNUSABLE)
        try:
            return self._model.ask(messages, Answer, name="memories")
        except NoAnswer as fault:
            raise ExtractionFault(
                _REWORDED.get(fault.message, fault.message.removesuffix(_ADVICE)),
                _KINDS[fault.cause],
                retry_after=fault.retry_after,
                output=fault.output,
                input_tokens=fault.usage.prompt_tokens or 0,
                output_tokens=fault.usage.completion_tokens or 0,
            ) from None

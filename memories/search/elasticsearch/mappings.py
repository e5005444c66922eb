"""The documents of a memory in Elasticsearch, declared with django-elasticsearch-dsl.

Mappings are strict: an undeclared field cannot be stored. Members' keys ask for a value of `visibility`, and a
tombstone has none, so no key opens it. No score depends on other owners' documents (ADR 8).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.db.models import Model
from django.utils import timezone
from django_elasticsearch_dsl import Document, fields
from django_elasticsearch_dsl.registries import registry
from elasticsearch.dsl import DenseVector

from memories.constants import EMBEDDING_DIMENSIONS
from memories.embedding import dequantize, encoder_name
from memories.models import MEMORY_MODELS, Fact
from memories.search.base import Tombstone
from memories.search.elasticsearch.queries import ARCHIVE, brevity
from memories.types import Owner, Scope, SearchDocument
from memories.words import is_unspaced, spaced
from memoryhub.elasticsearch import reading_alias

SETTINGS: dict[str, Any] = {
    "number_of_shards": 1,
    # 0 on one node, 1 where a second can hold the copy.
    "auto_expand_replicas": "0-1",
    # A backstop: whoever writes refreshes by itself. Naming it keeps an idle shard refreshing, too.
    "refresh_interval": "5s",
    # What is forgotten leaves the disk with the next `expunge`, however little of a segment it was.
    "merge.policy.expunge_deletes_allowed": 0,
}


class VectorField(fields.DEDField, DenseVector):  # type: ignore[misc]  # the package publishes no types
    """A dense vector; django-elasticsearch-dsl has no field of its own for one."""


class MemoryDocument(Document):  # type: ignore[misc]  # the package publishes no types
    """The fields of every kind, prepared from a SearchDocument."""

    id = fields.KeywordField()
    tenant = fields.KeywordField()
    user = fields.KeywordField()
    visibility = fields.KeywordField()
    task = fields.KeywordField()
    status = fields.KeywordField()
    # A term weighs what the query says, whoever else uses it; how often it occurs in a text is not even stored.
    text = fields.TextField(analyzer="english", similarity="boolean", norms=False, index_options="docs")
    # The words of scripts without spaces, as pairs of letters; no language is known here.
    pairs = fields.TextField(analyzer="whitespace", similarity="boolean", norms=False, index_options="docs")
    brevity = fields.FloatField(index=False)
    # Compared with every vector that the filter leaves: a graph would be shaped by other owners' vectors.
    vector = VectorField(
        dims=EMBEDDING_DIMENSIONS, index=True, similarity="cosine", index_options={"type": "int8_flat"}
    )
    gone_at = fields.DateField()

    def prepare(self, instance: SearchDocument | Tombstone) -> dict[str, Any]:
        """The body of a document; of a tombstone only the time of the removal."""
        if isinstance(instance, Tombstone):
            return tombstone()
        owner = instance.owner
        body = {
            "id": str(instance.id),  # once more, as a value to sort by
            "visibility": visibility_of(owner),
            "task": instance.task,
            "status": instance.status.value,
            "text": instance.text,
            "brevity": brevity(instance.text),
            "vector": dequantize(instance.vector),  # the serializer takes an array
        }
        if owner.tenant_id is not None:
            body["tenant"] = str(owner.tenant_id)
        if owner.user_id is not None:
            body["user"] = str(owner.user_id)
        if is_unspaced(instance.text):
            body["pairs"] = spaced(instance.text)
        return body

    @classmethod
    def generate_id(cls, object_instance: SearchDocument | Tombstone) -> str:
        """The id at the cluster."""
        return str(object_instance.id)

    def _prepare_action(self, object_instance: SearchDocument | Tombstone, action: str) -> dict[str, Any]:
        """With the version of the row, so that a late or repeated delivery changes nothing."""
        prepared: dict[str, Any] = super()._prepare_action(object_instance, action)
        return prepared | {"version": object_instance.version, "version_type": "external"}


class ArchivedDocument(MemoryDocument):
    """A fact or playbook that was superseded long ago, with its kind, because the archive holds both."""

    kind = fields.KeywordField()

    def prepare(self, instance: SearchDocument | Tombstone) -> dict[str, Any]:
        """As in the other indices, with the kind."""
        body = super().prepare(instance)
        return body if isinstance(instance, Tombstone) else body | {"kind": instance.kind.value}


def _document(index_name: str, model: type[Model], base: type[MemoryDocument] = MemoryDocument) -> type[MemoryDocument]:
    """The registered document class of a logical index."""
    inner = {
        "Index": type("Index", (), {"name": reading_alias(index_name)}),
        "Django": type("Django", (), {"model": model}),
        "__module__": __name__,
    }
    made: type[MemoryDocument] = registry.register_document(type(f"{index_name.title()}Document", (base,), inner))
    return made


DOCUMENTS: dict[str, type[MemoryDocument]] = {
    **{kind.value: _document(kind, model) for kind, model in MEMORY_MODELS.items()},
    ARCHIVE: _document(ARCHIVE, Fact, ArchivedDocument),  # the package wants a model; nothing is done with it
}


def visibility_of(owner: Owner) -> str:
    """Who may find a memory of this owner: `user`, `tenant` or `global`, as the members' keys ask."""
    if owner.user_id is not None:
        return Scope.USER.value
    return Scope.TENANT.value if owner.tenant_id is not None else Scope.GLOBAL.value


def tombstone() -> dict[str, Any]:
    """The body of a removed memory: no owner, no text, no vector, so nobody can find it."""
    return {"gone_at": timezone.now().isoformat()}


def mapping_of(index_name: str) -> dict[str, Any]:
    """The mapping of a logical index; it names the encoder of its vectors."""
    declared: dict[str, Any] = DOCUMENTS[index_name]._doc_type.mapping.to_dict()
    return {**declared, "dynamic": "strict", "_meta": {"encoder": encoder_name()}}


def actions(
    items: Iterable[tuple[str, SearchDocument | Tombstone]], targets: Mapping[str, Sequence[str]]
) -> Iterator[dict[str, Any]]:
    """The bulk actions that write `items`, each with its logical index, to every index in `targets`."""
    for index_name, item in items:
        prepared = _preparer(index_name)._prepare_action(item, "index")
        for index in targets[index_name]:
            yield {**prepared, "_index": index}


@functools.cache
def _preparer(index_name: str) -> MemoryDocument:
    """A shared document that only prepares others: making one looks up all of its fields."""
    return DOCUMENTS[index_name]()

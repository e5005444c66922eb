"""Elasticsearch documents of memories, declared with django-elasticsearch-dsl.

Mappings are strict, so an undeclared field cannot be stored. Members' keys filter on `visibility`; a tombstone has
none, so no key can read it. No score depends on other owners' documents (ADR 8).
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.db.models import Model
from django.utils import timezone
from django_elasticsearch_dsl import Document, fields
from django_elasticsearch_dsl.registries import registry
from elasticsearch.dsl import DenseVector

from memories.constants import EMBEDDING_DIMENSIONS
from memories.embedding import dequantize, encoder_dimensions, encoder_name
from memories.models import MEMORY_MODELS, Fact
from memories.search.base import Tombstone
from memories.search.elasticsearch.queries import ARCHIVE, SEMANTIC, VECTOR, brevity, elastic_inference, vector_field
from memories.types import Owner, Scope, SearchDocument
from memories.words import is_unspaced, spaced
from memoryhub.elasticsearch import reading_alias

SETTINGS: dict[str, Any] = {
    "number_of_shards": 1,
    # 0 on one node, 1 where a second node can hold the replica.
    "auto_expand_replicas": "0-1",
    # A fallback, because writers refresh explicitly. Setting it also keeps idle shards refreshing.
    "refresh_interval": "5s",
    # `expunge` rewrites every segment with a removed document, however small its share.
    "merge.policy.expunge_deletes_allowed": 0,
}


class VectorField(fields.DEDField, DenseVector):  # type: ignore[misc]  # the package publishes no types
    """A dense vector field, which django-elasticsearch-dsl lacks."""


class MemoryDocument(Document):  # type: ignore[misc]  # the package publishes no types
    """The fields of all kinds, prepared from a SearchDocument."""

    id = fields.KeywordField()
    tenant = fields.KeywordField()
    user = fields.KeywordField()
    visibility = fields.KeywordField()
    task = fields.KeywordField()
    status = fields.KeywordField()
    # A term scores as weighted in the query, independent of other documents; term frequencies are not stored.
    text = fields.TextField(analyzer="english", similarity="boolean", norms=False, index_options="docs")
    # Letter pairs for scripts without spaces, because the analyzer knows no such language.
    pairs = fields.TextField(analyzer="whitespace", similarity="boolean", norms=False, index_options="docs")
    brevity = fields.FloatField(index=False)
    # Sortable tokens of the attributes: terms and ranges of terms, without a field for each key of metadata (ADR 30).
    tokens = fields.KeywordField(doc_values=False)
    # Exact comparison with every filtered vector, because other owners' vectors would shape an HNSW graph.
    vector = VectorField(
        dims=EMBEDDING_DIMENSIONS, index=True, similarity="cosine", index_options={"type": "int8_flat"}
    )
    gone_at = fields.DateField()

    def prepare(self, instance: SearchDocument | Tombstone) -> dict[str, Any]:
        """Return the body of a document; a tombstone holds only the time of removal."""
        if isinstance(instance, Tombstone):
            return tombstone()
        owner = instance.owner
        body = {
            "id": str(instance.id),  # the same id as a sortable field
            "visibility": visibility_of(owner),
            "task": instance.task,
            "status": instance.status.value,
            "text": instance.text,
            "brevity": brevity(instance.text),
            "tokens": list(instance.tokens),
            vector_field(encoder_name()): dequantize(instance.vector),  # the serializer takes an array
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
        """Return the document id in Elasticsearch."""
        return str(object_instance.id)

    def _prepare_action(self, object_instance: SearchDocument | Tombstone, action: str) -> dict[str, Any]:
        """Add the row's version, so that a late or repeated delivery changes nothing."""
        prepared: dict[str, Any] = super()._prepare_action(object_instance, action)
        return prepared | {"version": object_instance.version, "version_type": "external"}


class ArchivedDocument(MemoryDocument):
    """A fact or playbook superseded long ago; the shared archive index also stores its kind."""

    kind = fields.KeywordField()

    def prepare(self, instance: SearchDocument | Tombstone) -> dict[str, Any]:
        """Add the kind to the body."""
        body = super().prepare(instance)
        return body if isinstance(instance, Tombstone) else body | {"kind": instance.kind.value}


def _document(index_name: str, model: type[Model], base: type[MemoryDocument] = MemoryDocument) -> type[MemoryDocument]:
    """Create and register the document class of a logical index."""
    inner = {
        "Index": type("Index", (), {"name": reading_alias(index_name)}),
        "Django": type("Django", (), {"model": model}),
        "__module__": __name__,
    }
    made: type[MemoryDocument] = registry.register_document(type(f"{index_name.title()}Document", (base,), inner))
    return made


DOCUMENTS: dict[str, type[MemoryDocument]] = {
    **{kind.value: _document(kind, model) for kind, model in MEMORY_MODELS.items()},
    ARCHIVE: _document(ARCHIVE, Fact, ArchivedDocument),  # the package requires a model and does not use it here
}


def visibility_of(owner: Owner) -> str:
    """Return which members' keys may find this owner's memories: `user`, `tenant` or `global`."""
    if owner.user_id is not None:
        return Scope.USER.value
    return Scope.TENANT.value if owner.tenant_id is not None else Scope.GLOBAL.value


def tombstone() -> dict[str, Any]:
    """Return the body of a removed memory: no owner, text or vector, so no search finds it."""
    return {"gone_at": timezone.now().isoformat()}


# Raise it when documents get a field that older ones lack. `index rebuild` makes the next indices.
LAYOUT = 2


def stamp() -> dict[str, Any]:
    """Return what the documents of an index were made with."""
    inference = elastic_inference()
    own = {"inference": inference.embedding} if inference else {}
    return {"encoder": encoder_name(), "layout": LAYOUT} | own


def mapping_of(index_name: str) -> dict[str, Any]:
    """Return the mapping of a logical index, whose `_meta` names the encoder of its vectors and the layout."""
    declared: dict[str, Any] = DOCUMENTS[index_name]._doc_type.mapping.to_dict()
    vector = declared["properties"].pop(VECTOR) | {"dims": encoder_dimensions()}
    declared["properties"][vector_field(encoder_name())] = vector
    if inference := elastic_inference():
        declared["properties"]["text"] |= {"copy_to": [SEMANTIC]}
        declared["properties"][SEMANTIC] = {"type": "semantic_text", "inference_id": inference.embedding}
    return {**declared, "dynamic": "strict", "_meta": stamp()}


def actions(
    items: Iterable[tuple[str, SearchDocument | Tombstone]],
    targets: Mapping[str, Sequence[str]],
    *,
    without_vector: Collection[str] = (),
) -> Iterator[dict[str, Any]]:
    """Yield the bulk actions that write `items`, (logical index, document) pairs, to every index in `targets`.

    The indices `without_vector` are made for vectors of another encoder.
    """
    field = vector_field(encoder_name())
    for index_name, item in items:
        prepared = _preparer(index_name)._prepare_action(item, "index")
        bare = {name: value for name, value in prepared["_source"].items() if name != field} if without_vector else {}
        for index in targets[index_name]:
            yield {**prepared, "_index": index} | ({"_source": bare} if index in without_vector else {})


@functools.cache
def _preparer(index_name: str) -> MemoryDocument:
    """Return a cached document used only to prepare others, because construction looks up all fields."""
    return DOCUMENTS[index_name]()

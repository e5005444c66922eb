"""How requests to Elasticsearch are written and answers read: by orjson, which takes vectors as the arrays they are."""

from __future__ import annotations

from typing import Any

from elasticsearch.serializer import NdjsonSerializer, OrjsonSerializer


class _Lines(NdjsonSerializer):
    """Lines of JSON."""

    _line = OrjsonSerializer()

    def json_dumps(self, data: Any) -> bytes:
        return self._line.json_dumps(data)


SERIALIZERS = {OrjsonSerializer.mimetype: OrjsonSerializer(), _Lines.mimetype: _Lines()}

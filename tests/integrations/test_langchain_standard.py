"""LangChain's own tests of retrievers."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("langchain_tests.integration_tests", reason="langchain-tests is not installed (make integrations)")

from langchain_tests.integration_tests import RetrieversIntegrationTests

from memoryhub_client import Client
from memoryhub_client.langchain import MemoryhubRetriever

pytestmark = pytest.mark.long


class TestMemoryhubRetriever(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _known(self, client: Client) -> None:
        self._client = client
        for city in ("Bristol", "Porto", "Oslo", "Edinburgh"):
            client.memories.write(f"Went to {city} by train.")

    @property
    def retriever_constructor(self) -> type[MemoryhubRetriever]:
        return MemoryhubRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"client": self._client}

    @property
    def retriever_query_example(self) -> str:
        return "Where did she go by train?"

"""The clients of OpenAI and Anthropic as they are, but for base URL and key, through a server to a model's API."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from tests.migrated import Migrated
from tests.model_api import CITY, KEY, WORDS, ModelApi
from tests.parts import eventually
from tests.proofs.site import Person, Site

anthropic = pytest.importorskip("anthropic")

pytestmark = pytest.mark.long

GUIDE = (Path(__file__).resolve().parents[2] / "docs" / "drop-in.md").read_text()
EXAMPLES = re.findall(r"^```py\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
ANSWER = "".join(WORDS)
HOME, ASKED = "I live in Bristol.", "Where do I live?"
# A turn of each kind is more than a member does in a minute.
_LIMITS = "token_turns=10000,member_turns=10000,tenant_turns=100000"
_PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FUNCTION: Any = {"type": "function", "function": {"name": "weather", "parameters": _PARAMETERS}}
SCHEMA: Any = {"type": "json_schema", "json_schema": {"name": "place", "schema": _PARAMETERS}}
_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@pytest.fixture(scope="module")
def api() -> Iterator[ModelApi]:
    with ModelApi().running() as api:
        yield api


@pytest.fixture(scope="module")
def site(
    tmp_path_factory: pytest.TempPathFactory, api: ModelApi, django_db_setup: None, _migrated: Migrated | None
) -> Iterator[Site]:
    upstream = {"OPENAI_BASE_URL": f"{api.url}/v1", "OPENAI_API_KEY": KEY, "MEMORYHUB_LIMITS": _LIMITS}
    upstream |= {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": KEY, "MEMORYHUB_SHARED_UPSTREAM": "true"}
    site = Site(tmp_path_factory.mktemp("site"), upstream)
    if _migrated is not None:
        _migrated.give(site.database)
    with site:
        site.start()
        yield site
        assert site.stop() == 0


@pytest.fixture
def gpt(url: str, person: Person) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{url}/v1", api_key=person.token, max_retries=0) as client:
        yield client


@pytest.fixture
def claude(url: str, person: Person) -> Iterator[Any]:
    with anthropic.Anthropic(base_url=url, api_key=person.token, max_retries=0) as client:
        yield client


def test_the_quick_start_of_the_guide_runs_as_it_stands(
    site: Site, url: str, api: ModelApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    tenant = site.manage("tenant", "create", "acme").strip()
    monkeypatch.setenv("MEMORYHUB_KEY", site.manage("token", "create", "--tenant", tenant).strip())
    for example in EXAMPLES:
        exec(example.replace("http://127.0.0.1:8000", url), {})  # noqa: S102 - ours
    assert "Edinburgh" in api.last.text and len(EXAMPLES) == 2


def asks(text: str) -> Any:
    return [{"role": "user", "content": text}]


def test_chat_completions(gpt: openai.OpenAI, api: ModelApi) -> None:
    answer = gpt.chat.completions.create(model="first", messages=asks(HOME))
    assert answer.choices[0].message.content == ANSWER and answer.usage and answer.usage.total_tokens == 15
    assert answer.model_extra == {"a_new_member": {"kept": True}}
    chunks = list(
        gpt.chat.completions.create(
            model="first",
            messages=asks(ASKED),
            stream=True,
            stream_options={"include_usage": True},
            extra_headers={"X-Memoryhub-Note": "true"},
        )
    )
    assert "".join(each.choices[0].delta.content or "" for each in chunks if each.choices) == ANSWER
    assert chunks[-1].usage and chunks[-1].usage.total_tokens == 15
    assert "Bristol" in api.last.text and api.last.body["messages"][-1] == asks(ASKED)[0]


def test_chat_completions_with_tools_a_schema_and_an_image(gpt: openai.OpenAI, api: ModelApi) -> None:
    create = gpt.chat.completions.create
    message = create(model="first", messages=asks("The weather?"), tools=[FUNCTION]).choices[0].message
    assert message.tool_calls and json.loads(message.tool_calls[0].function.arguments) == json.loads(CITY)  # type: ignore[union-attr]  # a function was offered
    result = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "Rain"}
    after: Any = [*asks("The weather?"), message.model_dump(exclude_none=True), result]
    assert create(model="first", messages=after, tools=[FUNCTION]).choices[0].message.content == ANSWER
    with gpt.chat.completions.stream(model="first", messages=asks("And now?"), tools=[FUNCTION]) as stream:
        calls = stream.get_final_completion().choices[0].message.tool_calls
    assert calls and calls[0].function.arguments == CITY
    assert create(model="first", messages=asks("Where?"), response_format=SCHEMA).choices[0].message.content == CITY
    image: Any = [
        {"type": "text", "text": "Look."},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{_PIXEL}"}},
    ]
    seen = create(model="first", messages=[{"role": "user", "content": image}]).choices[0].message.content
    assert seen and seen.endswith("I see 1 images.") and api.last.body["messages"][-1]["content"] == image


def test_responses(gpt: openai.OpenAI, api: ModelApi) -> None:
    answer = gpt.responses.create(model="first", input=HOME)
    assert answer.output_text == ANSWER and answer.usage and answer.usage.total_tokens == 15
    events = list(gpt.responses.create(model="first", input=ASKED, stream=True))
    assert events[-1].type == "response.completed" and events[-1].response.output_text == ANSWER
    assert "Bristol" in api.last.text and api.last.body["input"][-1]["content"] == ASKED
    tool: Any = {"type": "function", "name": "weather", "parameters": _PARAMETERS, "strict": False}
    called = gpt.responses.create(model="first", input="The weather?", tools=[tool]).output[0]
    assert called.type == "function_call" and called.arguments == CITY
    text: Any = {"format": {"type": "json_schema", "name": "place", "schema": _PARAMETERS}}
    assert gpt.responses.create(model="first", input="Where?", text=text).output_text == CITY


def test_messages(claude: Any, api: ModelApi) -> None:
    def create(**fields: Any) -> Any:
        return claude.messages.create(model="first", max_tokens=100, **fields)

    answer = create(messages=asks(HOME))
    assert answer.content[0].text == ANSWER and answer.usage.output_tokens == 3
    with claude.messages.stream(model="first", max_tokens=100, messages=asks(ASKED), system="Be brief.") as stream:
        assert "".join(stream.text_stream) == ANSWER
    assert [each["text"][:8] for each in api.last.body["system"]] == ["Be brief", "<memory>"]
    tool = {"name": "weather", "input_schema": _PARAMETERS}
    called = create(messages=asks("The weather?"), tools=[tool])
    assert called.stop_reason == "tool_use" and called.content[0].input == json.loads(CITY)
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "Rain"}]}
    history = [*asks("The weather?"), {"role": "assistant", "content": called.content}, result]
    assert create(messages=history, tools=[tool]).content[0].text == ANSWER
    source = {"type": "base64", "media_type": "image/png", "data": _PIXEL}
    image = [{"type": "text", "text": "Look."}, {"type": "image", "source": source}]
    assert create(messages=[{"role": "user", "content": image}]).content[0].text.endswith("I see 1 images.")
    assert claude.messages.count_tokens(model="first", messages=asks(HOME)).input_tokens == 7
    assert [each.id for each in claude.models.list()] == ["first", "second/of-a-vendor"]


def test_errors_are_those_that_the_clients_know(gpt: openai.OpenAI, claude: Any, url: str) -> None:
    assert [each.id for each in gpt.models.list()] == ["first", "second/of-a-vendor"]
    assert gpt.models.retrieve("second/of-a-vendor").owned_by == "us"
    with pytest.raises(openai.RateLimitError) as limited:
        gpt.chat.completions.create(model="limited", messages=asks(HOME))
    assert limited.value.response.headers["retry-after"] == "7"
    with pytest.raises(openai.NotFoundError) as missing:
        gpt.responses.create(model="missing", input=HOME)
    assert missing.value.code == "model_not_found"
    with pytest.raises(openai.AuthenticationError):
        gpt.with_options(api_key="mh_wrong").chat.completions.create(model="first", messages=asks(HOME))
    with pytest.raises(openai.BadRequestError) as bad:
        gpt.chat.completions.create(model="first", messages=asks(HOME), extra_body={"memory": "some"})
    assert bad.value.param == "memory"
    with pytest.raises(anthropic.NotFoundError):
        claude.messages.create(model="missing", max_tokens=1, messages=asks(HOME))
    with pytest.raises(anthropic.AuthenticationError):
        claude.with_options(api_key="mh_wrong").messages.create(model="first", max_tokens=1, messages=asks(HOME))
    with pytest.raises((openai.APIError, httpx.HTTPError)):
        list(gpt.chat.completions.create(model="breaks", messages=asks(HOME), stream=True))


def test_a_large_body_with_anthropics_key_is_read(claude: Any, api: ModelApi) -> None:
    long = "word " * 300_000
    assert claude.messages.create(model="first", max_tokens=1, messages=asks(long)).content[0].text == ANSWER
    assert len(api.last.text) > len(long)


@pytest.mark.parametrize("streams", [True, False])
def test_a_client_that_hangs_up_frees_the_model(site: Site, person: Person, api: ModelApi, *, streams: bool) -> None:
    api.silence = 1.0
    assert eventually(lambda: api.open == 0, seconds=10)
    client = HTTPConnection("127.0.0.1", site.port, timeout=30)
    body = json.dumps({"model": "silent", "messages": asks(HOME), "stream": streams})
    headers = {"Authorization": f"Bearer {person.token}", "Content-Type": "application/json"}
    client.request("POST", "/v1/chat/completions", body, headers)
    if streams:
        answer = client.getresponse()
        assert answer.status == 200 and answer.read1().startswith(b"data: ")
    else:
        assert eventually(lambda: api.open == 1, seconds=10)
    client.close()
    assert eventually(lambda: api.open == 0, seconds=5)
    with openai.OpenAI(base_url=f"http://127.0.0.1:{site.port}/v1", api_key=person.token) as gpt:
        assert gpt.chat.completions.create(model="first", messages=asks(ASKED)).choices[0].message.content == ANSWER

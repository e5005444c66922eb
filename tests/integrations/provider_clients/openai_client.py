"""What the client `openai` gets, from 1.x on, as a line for each call; base URL and key come from the environment."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import openai

PARAMETERS: Any = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FUNCTION: Any = {"type": "function", "function": {"name": "weather", "parameters": PARAMETERS}}
TOOL: Any = {"type": "function", "name": "weather", "parameters": PARAMETERS, "strict": False}
SCHEMA: Any = {"type": "json_schema", "json_schema": {"name": "place", "schema": PARAMETERS}}

client = openai.OpenAI(max_retries=0)
create: Any = client.chat.completions.create


def show(name: str, *values: object) -> None:
    sys.stdout.write(json.dumps([name, *values]) + "\n")


def asks(text: str) -> Any:
    return [{"role": "user", "content": text}]


def chat() -> None:
    whole = create(model="first", messages=asks("I live in Bristol."))
    show("chat", whole.choices[0].message.content, whole.usage.total_tokens)
    usage = {"include_usage": True}
    chunks = list(create(model="first", messages=asks("I keep bees."), stream=True, stream_options=usage))
    text = [each.choices[0].delta.content for each in chunks if each.choices]
    show("chat, streamed", text, chunks[-1].usage.total_tokens)
    message = create(model="first", messages=asks("The weather?"), tools=[FUNCTION]).choices[0].message
    show("chat, tool", [each.function.arguments for each in message.tool_calls])
    result = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "Rain"}
    after = [*asks("The weather?"), message.model_dump(exclude_none=True), result]
    show("chat, tool's result", create(model="first", messages=after, tools=[FUNCTION]).choices[0].message.content)
    called = list(create(model="first", messages=asks("And now?"), tools=[FUNCTION], stream=True))
    deltas = [call for each in called for call in each.choices[0].delta.tool_calls or ()]
    show("chat, tool, streamed", "".join(each.function.arguments for each in deltas))
    shaped = create(model="first", messages=asks("Where?"), response_format=SCHEMA)
    show("chat, schema", shaped.choices[0].message.content)


def responses() -> None:
    whole = client.responses.create(model="first", input="I row on Mondays.")
    show("response", whole.output_text, whole.usage and whole.usage.total_tokens)
    events: Any = list(client.responses.create(model="first", input="I like trains.", stream=True))
    show("response, streamed", [each.type for each in events], events[-1].response.output_text)
    called: Any = client.responses.create(model="first", input="The weather?", tools=[TOOL]).output[0]
    show("response, tool", called.name, called.arguments)
    given: Any = [{"type": "function_call_output", "call_id": called.call_id, "output": "Rain"}]
    history: Any = [*asks("The weather?"), called.model_dump(exclude_none=True), *given]
    show("response, tool's result", client.responses.create(model="first", input=history, tools=[TOOL]).output_text)


async def asynchronous() -> None:
    async with openai.AsyncOpenAI(max_retries=0) as at_once:
        stream = await at_once.chat.completions.create(model="first", messages=asks("I sing."), stream=True)
        show("chat, asynchronous", [each.choices[0].delta.content async for each in stream])


def errors() -> None:
    for model in ("limited", "missing"):
        try:
            create(model=model, messages=asks("Hello?"))
        except openai.APIStatusError as error:
            show(
                "error", type(error).__name__, error.status_code, error.code, error.response.headers.get("retry-after")
            )
    show("models", [each.id for each in client.models.list()])


show("version", openai.__version__)
chat()
responses()
asyncio.run(asynchronous())
errors()
show("asked", create(model="first", messages=asks("Where do I live?")).choices[0].message.content)

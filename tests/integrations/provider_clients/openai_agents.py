"""What an agent of the OpenAI Agents SDK does, whole and streamed, over both of OpenAI's APIs."""

from __future__ import annotations

import asyncio
import json
import sys

from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI


def weather(city: str) -> str:
    """Tell the weather."""
    return f"Rain in {city}"


def show(name: str, *values: object) -> None:
    sys.stdout.write(json.dumps([name, *values]) + "\n")


async def main() -> None:
    set_tracing_disabled(True)
    client = AsyncOpenAI(max_retries=0)
    for model in (OpenAIChatCompletionsModel("first", client), OpenAIResponsesModel("first", client)):
        name = type(model).__name__
        plain = Agent(name="Plain", model=model)
        handy = Agent(name="Handy", model=model, tools=[function_tool(weather)])
        show(name, (await Runner.run(plain, "I live in Bristol.")).final_output)
        streamed = Runner.run_streamed(plain, "I keep bees.")
        show(f"{name}, streamed", [each.type async for each in streamed.stream_events()], streamed.final_output)
        used = await Runner.run(handy, "The weather?")
        show(f"{name}, tool", [each.type for each in used.new_items], used.final_output)
        streamed = Runner.run_streamed(handy, "And now?")
        kinds = [each.type async for each in streamed.stream_events()]
        show(f"{name}, tool, streamed", kinds, [each.type for each in streamed.new_items], streamed.final_output)
        show(f"{name}, asked", (await Runner.run(plain, "Where do I live?")).final_output)


asyncio.run(main())

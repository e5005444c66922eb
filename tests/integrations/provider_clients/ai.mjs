// What Vercel's `ai` gets over each of the three APIs, whole and streamed, with and without a tool.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, isStepCount, jsonSchema, streamText, tool } from "ai";

const show = (...values) => console.log(JSON.stringify(values));
const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const tools = { weather: tool({ inputSchema: jsonSchema(parameters), execute: ({ city }) => `Rain in ${city}` }) };
const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL });
const anthropic = createAnthropic({ baseURL: `${process.env.ANTHROPIC_BASE_URL}/v1` });
// The provider keeps nothing under a shared key, so the whole conversation is sent (docs/drop-in.md).
const providerOptions = { openai: { store: false } };

for (const [name, model] of Object.entries({ chat: openai.chat("first"), responses: openai.responses("first"), messages: anthropic("first") })) {
  const fixed = { model, providerOptions, maxRetries: 0 };
  const whole = await generateText({ ...fixed, prompt: "I live in Bristol." });
  show(name, whole.text, whole.usage.outputTokens);
  const streamed = streamText({ ...fixed, prompt: "I keep bees." });
  const parts = [];
  for await (const part of streamed.textStream) parts.push(part);
  show(`${name}, streamed`, parts, (await streamed.usage).outputTokens);
  const used = await generateText({ ...fixed, prompt: "The weather?", tools, stopWhen: isStepCount(3) });
  show(`${name}, tool`, used.steps.map((step) => step.toolResults.map((each) => each.output)), used.text);
  const stream = streamText({ ...fixed, prompt: "And now?", tools, stopWhen: isStepCount(3) });
  const kinds = [];
  for await (const part of stream.fullStream) kinds.push(part.type);
  show(`${name}, tool, streamed`, kinds, await stream.text);
  show(`${name}, asked`, (await generateText({ ...fixed, prompt: "Where do I live?" })).text);
}

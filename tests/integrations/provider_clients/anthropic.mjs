// What the npm client of Anthropic gets, as a line for each call; base URL and key come from the environment.
import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({ maxRetries: 0 });
const show = (...values) => console.log(JSON.stringify(values));
const asks = (content) => [{ role: "user", content }];
const fixed = { model: "first", max_tokens: 100 };
const tools = [{ name: "weather", input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] } }];

const whole = await client.messages.create({ ...fixed, messages: asks("I live in Bristol.") });
show("message", whole.content[0].text, whole.usage.output_tokens);
const events = [];
for await (const event of await client.messages.create({ ...fixed, messages: asks("I keep bees."), stream: true })) events.push(event.type);
show("message, streamed", events);
const called = await client.messages.create({ ...fixed, messages: asks("The weather?"), tools });
show("message, tool", called.stop_reason, called.content[0].input);
const result = [{ type: "tool_result", tool_use_id: called.content[0].id, content: "Rain" }];
const history = [...asks("The weather?"), { role: "assistant", content: called.content }, { role: "user", content: result }];
show("message, tool's result", (await client.messages.create({ ...fixed, messages: history, tools })).content[0].text);
const final = await client.messages.stream({ ...fixed, messages: asks("And now?"), tools }).finalMessage();
show("message, tool, streamed", final.content[0].input, final.usage.output_tokens);
show("count", (await client.messages.countTokens({ model: "first", messages: asks("Hello?") })).input_tokens);
for (const model of ["limited", "missing"]) {
  await client.messages.create({ ...fixed, model, messages: asks("Hello?") }).catch((error) => show("error", error.constructor.name, error.status));
}
show("models", (await client.models.list()).data.map((each) => each.id));
show("asked", (await client.messages.create({ ...fixed, messages: asks("Where do I live?") })).content[0].text);

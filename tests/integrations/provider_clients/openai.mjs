// What the npm client of OpenAI gets, as a line for each call; base URL and key come from the environment.
import OpenAI from "openai";

const client = new OpenAI({ maxRetries: 0 });
const show = (...values) => console.log(JSON.stringify(values));
const asks = (content) => [{ role: "user", content }];
const create = (body) => client.chat.completions.create({ model: "first", ...body });
const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const tools = [{ type: "function", function: { name: "weather", parameters } }];

const whole = await create({ messages: asks("I live in Bristol.") });
show("chat", whole.choices[0].message.content, whole.usage.total_tokens);
const texts = [];
for await (const chunk of await create({ messages: asks("I keep bees."), stream: true })) texts.push(chunk.choices[0].delta.content);
show("chat, streamed", texts);
const { message } = (await create({ messages: asks("The weather?"), tools })).choices[0];
show("chat, tool", message.tool_calls[0].function.arguments);
const result = { role: "tool", tool_call_id: message.tool_calls[0].id, content: "Rain" };
const after = await create({ messages: [...asks("The weather?"), message, result], tools });
show("chat, tool's result", after.choices[0].message.content);
const stream = client.chat.completions.stream({ model: "first", messages: asks("And now?"), tools });
show("chat, tool, streamed", (await stream.finalChatCompletion()).choices[0].message.tool_calls[0].function.arguments);
const ran = client.chat.completions.runTools({
  model: "first",
  messages: asks("And tomorrow?"),
  tools: [{ type: "function", function: { name: "weather", parameters, parse: JSON.parse, function: ({ city }) => `Rain in ${city}` } }],
});
show("chat, tools run", await ran.finalContent());

const response = await client.responses.create({ model: "first", input: "I row on Mondays." });
show("response", response.output_text, response.usage.total_tokens);
const events = [];
for await (const event of await client.responses.create({ model: "first", input: "I like trains.", stream: true })) events.push(event.type);
show("response, streamed", events);
const tool = [{ type: "function", name: "weather", parameters, strict: false }];
const [called] = (await client.responses.create({ model: "first", input: "The weather?", tools: tool })).output;
show("response, tool", called.name, called.arguments);

for (const model of ["limited", "missing"]) {
  await client.chat.completions.create({ model, messages: asks("Hello?") }).catch((error) => show("error", error.constructor.name, error.status, error.code));
}
show("models", (await client.models.list()).data.map((each) => each.id));
show("asked", (await create({ messages: asks("Where do I live?") })).choices[0].message.content);

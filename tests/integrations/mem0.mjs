// The npm client of mem0 and the Vercel provider against a running site, HOST with KEY; prints a line for each call.
import assert from "node:assert";
import { createRequire } from "node:module";
const require = createRequire(import.meta.url);
const { MemoryClient } = require("mem0ai");
const { HOST: host, KEY: apiKey } = process.env;
const user = `user-${Math.random().toString(36).slice(2)}`;
const memory = new MemoryClient({ apiKey, host });
const pass = (what) => console.log("pass", what);
const texts = (found) => found.results.map((each) => each.memory);

await memory.ping(); pass("ping");
const add = async (text, more = {}) => (await memory.add([{ role: "user", content: text }], { userId: user, infer: false, ...more })).results[0].id;
const id = await add("Lives in Bristol.", { metadata: { from: "form" }, runId: "r1", agentId: "desk" }); pass("add");
let got = await memory.get(id);
assert.equal(got.memory, "Lives in Bristol."); assert.equal(got.userId, user); assert.equal(got.runId, "r1"); pass("get");
await memory.update(id, { text: "Lives in Edinburgh." });
assert.equal((await memory.get(id)).memory, "Lives in Edinburgh."); pass("update");
assert.deepEqual((await memory.history(id)).map((each) => each.event), ["ADD", "UPDATE"]); pass("history");
assert.deepEqual(texts(await memory.getAll({ filters: { user_id: user }, page: 1, pageSize: 5 })), ["Lives in Edinburgh."]); pass("getAll");
assert.deepEqual(texts(await memory.search("Where does she live?", { filters: { user_id: user }, topK: 3 })), ["Lives in Edinburgh."]); pass("search");
const two = await add("Keeps bees.");
await memory.batchUpdate([{ memoryId: two, text: "Keeps hens." }]); await memory.batchDelete([two]); pass("batchUpdate, batchDelete");
await memory.delete(id, { deleteLinked: true });
await assert.rejects(memory.get(id), (error) => error.name === "MemoryNotFoundError"); pass("delete");
await add("Likes trains.");
assert.ok((await memory.users()).results.some((each) => each.name === user)); pass("users");
await memory.deleteAll({ userId: user });
assert.deepEqual(texts(await memory.getAll({ filters: { user_id: user } })), []); pass("deleteAll");
await add("Rows on Mondays."); await memory.deleteUsers({ userId: user });
assert.ok(!(await memory.users()).results.some((each) => each.name === user)); pass("deleteUsers");
await assert.rejects(memory.feedback({ memoryId: id, feedback: "POSITIVE" }), /update or delete/); pass("feedback is refused in words");

const provider = require("@mem0/vercel-ai-provider");
const config = { mem0ApiKey: apiKey, host, user_id: user };
const said = (text) => [{ role: "user", content: [{ type: "text", text }] }];
await provider.addMemories(said("I live in Porto."), config); pass("provider: addMemories");
let found = [];
for (let tries = 0; tries < 300 && !found.length; tries++) {
  found = await provider.getMemories("Where do I live?", config);
  if (!found.length) await new Promise((wait) => setTimeout(wait, 200));
}
assert.match(found[0].memory, /Porto/); pass("provider: getMemories");
assert.match(await provider.retrieveMemories("Where do I live?", config), /Porto/); pass("provider: retrieveMemories");
assert.match((await provider.searchMemories("Where do I live?", config)).results[0].memory, /Porto/); pass("provider: searchMemories");
// The whole model: an OpenAI endpoint that keeps what it was asked, so that the memories in the prompt are seen.
let asked;
const answering = async (url, options) => {
  asked = JSON.parse(options.body);
  const message = { role: "assistant", content: "In Porto." };
  const body = { id: "1", object: "chat.completion", created: 1, model: "m", choices: [{ index: 0, message, finish_reason: "stop" }], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } };
  return new Response(JSON.stringify(body), { headers: { "Content-Type": "application/json" } });
};
const ai = require("ai");
const mem0 = provider.createMem0({ provider: "openai", mem0ApiKey: apiKey, apiKey: "none", mem0Config: { host, user_id: user }, config: { baseURL: "http://127.0.0.1:1/v1", fetch: answering } });
const { text } = await ai.generateText({ model: mem0.chat("gpt-4.1"), prompt: "Where do I live?" });
assert.equal(text, "In Porto.");
assert.match(JSON.stringify(asked.messages), /Memory: .*Porto/); pass("provider: generateText with memories in the prompt");

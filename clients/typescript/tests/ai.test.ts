// The middleware for the AI SDK, with the SDK and a scripted model, against a real server (see client.test.ts).

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import test from "node:test";

import { generateText, isStepCount, jsonSchema, streamText, tool, wrapLanguageModel } from "ai";

import { memoryMiddleware } from "../src/ai.js";
import { ConnectionFailed, InvalidInput, MemoryHub, NotAuthenticated, Unavailable } from "../src/index.js";
import { openai } from "./parrot.js";

const url = process.env["MEMORYHUB_URL"] ?? "";
const key = process.env["MEMORYHUB_KEY"] ?? "";
const backend = new MemoryHub({ url, key, app: "ai-sdk" });
const middleware = memoryMiddleware(backend, { learn: "now" });
const model = wrapLanguageModel({ model: openai("parrot"), middleware });

/** The options of a call that is about this user. */
const about = (userId: string, session: string) => ({ memoryhub: { userId, session } });

test("what a user says in one conversation is known in the next, and to nobody else", async () => {
  const [alice, bob] = [randomUUID(), randomUUID()];
  const say = async (prompt: string, userId: string, session: string) =>
    (await generateText({ model, instructions: "Be brief.", prompt, providerOptions: about(userId, session) })).text;
  assert.equal(await say("I live in Bristol.", alice, "monday"), "Be brief.");
  await say("I moved to Edinburgh.", alice, "tuesday");
  assert.match(await say("Where do I live?", alice, "friday"), /^Be brief\.\n[^]*Lives in Edinburgh/);
  assert.equal(await say("Where do I live?", bob, "friday"), "Be brief.");
  const [fact] = await backend.forUser(alice).memories.list({ key: "home_city" }).all();
  assert.ok(fact && fact.app === "ai-sdk");
  const { links } = await backend.forUser(alice).memories.chain(fact.id);
  assert.deepEqual(links.map((link) => link.text), ["Lives in Bristol", "Lives in Edinburgh"]);
});

test("a streamed answer is handed in whole, once it has ended", async () => {
  const alice = randomUUID();
  const stream = streamText({ model, prompt: "I live in Bristol.", providerOptions: about(alice, "monday") });
  assert.equal(await stream.text, "Nothing.");
  const said = await backend.forUser(alice).memories.list({ kind: "episodic" }).all();
  assert.deepEqual(said.map((each) => each.text), ["I live in Bristol."]);
  const [session] = await backend.forUser(alice).sessions.list().all();
  assert.equal((await backend.forUser(alice).sessions.get(session!.id)).turns[0]?.answer, "Nothing.");
});

test("what is known is told in each step, and the user's words are handed in once", async () => {
  const alice = randomUUID();
  await backend.forUser(alice).memories.write("Lives in Edinburgh.");
  const look = tool({ inputSchema: jsonSchema<object>({ type: "object", properties: {} }), execute: async () => "Rain." });
  const { steps } = await generateText({
    model,
    prompt: "Which coat for a walk from my home?",
    tools: { look },
    stopWhen: isStepCount(3),
    providerOptions: about(alice, "monday"),
  });
  assert.equal(steps.length, 2);
  assert.match(steps[1]?.text ?? "", /Lives in Edinburgh/);
  const said = await backend.forUser(alice).memories.list({ kind: "episodic" }).all();
  assert.deepEqual(said.map((each) => each.text), ["Which coat for a walk from my home?"]);
});

test("an answer that breaks off is not handed in", async () => {
  const alice = randomUUID();
  const broken = wrapLanguageModel({ model: openai("parrot", "error"), middleware });
  const call = { model: broken, prompt: "I live in Bristol.", providerOptions: about(alice, "monday") };
  assert.equal((await generateText(call)).finishReason, "error");
  assert.equal(await streamText(call).finishReason, "error");
  assert.deepEqual(await backend.forUser(alice).sessions.list().all(), []);
});

test("of a long message the beginning is recalled for and handed in", async () => {
  const alice = randomUUID();
  const prompt = `I live in Bristol.${" \u{1F9A2}".repeat(20_000)}`;
  await generateText({ model, prompt, providerOptions: about(alice, "monday") });
  const [said] = await backend.forUser(alice).memories.list({ kind: "episodic" }).all();
  assert.ok(said && said.text.startsWith("I live in Bristol.") && said.text.length > 31_990);
});

test("a call that names nobody, or not by a string, is refused", async () => {
  await assert.rejects(generateText({ model, prompt: "Hello." }), InvalidInput);
  const options = { memoryhub: { userId: 7 } };
  await assert.rejects(generateText({ model, prompt: "Hello.", providerOptions: options }), /userId has to be a string/);
});

test("in an outage a call warns and goes on without memory, or fails if it is asked to", async (t) => {
  const warnings = t.mock.method(console, "warn", () => {});
  let status = 503;
  const server = createServer((_, response) => void response.writeHead(status).end());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const memory = new MemoryHub({ url: `http://127.0.0.1:${port}`, key: "mh_test", retries: { most: 0 } });
  const call = (onOutage?: "continue" | "throw") => {
    const middleware = memoryMiddleware(memory, onOutage && { onOutage });
    return generateText({ model: wrapLanguageModel({ model: openai("parrot"), middleware }), prompt: "Hello.", maxRetries: 0 });
  };
  assert.equal((await call()).text, "Nothing.");
  assert.equal(warnings.mock.callCount(), 2); // before the answer, and after it
  await assert.rejects(call("throw"), Unavailable);
  status = 401;
  await assert.rejects(call(), NotAuthenticated);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  assert.equal((await call("continue")).text, "Nothing.");
  await assert.rejects(call("throw"), ConnectionFailed);
});

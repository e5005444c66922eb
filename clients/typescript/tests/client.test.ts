// The client against a real server: MEMORYHUB_URL, and in MEMORYHUB_KEY a backend key with all scopes.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import test from "node:test";

import { InvalidInput, MemoryHub, NotAuthenticated, NotFound, type TurnEvent } from "../src/index.js";

const url = process.env["MEMORYHUB_URL"] ?? "";
const key = process.env["MEMORYHUB_KEY"] ?? "";
const backend = new MemoryHub({ url, key });

/** A user of whom nothing is known yet. */
const user = () => backend.forUser(randomUUID());

test("what a user says is learned, found by context, and nobody else's", async () => {
  const alice = user();
  const bob = backend.forUser("Žofie, 3");
  const done = await alice.messages(
    [
      { role: "user", content: "I live in Porto.", id: "1" },
      { role: "assistant", content: "Noted.", id: "2" },
    ],
    { session: "thread-1", learn: "now" },
  );
  assert.deepEqual(done.messages.map((each) => each.created), [true, true]);
  const context = await alice.context("Where do I live?", { explain: true });
  assert.match(context.text, /Porto/);
  assert.ok(context.tokens > 0 && context.instructions && context.items[0]?.signals);
  assert.doesNotMatch((await bob.context("Where do I live?")).text, /Porto/);
  const [learned] = done.operation?.memories ?? [];
  assert.ok(learned);
  await assert.rejects(bob.memories.get(learned.id), NotFound);
});

test("learning in the background is waited for", async () => {
  const alice = user();
  const { operation } = await alice.messages([{ role: "user", content: "I live in Braga." }]);
  assert.ok(operation);
  const ended = await alice.operations.wait(operation.id);
  assert.equal(ended.state, "done");
  assert.match(ended.memories[0]?.text ?? "", /Braga/);
  assert.deepEqual((await alice.operations.list().all()).map((each) => each.id), [operation.id]);
});

test("a fact is written, superseded, read with its history, and forgotten", async () => {
  const { memories } = user();
  const written = await memories.write("Lives in Porto.", { key: "home_city", valid_from: "2025-03-01T00:00:00Z" });
  assert.ok(written.memory.kind === "semantic" && written.memory.key === "home_city");
  const newer = await memories.supersede(written.memory_id, "Lives in Braga.", { reason: "She moved." });
  const chain = await memories.chain(newer.memory_id);
  assert.deepEqual(chain.links.map((link) => link.text), ["Lives in Porto.", "Lives in Braga."]);
  assert.equal((await memories.undo(newer.memory_id)).memory.text, "Lives in Porto.");
  const right = await memories.write("Keeps goats.");
  const corrected = await memories.correct(right.memory_id, "Keeps sheep.");
  await memories.forget(corrected.memory_id);
  await assert.rejects(memories.get(corrected.memory_id), NotFound);
});

test("lists are read page by page, and narrowed by filters and app", async () => {
  const name = randomUUID();
  const planner = new MemoryHub({ url, key, userId: name, app: "planner" });
  for (const to of ["Lisbon", "Oslo", "Lisbon"])
    await planner.memories.write(`Flies to ${to}, ${randomUUID()}.`, { category: "travel", metadata: { to } });
  const pages = [];
  for await (const page of planner.memories.list({ category: "travel", limit: 2 }).pages()) pages.push(page.results.length);
  assert.deepEqual(pages, [2, 1]);
  const filters = { and: [{ field: "metadata.to", op: "eq" as const, value: "Lisbon" }] };
  const trips = await planner.memories.list({ filters }).all();
  assert.deepEqual(trips.map((each) => each.app), ["planner", "planner"]);
  assert.equal((await planner.recall("Where does she fly?", { filters })).items.length, 2);
  assert.deepEqual(await planner.memories.list({ status: ["superseded", "evicted"] }).all(), []);
});

test("a turn is streamed as typed events, and leaving the loop hangs up", async () => {
  const alice = user();
  const seen: TurnEvent[] = [];
  for await (const event of alice.turns.stream("I keep goats.")) seen.push(event);
  const [first] = seen;
  assert.ok(first?.type === "turn_started");
  const said = seen.map((event) => (event.type === "text_delta" ? event.text : "")).join("");
  const { turns } = await alice.sessions.get(first.session_id);
  assert.equal(turns[0]?.answer, said);
  for await (const event of alice.turns.stream("What do I keep?", { session_id: first.session_id }))
    if (event.type === "turn_started") break;
  assert.ok((await alice.turns.create("Thanks.", { session_id: first.session_id })).answer);
});

test("members and tokens are administered", async () => {
  const name = randomUUID();
  assert.equal((await backend.members.create(name, { name: "Dora" })).name, "Dora");
  assert.ok((await backend.members.list({ limit: 100 }).all()).some((each) => each.user_id === name));
  await backend.forUser(name).memories.write("Keeps bees.");
  assert.equal((await backend.members.forgetMemories(name)).memories, 1);
  const made = await backend.tokens.create({ name: "reader", scopes: ["memory:read"] });
  const reader = new MemoryHub({ url: `${url}/api/v1/`, key: made.token, userId: name });
  assert.equal((await reader.me()).member?.user_id, name);
  await backend.tokens.revoke(made.id);
  await assert.rejects(reader.me(), NotAuthenticated);
});

test("an error names the fields and the request", async () => {
  await assert.rejects(user().memories.write("", { confidence: 7 }), (error) => {
    assert.ok(error instanceof InvalidInput && error.name === "InvalidInput");
    assert.deepEqual(error.errors.map((each) => each.field).sort(), ["confidence", "text"]);
    return error.status === 400 && error.type === "invalid-input" && Boolean(error.requestId);
  });
});

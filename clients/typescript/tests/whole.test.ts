// Every operation of the API, and what the server refuses, against a real server. MEMORYHUB_TENANTS: two tenants with a
// backend key and the tokens of two administrators each; MEMORYHUB_OPERATIONS: the operations, such as "GET /api/v1/me".

import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import test, { after } from "node:test";

import { Conflict, etagOf, Forbidden, InvalidInput, MemoryHub, NotFound, PreconditionFailed, QuotaExceeded } from "../src/index.js";

interface Tenant {
  key: string;
  administrators: [string, string];
}

const url = process.env["MEMORYHUB_URL"] ?? "";
const [tenant, other] = JSON.parse(process.env["MEMORYHUB_TENANTS"] ?? "") as [Tenant, Tenant];
const operations = JSON.parse(process.env["MEMORYHUB_OPERATIONS"] ?? "") as string[];
const called = new Set<string>();

/** A client whose calls count. */
function client(key: string) {
  const counted: typeof fetch = (input, init) => {
    called.add(`${init?.method} ${new URL(String(input)).pathname}`);
    return fetch(input, init);
  };
  return new MemoryHub({ url, key, fetch: counted });
}

const backend = client(tenant.key);
const [ann, ben] = tenant.administrators.map((token) => client(token)) as [MemoryHub, MemoryHub];

/** Wait for what a worker does. */
async function until(ready: () => Promise<boolean>) {
  for (const end = Date.now() + 60_000; !(await ready()); await new Promise((resolve) => setTimeout(resolve, 200)))
    assert.ok(Date.now() < end);
}

after(() => {
  const reached = (operation: string) => {
    const [method, path] = operation.split(" ") as [string, string];
    const fixed = operations.filter((each) => !each.includes("{"));
    const pattern = new RegExp(`^${method} ${path.replace(/\{\w+\}/g, "[^/]+")}$`);
    return [...called].some((each) => (fixed.includes(each) ? each === operation : pattern.test(each)));
  };
  assert.deepEqual(operations.filter((each) => !reached(each)), []);
});

test("memories from their first word to their end", async () => {
  const { memories, forgetProposals, sessions } = ann;
  const home = await memories.write("Lives in Porto.", { key: "home_city", learned_at: "2025-03-01T00:00:00Z" });
  const newer = await memories.supersede(home.memory_id, "Lives in Braga.");
  assert.equal((await memories.chain(newer.memory_id)).links.length, 2);
  const believed = await memories.list({ as_of: "2025-04-01T00:00:00Z" }).all();
  assert.deepEqual(believed.map((each) => each.text), ["Lives in Porto."]);
  const viola = await memories.write("Plays the viola.");
  const { memory_id: cello } = await memories.correct(viola.memory_id, "Plays the cello.");
  await memories.pin(cello);
  await memories.confirm(cello);
  await memories.describe(cello, { since: 2019 });
  assert.equal((await memories.promote(cello, { to: "tenant" })).memory.scope, "tenant");
  await memories.retire(cello);
  assert.equal((await memories.undo(cello)).memory.text, "Plays the cello.");
  await memories.writeCatalogEntry({ title: "Opening hours", text: "From nine to five." });
  await memories.toConfirm().all();
  const session = await sessions.create();
  await memories.writeEpisode("The hive hums.", { session_id: session.id });
  const book = await memories.writePlaybook("Split a hive", { steps: ["Find the queen", "Wait"] });
  await memories.recordOutcome(book.memory_id, { success: true });

  const lines = [
    { kind: "procedural", text: "Feed", title: "Feed", steps: ["Sugar", "Water"], proposed: true },
    { kind: "semantic", text: "Kept ducks.", status: "evicted", learned_at: "2025-01-01T00:00:00Z" },
  ];
  const file = lines.map((each) => JSON.stringify(each)).join("\n");
  assert.equal((await memories.import(file, { dry_run: true })).examples.length, 2);
  assert.deepEqual((await memories.import(new TextEncoder().encode(file))).added, { procedural: 1, semantic: 1 });
  const [idea] = (await memories.list({ kind: "procedural" }).all()).filter((each) => "proposed" in each && each.proposed);
  assert.ok(idea);
  await memories.accept(idea.id);
  const [ducks] = await memories.list({ status: ["evicted"] }).all();
  assert.ok(ducks);
  assert.equal((await memories.restore(ducks.id)).status, "active");
  assert.match(await memories.export(), /Kept ducks/);

  const { id } = await forgetProposals.create([ducks.id]);
  await forgetProposals.keep(id);
  const again = await forgetProposals.create([ducks.id]);
  await forgetProposals.confirm(again.id);
  await forgetProposals.undo(again.id);
  assert.ok((await forgetProposals.get(again.id)).state);
  await memories.forget(ducks.id);

  const done = await memories.batch([{ text: "Keeps bees.", category: "bees" }, { text: "" }]);
  assert.deepEqual(done.results.map((each) => each.status), [201, 400]);
  const filters = { field: "category", op: "eq" as const, value: "bees" };
  const { confirm } = await memories.forgetAll({ dry_run: true, filters });
  assert.equal((await memories.forgetAll({ confirm: confirm ?? "", filters })).memories, 1);
});

test("items are put, found, listed and erased", async () => {
  const { items } = backend.forUser("iris");
  const space = ["trips", "a/b %"];
  const first = await items.put(space, "lisbon ?&", { nights: 3, note: "A view of the river" });
  assert.deepEqual((await items.get(space, "lisbon ?&")).value, { nights: 3, note: "A view of the river" });
  const filters = { field: "value.nights", op: "lte" as const, value: 4 };
  assert.equal((await items.search(["trips"], { query: "by the water", filters })).results[0]?.id, first.id);
  assert.deepEqual((await items.namespaces()).results, [space]);
  await assert.rejects(items.put(space, "lisbon ?&", 1, { if_version: 7 }), Conflict);
  assert.equal((await items.read(first.id)).version, 1);
  assert.ok((await items.delete(space, "lisbon ?&")).deleted);
  assert.equal((await items.history(space, "lisbon ?&").all()).length, 2);
  assert.ok((await items.erase(first.id)).erased);
});

test("what is said is learned, and waits for a person where it has to", async () => {
  const alice = backend.forUser("alma");
  const { operation } = await alice.messages([{ role: "user", content: "I live in Porto." }]);
  assert.ok(operation);
  assert.equal((await alice.operations.wait(operation.id)).state, "done");
  const batch = await backend.messagesBatch([
    { user_id: "alma", messages: [{ role: "user", content: "I keep goats." }], learn: "off" },
    { user_id: "", messages: [] },
  ]);
  assert.deepEqual(batch.results.map((each) => each.status), [201, 400]);
  await alice.operations.list().all();
  await assert.rejects(alice.operations.cancel(operation.id), Conflict);
  await assert.rejects(alice.operations.retry(operation.id), Conflict);
  await alice.context("Where do I live?");
  await alice.recall("Where do I live?");
  await Promise.all([alice.me(), alice.version(), alice.looks().all()]);
  const session = await alice.sessions.create({ title: "Garden" });
  await alice.memories.writeEpisode("I moved to Coimbra.", { session_id: session.id });
  const [run] = (await alice.consolidation.run()).runs;
  assert.ok(run && (await alice.consolidation.list().all()).length);
  await alice.consolidation.get(run);
  await alice.consolidation.rerun(run);
  await alice.memories.write("Is allergic to peanuts.");
  await alice.memories.write("Is not allergic to peanuts.");
  const [review] = await alice.reviews.list().all();
  assert.ok(review);
  await alice.reviews.decide(review.id, { decision: "keep_both" });
  await alice.reviews.undo(review.id);
  assert.equal((await alice.reviews.get(review.id)).decision, "open");

  const { session_id } = await alice.turns.create("I keep goats.");
  await alice.turns.create("What do I keep?", { session_id });
  await alice.workingMemory.set(session_id, { goal: "Fence" });
  assert.equal((await alice.workingMemory.get(session_id)).goal, "Fence");
  assert.ok((await alice.sessions.search(session_id, { q: "goats" }).all()).length);
  await alice.sessions.rename(session_id, "Goats");
  await alice.sessions.list().all();
  await alice.sessions.get(session_id);
  await alice.sessions.end(session_id);
  await alice.sessions.forget(session_id);
});

test("members and tokens are administered", async () => {
  const { key } = other; // of a tenant whose administrators approve nothing here
  const owner = client(key);
  await owner.members.create("carol", { name: "Carol" });
  await owner.members.list().all();
  assert.equal((await owner.members.change("carol", { name: "Caro" })).name, (await owner.members.get("carol")).name);
  await owner.members.export("carol", "She asked for it.");
  await assert.rejects(owner.members.download("carol"), Conflict);
  await owner.members.forgetMemories("carol");
  assert.equal((await owner.members.erase("carol", "She left.")).id, (await owner.members.erasure("carol")).id);
  const made = await owner.tokens.create({ name: "reader", scopes: ["memory:read"] });
  await owner.tokens.list().all();
  await owner.tokens.get(made.id);
  assert.notEqual((await owner.tokens.rotate(made.id)).token, made.token);
  await owner.tokens.revoke(made.id);
});

test("administrators hold, erase and audit", async () => {
  const alice = backend.forUser("alice");
  const { memory_id } = await alice.memories.write("Keeps bees.");
  const [created] = await alice.audit.list({ action: "fact.created", memory: memory_id }).all();
  assert.ok(created && (await alice.audit.get(created.id)).after && (await alice.audit.verify()).ok);

  const hold = await ann.holds.create({ user_id: "alice", reason: "A dispute." });
  await assert.rejects(alice.memories.forget(memory_id), Conflict);
  assert.equal((await ann.holds.list().all())[0]?.id, (await ann.holds.get(hold.id)).id);
  assert.ok((await ann.holds.release(hold.id)).released_at);

  const mistaken = await ann.erasures.create("alice", "By mistake.");
  assert.equal((await ann.erasures.withdraw(mistaken.id)).state, "refused");
  const asked = await ann.erasures.create("alice", "She left.");
  await assert.rejects(ann.erasures.approve(asked.id), Forbidden);
  await ben.erasures.approve(asked.id, { ifMatch: etagOf(await ben.erasures.get(asked.id)) });
  await until(async () => (await ann.erasures.get(asked.id)).state === "done");
  assert.equal((await ann.erasures.list().all()).length, 2);
  assert.ok((await ann.erasures.receipt(asked.id)).signature && (await ann.erasures.verify(asked.id)).ok);

  const named = { user_id: "Žofie, 3" };
  const fact = await backend.forUser(named.user_id).memories.write("Keeps goats.");
  const [event] = await ann.tenantAudit.list({ ...named, memory: fact.memory_id }).all();
  assert.ok(event && (await ann.tenantAudit.get(event.id, { reason: "They asked." })).target_id === fact.memory_id);
  assert.ok((await ann.tenantAudit.verify()).ok && (await ann.tenantAudit.verify(named)).ok);

  const policy = await ann.policy.get();
  assert.deepEqual((await ann.policy.change({ categories: ["bees"], recall_items: 5 })).categories, ["bees"]);
  await assert.rejects(ann.policy.change({ recall_items: null }, { ifMatch: etagOf(policy) }), PreconditionFailed);
  assert.equal((await ann.policy.change({ recall_items: null })).recall_items, null);

  await ben.ownErasure.ask("No more.");
  assert.ok((await ben.ownErasure.get()).id);
  assert.equal((await ben.ownErasure.withdraw()).state, "refused");
});

test("what happens is read and sent", async (t) => {
  const got: unknown[] = [];
  const receiver = createServer((request, response) => {
    got.push(request.headers["webhook-id"]);
    request.resume().on("end", () => response.writeHead(204).end());
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  t.after(() => receiver.close());
  const { next_cursor: cursor } = await backend.events.read();
  const hook = await backend.webhooks.create(`http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`, {
    types: ["memory.created"],
  });
  await backend.forUser("hanna").memories.write("Keeps bees.");
  const { results } = await backend.events.read({ cursor, types: ["memory.created"] });
  assert.equal(results[0]?.data.user_id, "hanna");
  await until(async () => (await backend.webhooks.deliveries(hook.id, { state: "delivered" }).all()).length === 1);
  assert.deepEqual(got, [results[0]?.id]);
  await backend.webhooks.replay(hook.id, { cursor });
  await backend.webhooks.change(hook.id, { enabled: false });
  assert.notEqual((await backend.webhooks.rotate(hook.id)).secret, hook.secret);
  assert.equal((await backend.webhooks.list().all())[0]?.id, (await backend.webhooks.get(hook.id)).id);
  await assert.rejects(client(other.key).webhooks.get(hook.id), NotFound);
  await backend.webhooks.delete(hook.id);
});

test("a change of what changed meanwhile, bad input and too many calls are refused", async () => {
  const { memories } = backend.forUser("erin");
  const { memory_id, ...written } = await memories.write("Lives in Porto.");
  const ifMatch = etagOf(await memories.get(memory_id));
  await memories.pin(memory_id, true, { ifMatch });
  await assert.rejects(memories.supersede(memory_id, "Lives in Braga.", {}, { ifMatch }), PreconditionFailed);
  assert.throws(() => etagOf(written), TypeError);
  await assert.rejects(backend.webhooks.create("https://10.0.0.1/"), InvalidInput);
  await assert.rejects(
    memories.batch(Array.from({ length: 51 }, (_, number) => ({ text: `Keeps hive ${number}.` }))),
    (error) => error instanceof QuotaExceeded && Number(error.retryAfter) > 0,
  );
});

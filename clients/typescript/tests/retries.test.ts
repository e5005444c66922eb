// When a request is sent again, and when it is given up, against a server that answers as it is told.

import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import test, { type TestContext } from "node:test";

import { ConnectionFailed, MemoryHub, QuotaExceeded, ServerError, TimedOut, UnexpectedAnswer } from "../src/index.js";

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** A client of a server that gives these answers in turn, and the requests that came. */
async function answered(t: TestContext, handlers: Handler[], timeout = 5_000) {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    const handler = handlers[Math.min(requests.length, handlers.length - 1)];
    requests.push(request);
    handler?.(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const retries = { first: 1, longest: 2 };
  return { memory: new MemoryHub({ url: `http://127.0.0.1:${port}/`, key: "mh_test", timeout, retries }), requests };
}

const json = (status: number, body: object, headers: Record<string, string> = {}): Handler => (_, response) =>
  void response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(body));
const broken: Handler = (request) => request.socket.destroy();
const silent: Handler = () => {};
const keys = (requests: IncomingMessage[]) => new Set(requests.map((each) => each.headers["idempotency-key"]));

test("a change is sent again with the same key until it is answered", async (t) => {
  const busy = json(409, { type: "urn:memoryhub:problem:request-in-flight" }, { "Retry-After": "0" });
  const { memory, requests } = await answered(t, [broken, json(503, {}), busy, json(201, { memory_id: "1" })]);
  assert.equal((await memory.memories.write("Keeps bees.")).memory_id, "1");
  assert.equal(requests.length, 4);
  assert.ok(keys(requests).size === 1 && !keys(requests).has(undefined));
});

test("each change has a key of its own, or the caller's, and a read has none", async (t) => {
  const { memory, requests } = await answered(t, [json(200, {})]);
  await memory.memories.write("One.");
  await memory.memories.write("Two.");
  await memory.memories.write("Three.", {}, { idempotencyKey: "mine" });
  await memory.recall("Which?");
  const [first, second, third, recalled] = requests.map((each) => each.headers["idempotency-key"]);
  assert.ok(first && second && first !== second);
  assert.deepEqual([third, recalled], ["mine", undefined]);
});

test("what asks for more patience than the client has is not sent again", async (t) => {
  const { memory, requests } = await answered(t, [json(429, { detail: "Later." }, { "Retry-After": "3600" })]);
  await assert.rejects(memory.recall("Which?"), (error) => error instanceof QuotaExceeded && error.retryAfter === 3600);
  assert.equal(requests.length, 1);
});

test("a fault is not repeated, and a connection that stays broken is given up", async (t) => {
  const faulty = await answered(t, [(_, response) => void response.writeHead(500).end("<html>")]);
  await assert.rejects(faulty.memory.me(), ServerError);
  const { memory, requests } = await answered(t, [broken]);
  await assert.rejects(memory.me(), ConnectionFailed);
  assert.deepEqual([faulty.requests.length, requests.length], [1, 4]);
});

test("a server that says nothing, or breaks off a stream, is told apart from one that answers", async (t) => {
  const { memory } = await answered(t, [silent], 20);
  await assert.rejects(memory.me(), TimedOut);
  const page = await answered(t, [(_, response) => void response.end("<html>")]);
  await assert.rejects(page.memory.me(), UnexpectedAnswer);
  const stalled = await answered(t, [(_, response) => void response.write('data: {"type": "stage"}\n\n')], 200);
  await assert.rejects(async () => {
    for await (const event of stalled.memory.turns.stream("Hello.")) assert.equal(event.type, "stage");
  }, TimedOut);
});

test("a host that does not answer is named, and a malformed address, key, app, id or namespace is refused", async (t) => {
  const away = (host: string) => new MemoryHub({ url: `http://${host}/api/v1`, key: "mh_test", retries: { most: 0 } });
  for (const host of ["127.0.0.1:2", "localhost:2"])
    await assert.rejects(away(host).me(), new RegExp(`No answer from http://${host}: .*ECONNREFUSED.* Does the server run there`));
  const { memory } = await answered(t, [silent], 20);
  await assert.rejects(memory.me(), /^TimedOut: No answer from http:\/\/127\.0\.0\.1:\d+ within 20 ms\.$/);
  assert.throws(() => new MemoryHub({ url: "mhb_swapped", key: "http://127.0.0.1:8000" }), /begins with http(?!.*mhb_)/);
  assert.throws(() => new MemoryHub({ url: "http://127.0.0.1:8000", key: "" }), /mhb_/);
  assert.throws(() => new MemoryHub({ url: "http://127.0.0.1:8000", key: "mh_test", app: "é" }), /ASCII.*"é"/);
  await assert.rejects(memory.memories.forget(""), /^TypeError: memory_id is no id: ""/);
  assert.throws(() => memory.items.get("abc" as never, "key"), /^TypeError: A namespace .* give \["abc"\], or read\(id\)/);
});

test("the caller's signal ends a call and the pause before the next try", async (t) => {
  const { memory, requests } = await answered(t, [silent]);
  const reason = new Error("The user left.");
  const controller = new AbortController();
  const asked = memory.me({ signal: controller.signal });
  while (requests.length === 0) await new Promise((later) => setTimeout(later, 1));
  controller.abort(reason);
  await assert.rejects(asked, reason);
  assert.equal(requests.length, 1);
  const busy = await answered(t, [json(503, {}, { "Retry-After": "30" })]);
  await assert.rejects(busy.memory.me({ signal: AbortSignal.timeout(50) }), { name: "TimeoutError" });
  await assert.rejects(busy.memory.me({ signal: AbortSignal.abort(reason) }), reason);
});

test("events arrive as they are sent, however the bytes are cut", async (t) => {
  const whole = Buffer.from('data: {"type": "text_delta", "text": "Žofie"}\n\n: beat\n\ndata: {"type": "turn_failed"}\n\n');
  const { memory } = await answered(t, [
    async (_, response) => {
      for (const byte of whole) await new Promise((sent) => response.write(Buffer.of(byte), sent));
      response.end();
    },
  ]);
  const seen = [];
  for await (const event of memory.turns.stream("Hello.")) seen.push(event);
  assert.deepEqual(seen, [{ type: "text_delta", text: "Žofie" }, { type: "turn_failed" }]);
});

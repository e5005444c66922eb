/** Where requests are sent: addresses, headers, time limits, and when a request is sent again. */

import { ApiError, ConnectionFailed, refused, TimedOut, UnexpectedAnswer } from "./errors.js";
import { Pages, type Page } from "./pages.js";
import type { operations, paths } from "./schema.js";

export type Method = "get" | "post" | "put" | "patch" | "delete";

/** The addresses that take this method. */
export type Path<M extends Method> = { [P in keyof paths]: paths[P] extends Record<M, object> ? P : never }[keyof paths];

type Operation<M extends Method, P extends Path<M>> = paths[P] extends Record<M, infer O> ? O : never;
type Ok = 200 | 201 | 202;

/** The JSON of a successful answer. */
export type Answer<M extends Method, P extends Path<M>> =
  Operation<M, P> extends { responses: infer R }
    ? { [S in keyof R & Ok]: R[S] extends { content: { "application/json": infer A } } ? A : never }[keyof R & Ok]
    : never;

type Item<A> = A extends { results: (infer T)[] } ? T : never;

/** The parameters in the query of an operation. */
export type Query<O extends keyof operations> = NonNullable<operations[O]["parameters"]["query"]>;

type Parameters<O> = O extends { parameters: { path: infer P extends object } } ? { path: P } : { path?: never };
type Body<O> = O extends { requestBody?: { content: { "application/json": infer B } } } ? { body?: B } : { body?: never };

/** What a request says: the ids of its address, its query and its body. */
export type Contents<M extends Method, P extends Path<M>> = Parameters<Operation<M, P>> &
  Body<Operation<M, P>> & { query?: object; safe?: boolean };

/** Of one call. */
export interface CallOptions {
  /** Ends the call: it rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Milliseconds without an answer, or without another piece of a stream. */
  timeout?: number;
  /** By which the server knows a repeated request; without it each call has a new one. */
  idempotencyKey?: string;
  /** An `etagOf`: the change is made only if nobody changed the thing since; else it rejects with PreconditionFailed. */
  ifMatch?: string;
}

/** How often a request is sent again, and the times between, in milliseconds. */
export interface Retries {
  most: number;
  first: number;
  longest: number;
  /** Rather than wait longer than this for the server's Retry-After, the call fails. */
  patience: number;
}

export interface Settings {
  base: string;
  headers: Record<string, string>;
  query: Record<string, string>;
  retries: Retries;
  timeout: number;
  fetch: typeof fetch;
}

interface Request {
  url: string;
  init: RequestInit;
}

/** `Contents` of any operation. */
interface Loose {
  path?: object;
  query?: object;
  body?: unknown;
  file?: Upload;
  safe?: boolean;
}

/** A file as it is. */
export type Upload = string | Blob | ArrayBuffer | Uint8Array;

/** Reads an answer, and ends its deadline. */
type Read<T> = (answer: Response, deadline: Deadline) => Promise<T>;

// Statuses of requests that were not carried out, or that their Idempotency-Key protects.
const AGAIN = new Set([429, 503]);
// The answer to a repeated request while the first one is still carried out.
const IN_FLIGHT = "request-in-flight";

// Codes of Node for a host that was not reached.
const UNREACHED = new Set(["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "ENOTFOUND", "EAI_AGAIN"]);

const ETAGS = new WeakMap<object, string>();

/** The version of one thing as it was read by its id, for `ifMatch`. Throws a TypeError for other answers. */
export function etagOf(answer: object): string {
  const tag = ETAGS.get(answer);
  if (tag === undefined) throw new TypeError("This answer has no ETag: read the thing by its id.");
  return tag;
}

export class Transport {
  constructor(readonly settings: Settings) {}

  /** Read. */
  get<P extends Path<"get">>(path: P, contents: Contents<"get", P>, options?: CallOptions) {
    return this.#json("get", path, contents, options);
  }

  /** Read a list. */
  list<P extends Path<"get">>(path: P, contents: Contents<"get", P>, options?: CallOptions): Pages<Item<Answer<"get", P>>> {
    return new Pages(async (cursor) => {
      const page = await this.get(path, { ...contents, query: { ...contents.query, cursor } }, options);
      return page as Page<Item<Answer<"get", P>>>;
    });
  }

  /** Read by POST: it needs no Idempotency-Key. */
  ask<P extends Path<"post">>(path: P, contents: Contents<"post", P>, options?: CallOptions) {
    return this.#json("post", path, { ...contents, safe: true }, options);
  }

  /** Change something. */
  post<P extends Path<"post">>(path: P, contents: Contents<"post", P>, options?: CallOptions) {
    return this.#json("post", path, contents, options);
  }

  /** Store in place of what is there. */
  put<P extends Path<"put">>(path: P, contents: Contents<"put", P>, options?: CallOptions) {
    return this.#json("put", path, contents, options);
  }

  /** Send a file. */
  upload<P extends Path<"post">>(path: P, contents: Contents<"post", P> & { file: Upload }, options?: CallOptions) {
    return this.#json("post", path, contents, options);
  }

  /** Change fields. */
  patch<P extends Path<"patch">>(path: P, contents: Contents<"patch", P>, options?: CallOptions) {
    return this.#json("patch", path, contents, options);
  }

  /** Erase or revoke. */
  delete<P extends Path<"delete">>(path: P, contents: Contents<"delete", P>, options?: CallOptions) {
    return this.#json("delete", path, contents, options);
  }

  async #json<M extends Method, P extends Path<M>>(
    method: M,
    path: P,
    contents: Contents<M, P>,
    options: CallOptions = {},
  ): Promise<Answer<M, P>> {
    const read = async (answer: Response) => ({ text: await answer.text(), etag: answer.headers.get("ETag") });
    const { text, etag } = await this.#answered(this.#request(method, path, contents, options), options, whole(read));
    try {
      const found = JSON.parse(text) as Answer<M, P> & object;
      if (etag !== null) ETAGS.set(found, etag);
      return found;
    } catch (error) {
      throw new UnexpectedAnswer(`${path} did not answer in JSON; is it a memoryhub?`, { cause: error });
    }
  }

  /** The bytes of the answer. */
  async bytes<P extends Path<"get">>(path: P, contents: Contents<"get", P>, options: CallOptions = {}): Promise<ArrayBuffer> {
    return this.#answered(this.#request("get", path, contents, options), options, whole((answer) => answer.arrayBuffer()));
  }

  /** The server-sent events of the answer, as JSON. Leaving the loop hangs up. */
  async *events<P extends Path<"post">, E>(
    path: P,
    contents: Contents<"post", P>,
    options: CallOptions = {},
  ): AsyncGenerator<E, void, undefined> {
    const request = this.#request("post", path, contents, options, "text/event-stream");
    const { body, deadline } = await this.#answered(request, options, async (answer, deadline) => ({ body: answer.body, deadline }));
    try {
      if (body === null) throw new UnexpectedAnswer(`${path} answered without a stream.`);
      const reader = body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { done, value } = await deadline.within(reader.read());
        if (done) return;
        const lines = (rest + value).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) if (line.startsWith("data:")) yield JSON.parse(line.slice("data:".length)) as E;
      }
    } finally {
      deadline.hangUp();
    }
  }

  #request(method: Method, path: string, contents: Loose, options: CallOptions, accept = "application/json"): Request {
    const ids = contents.path ?? {};
    const address = path.replace(/\{(\w+)\}/g, (_, name: string) => inAddress(name, ids[name as keyof typeof ids]));
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries({ ...this.settings.query, ...contents.query }))
      if (value !== undefined && value !== null) query.set(name, Array.isArray(value) ? value.join(",") : String(value));
    const headers: Record<string, string> = { ...this.settings.headers, Accept: accept };
    if (method !== "get" && !contents.safe) {
      headers["Idempotency-Key"] = options.idempotencyKey ?? crypto.randomUUID();
      if (options.ifMatch !== undefined) headers["If-Match"] = options.ifMatch;
    }
    const init: RequestInit = { method: method.toUpperCase(), headers, credentials: "omit", redirect: "error" };
    if (contents.body !== undefined) {
      headers["Content-Type"] = "application/json";
      init.body = JSON.stringify(contents.body);
    } else if (contents.file !== undefined) {
      headers["Content-Type"] = "application/octet-stream";
      init.body = contents.file as BodyInit;
    }
    return { url: `${this.settings.base}${address}${query.size ? `?${query}` : ""}`, init };
  }

  /** What `read` makes of the answer. Every request is safe or has an Idempotency-Key, so that each may be repeated. */
  async #answered<T>(request: Request, options: CallOptions, read: Read<T>): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      const deadline = new Deadline(new URL(request.url).origin, options.timeout ?? this.settings.timeout, options.signal);
      let failure: ApiError | ConnectionFailed;
      try {
        const answer = await deadline.within(this.settings.fetch(request.url, { ...request.init, signal: deadline.signal }));
        if (answer.ok) return await read(answer, deadline);
        failure = refused(answer.status, answer.headers, await deadline.within(answer.text()));
      } catch (error) {
        deadline.hangUp();
        if (!(error instanceof ConnectionFailed)) throw error;
        failure = error;
      }
      deadline.hangUp();
      const pause = this.#pause(failure, attempt);
      if (pause === undefined) throw failure;
      await slept(pause, options.signal);
    }
  }

  /** Milliseconds to wait after this attempt (from 0); undefined: give up. */
  #pause(failure: ApiError | ConnectionFailed, attempt: number): number | undefined {
    const { most, first, longest, patience } = this.settings.retries;
    if (attempt >= most) return undefined;
    const backoff = Math.min(first * 2 ** attempt, longest) * (0.5 + Math.random() / 2);
    if (failure instanceof ConnectionFailed) return backoff;
    if (!AGAIN.has(failure.status) && failure.type !== IN_FLIGHT) return undefined;
    if (failure.retryAfter === undefined) return backoff;
    return failure.retryAfter * 1000 > patience ? undefined : failure.retryAfter * 1000;
  }
}

/** The time within which each part of an answer has to arrive, and the caller's own signal. */
class Deadline {
  readonly #controller = new AbortController();
  readonly #stop = () => this.#controller.abort(this.caller?.reason);

  constructor(
    readonly host: string,
    readonly milliseconds: number,
    readonly caller: AbortSignal | undefined,
  ) {
    if (caller?.aborted) this.#stop();
    else caller?.addEventListener("abort", this.#stop);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The value of a part. Rejects with the caller's reason, TimedOut or ConnectionFailed. */
  async within<T>(part: Promise<T>): Promise<T> {
    const late = new TimedOut(`No answer from ${this.host} within ${this.milliseconds} ms.`);
    const timer = setTimeout(() => this.#controller.abort(late), this.milliseconds);
    try {
      return await part;
    } catch (error) {
      if (this.caller?.aborted) throw this.caller.reason;
      if (this.signal.aborted) throw this.signal.reason;
      throw new ConnectionFailed(`No answer from ${this.host}: ${reason(error)}`, { cause: error });
    } finally {
      clearTimeout(timer);
    }
  }

  /** Close the connection if the answer was not read whole. */
  hangUp(): void {
    this.caller?.removeEventListener("abort", this.#stop);
    this.#controller.abort();
  }
}

function whole<T>(read: (answer: Response) => Promise<T>): Read<T> {
  return (answer, deadline) => deadline.within(read(answer)).finally(() => deadline.hangUp());
}

/** Why a fetch failed. Node tells it in the cause, which has no message if a name has several addresses. */
function reason(error: unknown): string {
  const cause: unknown = error instanceof Error ? (error.cause ?? error) : error;
  if (!(cause instanceof Error)) return String(cause);
  const { code, message, name } = cause as Error & { code?: string };
  const asks = UNREACHED.has(code ?? "") ? ". Does the server run there?" : "";
  return `${message || code || name}${asks}`;
}

/** An id as it stands in an address, where an empty one would name a list. */
function inAddress(name: string, id: unknown): string {
  if (typeof id !== "string" || id === "") throw new TypeError(`${name} is no id: ${JSON.stringify(id)}.`);
  return encodeURIComponent(id);
}

/** Methods about one noun, of one client. */
export class Resource {
  constructor(protected readonly api: Transport) {}
}

/** Resolves after a pause; rejects with the signal's reason. */
export function slept(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}

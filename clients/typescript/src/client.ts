/** `MemoryHub`: what an integration calls most, and the resources. */

import { Members, Tokens } from "./resources/accounts.js";
import { Items } from "./resources/items.js";
import { Consolidation, Operations, Reviews } from "./resources/learning.js";
import { type Filters, ForgetProposals, Memories } from "./resources/memories.js";
import { Sessions, Turns, WorkingMemories } from "./resources/sessions.js";
import { Audit, Erasures, Holds, OwnErasure, Policies, TenantAudit } from "./resources/tenant.js";
import { Events, Webhooks } from "./resources/webhooks.js";
import type { ContextRequest, ConversationRequest, MessageRequest, MessagesRequest, RecallRequest } from "./schema.js";
import { type CallOptions, type Query, type Retries, Transport } from "./transport.js";

export interface MemoryHubOptions {
  /** Such as `https://memory.example.org`. */
  url: string;
  /** A backend key (`mhb_…`) or a token of one member (`mh_…`). */
  key: string;
  /** The user of yours for whom a backend key acts; see `forUser`. */
  userId?: string;
  /** Which of your agents calls. */
  app?: string;
  /** Milliseconds without an answer, or without another piece of a stream: 90,000 unless said. */
  timeout?: number;
  retries?: Partial<Retries>;
  fetch?: typeof fetch;
}

// A consolidation or an answer of a model may take a minute.
const TIMEOUT = 90_000;
const RETRIES: Retries = { most: 3, first: 500, longest: 8_000, patience: 60_000 };
// What fits a header of the server; other ids go into the query.
const FITS_HEADER = /^[!-+\--~]+$/;
const KEY = /^[!-~]+$/;
const APP = /^[ -~]*$/;

/** A client for one key: `new MemoryHub({ url: "https://memory.example.org", key })`. */
export class MemoryHub {
  readonly memories: Memories;
  readonly forgetProposals: ForgetProposals;
  readonly items: Items;
  readonly sessions: Sessions;
  readonly workingMemory: WorkingMemories;
  readonly turns: Turns;
  readonly consolidation: Consolidation;
  readonly reviews: Reviews;
  readonly operations: Operations;
  readonly members: Members;
  readonly tokens: Tokens;
  readonly ownErasure: OwnErasure;
  readonly events: Events;
  readonly webhooks: Webhooks;
  readonly audit: Audit;
  readonly tenantAudit: TenantAudit;
  readonly policy: Policies;
  readonly erasures: Erasures;
  readonly holds: Holds;
  readonly #api: Transport;
  readonly #options: MemoryHubOptions;

  constructor(options: MemoryHubOptions) {
    const { url, key, userId, app } = options;
    if (!/^https?:\/\/[^/]/.test(url))
      throw new TypeError("The address begins with http:// or https://, as in http://127.0.0.1:8000.");
    if (!KEY.test(key ?? ""))
      throw new TypeError("The key is empty or no key: give a backend key (mhb_…) or a member's token (mh_…).");
    if (!APP.test(app ?? ""))
      throw new TypeError(`The app is sent in a header, so it may hold ASCII characters only, not ${JSON.stringify(app)}.`);
    const inHeader = userId !== undefined && FITS_HEADER.test(userId);
    const api = new Transport({
      base: url.replace(/\/+$/, "").replace(/\/api\/v1$/, ""),
      headers: {
        Authorization: `Bearer ${key}`,
        ...(inHeader && { "X-Memoryhub-User": userId }),
        ...(app && { "X-Memoryhub-App": app }),
      },
      query: userId !== undefined && !inHeader ? { user_id: userId } : {},
      retries: { ...RETRIES, ...options.retries },
      timeout: options.timeout ?? TIMEOUT,
      fetch: options.fetch ?? ((...request) => fetch(...request)),
    });
    this.#options = options;
    this.#api = api;
    this.memories = new Memories(api);
    this.forgetProposals = new ForgetProposals(api);
    this.items = new Items(api);
    this.sessions = new Sessions(api);
    this.workingMemory = new WorkingMemories(api);
    this.turns = new Turns(api);
    this.consolidation = new Consolidation(api);
    this.reviews = new Reviews(api);
    this.operations = new Operations(api);
    this.members = new Members(api);
    this.tokens = new Tokens(api);
    this.ownErasure = new OwnErasure(api);
    this.events = new Events(api);
    this.webhooks = new Webhooks(api);
    this.audit = new Audit(api);
    this.tenantAudit = new TenantAudit(api);
    this.policy = new Policies(api);
    this.erasures = new Erasures(api);
    this.holds = new Holds(api);
  }

  /** The same client acting for a user of yours (with a backend key). */
  forUser(userId: string): MemoryHub {
    return new MemoryHub({ ...this.#options, userId });
  }

  /**
   * Store the messages of one or more turns of your agent, in order, and learn from what users said.
   *
   * `session` is your own id of the conversation. `learn`: `background` (the default), `now` or `off`.
   */
  messages(messages: MessageRequest[], fields: Omit<MessagesRequest, "messages"> = {}, options?: CallOptions) {
    return this.#api.post("/api/v1/messages", { body: { ...fields, messages } }, options);
  }

  /** Store up to 100 conversations in this order, each with its own result; one that is refused stops no other. */
  messagesBatch(conversations: ConversationRequest[], options?: CallOptions) {
    return this.#api.post("/api/v1/messages/batch", { body: { conversations } }, options);
  }

  /** Read a text for the prompt of your agent: what is known of the user, and what bears on `query`. */
  context(query: string, fields: Omit<ContextRequest, "query"> = {}, options?: CallOptions) {
    return this.#api.ask("/api/v1/context", { body: { ...fields, query } }, options);
  }

  /** Recall the memories that bear on `query`, best first; with `as_of`, those that were believed then. */
  recall(query: string, fields: Omit<RecallRequest, "query" | "filters"> & { filters?: Filters } = {}, options?: CallOptions) {
    return this.#api.ask("/api/v1/recall", { body: { ...fields, query } }, options);
  }

  /** Read the tenant, the member, the token, its scopes and the limits of use. */
  me(options?: CallOptions) {
    return this.#api.get("/api/v1/me", {}, options);
  }

  /** Read the versions of the API and of the server. */
  version(options?: CallOptions) {
    return this.#api.get("/api/v1/version", {}, options);
  }

  /** List when staff looked at the owner's memory, latest first. */
  looks(query: Omit<Query<"looks_list">, "cursor"> = {}, options?: CallOptions) {
    return this.#api.list("/api/v1/looks", { query }, options);
  }
}

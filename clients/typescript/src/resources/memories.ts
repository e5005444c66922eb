/** Memories, and proposals to forget some. */

import type {
  CatalogEntryRequest,
  ConfirmRequest,
  CorrectRequest,
  EpisodeRequest,
  FactRequest,
  MemoryRequest,
  OutcomeRequest,
  PlaybookRequest,
  PromoteRequest,
  RestoreRequest,
  RetireRequest,
  SupersedeRequest,
  UndoRequest,
} from "../schema.js";
import { type CallOptions, type Query, Resource, type Upload } from "../transport.js";

/** A tree such as `{field: "metadata.trip.to", op: "eq", value: "Lisbon"}`, joined by `and`, `or` and `not`. */
export type Filters =
  | { field: string; op: "eq" | "ne" | "in" | "nin" | "gt" | "gte" | "lt" | "lte" | "exists" | "contains"; value: unknown }
  | { and: Filters[] }
  | { or: Filters[] }
  | { not: Filters };

/** The owner's memories. */
export class Memories extends Resource {
  /** Store a fact. It merges into an equal one, and supersedes the current one with the same `key`. */
  write(text: string, fields: Omit<FactRequest, "kind" | "text"> = {}, options?: CallOptions) {
    return this.api.post("/api/v1/memories", { body: { ...fields, kind: "semantic", text } }, options);
  }

  /** Store a procedure that works: a title, with steps or a text. */
  writePlaybook(title: string, fields: Omit<PlaybookRequest, "kind" | "title"> = {}, options?: CallOptions) {
    return this.api.post("/api/v1/memories", { body: { ...fields, kind: "procedural", title } }, options);
  }

  /** Store a message of a session, verbatim. */
  writeEpisode(text: string, fields: Omit<EpisodeRequest, "kind" | "text">, options?: CallOptions) {
    return this.api.post("/api/v1/memories", { body: { ...fields, kind: "episodic", text } }, options);
  }

  /** Store knowledge that the tenant shares; for administrators. */
  writeCatalogEntry(fields: Omit<CatalogEntryRequest, "kind">, options?: CallOptions) {
    return this.api.post("/api/v1/memories", { body: { ...fields, kind: "catalog" } }, options);
  }

  /** Store up to 1,000 memories in this order, each with a result of its own; one that is refused stops no other. */
  batch(memories: MemoryRequest[], options?: CallOptions) {
    return this.api.post("/api/v1/memories/batch", { body: { memories } }, options);
  }

  /**
   * List memories of one kind (facts): current ones unless `status` says otherwise, or those believed at `as_of`.
   *
   * `limit` is the size of a page.
   */
  list(query: Omit<Query<"memories_list">, "filters" | "cursor"> & { filters?: Filters } = {}, options?: CallOptions) {
    const filters = query.filters && JSON.stringify(query.filters);
    return this.api.list("/api/v1/memories", { query: { ...query, filters } }, options);
  }

  /** Read a memory of any kind and status. */
  get(memory_id: string, options?: CallOptions) {
    return this.api.get("/api/v1/memories/{memory_id}", { path: { memory_id } }, options);
  }

  /** Read the history of a memory: all states linked by supersession or undo, oldest first. */
  chain(memory_id: string, options?: CallOptions) {
    return this.api.get("/api/v1/memories/{memory_id}/chain", { path: { memory_id } }, options);
  }

  /** State the right text of a memory that was wrong; the old one stays in the history as never true. */
  correct(memory_id: string, text: string, fields: Omit<CorrectRequest, "text"> = {}, options?: CallOptions) {
    return this.api.post("/api/v1/memories/{memory_id}/correct", { path: { memory_id }, body: { ...fields, text } }, options);
  }

  /** Replace a fact, and those in `also_ids`, by one that is true now. */
  supersede(memory_id: string, text: string, fields: Omit<SupersedeRequest, "text"> = {}, options?: CallOptions) {
    return this.api.post("/api/v1/memories/{memory_id}/supersede", { path: { memory_id }, body: { ...fields, text } }, options);
  }

  /** End a memory without a successor; with `contradiction: "harsh"` it never was true. */
  retire(memory_id: string, fields: RetireRequest = {}, options?: CallOptions) {
    return this.api.post("/api/v1/memories/{memory_id}/retire", { path: { memory_id }, body: fields }, options);
  }

  /** Bring back the memory that this one replaced, or this one if it was replaced or retired. */
  undo(memory_id: string, fields: UndoRequest = {}, options?: CallOptions) {
    return this.api.post("/api/v1/memories/{memory_id}/undo", { path: { memory_id }, body: fields }, options);
  }

  /** Replace the metadata of a fact or playbook. */
  describe(memory_id: string, metadata: Record<string, unknown>, options?: CallOptions) {
    return this.api.patch("/api/v1/memories/{memory_id}", { path: { memory_id }, body: { metadata } }, options);
  }

  /** Copy a memory into a wider scope. */
  promote(memory_id: string, fields: PromoteRequest, options?: CallOptions) {
    return this.api.post("/api/v1/memories/{memory_id}/promote", { path: { memory_id }, body: fields }, options);
  }

  /** Put a fact into every prompt, or stop. */
  pin(memory_id: string, pinned = true, options?: CallOptions) {
    return this.api.post("/api/v1/memories/{memory_id}/pin", { path: { memory_id }, body: { pinned } }, options);
  }

  /** Say that a fact still holds. */
  confirm(memory_id: string, fields: ConfirmRequest = {}, options?: CallOptions) {
    return this.api.post("/api/v1/memories/{memory_id}/confirm", { path: { memory_id }, body: fields }, options);
  }

  /** List facts that nobody has confirmed for long, in one page. */
  toConfirm(query: Query<"memories_review"> = {}, options?: CallOptions) {
    return this.api.list("/api/v1/memories/review", { query }, options);
  }

  /** Undo an archival or eviction. */
  restore(memory_id: string, fields: RestoreRequest = {}, options?: CallOptions) {
    return this.api.post("/api/v1/memories/{memory_id}/restore", { path: { memory_id }, body: fields }, options);
  }

  /** Say that a playbook worked or failed; `refined_steps` replace its steps. */
  recordOutcome(memory_id: string, fields: OutcomeRequest, options?: CallOptions) {
    return this.api.post("/api/v1/memories/{memory_id}/outcome", { path: { memory_id }, body: fields }, options);
  }

  /** Accept a playbook that an agent proposed. Needs `memory:decide`. */
  accept(memory_id: string, options?: CallOptions) {
    return this.api.post("/api/v1/memories/{memory_id}/accept", { path: { memory_id } }, options);
  }

  /** Erase a memory for good, at once. Needs `memory:decide`; what is no longer true is retired instead. */
  forget(memory_id: string, query: Query<"memories_forget"> = {}, options?: CallOptions) {
    return this.api.delete("/api/v1/memories/{memory_id}", { path: { memory_id }, query }, options);
  }

  /**
   * Erase all memories with the conversations, or the memories that `filters` matches. Needs `memory:decide`.
   *
   * First count them with `dry_run`; then repeat it with the `confirm` of that count until `complete`.
   */
  forgetAll(query: Omit<Query<"memories_forget_all">, "filters"> & { filters?: Filters } = {}, options?: CallOptions) {
    const filters = query.filters && JSON.stringify(query.filters);
    return this.api.delete("/api/v1/memories", { query: { ...query, filters } }, options);
  }

  /** Read the own episodes, facts and playbooks in every status, as JSON lines. Not for backend keys. */
  async export(options?: CallOptions): Promise<string> {
    return new TextDecoder().decode(await this.api.bytes("/api/v1/export", {}, options));
  }

  /**
   * Import an export of memoryhub or another product; with `dry_run` say what would come.
   *
   * Repeat it until `complete`: nothing is added twice.
   */
  import(file: Upload, query: Omit<Query<"import">, "app"> = {}, options?: CallOptions) {
    return this.api.upload("/api/v1/import", { query, file }, options);
  }
}

/** Forgetting in two steps: an agent proposes, the member decides (`memory:decide`). */
export class ForgetProposals extends Resource {
  /** Propose to forget these memories; nothing is hidden or erased yet. */
  create(memory_ids: string[], options?: CallOptions) {
    return this.api.post("/api/v1/forget-proposals", { body: { memory_ids } }, options);
  }

  /** Read what would go, what stays, and the state. */
  get(proposal_id: string, options?: CallOptions) {
    return this.api.get("/api/v1/forget-proposals/{proposal_id}", { path: { proposal_id } }, options);
  }

  /** Hide the memories at once; they are erased at `erase_at`. */
  confirm(proposal_id: string, options?: CallOptions) {
    return this.api.post("/api/v1/forget-proposals/{proposal_id}/confirm", { path: { proposal_id } }, options);
  }

  /** Until `erase_at`: bring everything back as it was. */
  undo(proposal_id: string, options?: CallOptions) {
    return this.api.post("/api/v1/forget-proposals/{proposal_id}/undo", { path: { proposal_id } }, options);
  }

  /** Close the proposal; nothing changes. */
  keep(proposal_id: string, options?: CallOptions) {
    return this.api.post("/api/v1/forget-proposals/{proposal_id}/keep", { path: { proposal_id } }, options);
  }
}

/** Sessions, their turns, and the working memory of the agent. */

import type { SessionEndRequest, SessionRequest, TurnEvent, TurnRequest, WorkingMemoryRequest } from "../schema.js";
import { type CallOptions, type Query, Resource } from "../transport.js";

/** The owner's conversations. */
export class Sessions extends Resource {
  /** Open a session. */
  create(fields: SessionRequest = {}, options?: CallOptions) {
    return this.api.post("/api/v1/sessions", { body: fields }, options);
  }

  /** List the sessions, latest first. */
  list(query: Omit<Query<"sessions_list">, "cursor"> = {}, options?: CallOptions) {
    return this.api.list("/api/v1/sessions", { query }, options);
  }

  /** Read a session with its latest turns, or those before the turn `before`. */
  get(session_id: string, query: Query<"sessions_read"> = {}, options?: CallOptions) {
    return this.api.get("/api/v1/sessions/{session_id}", { path: { session_id }, query }, options);
  }

  /** Give a session another title. */
  rename(session_id: string, title: string, options?: CallOptions) {
    return this.api.patch("/api/v1/sessions/{session_id}", { path: { session_id }, body: { title } }, options);
  }

  /** Erase a session with its episodes for good, at once. Needs `memory:decide`. */
  forget(session_id: string, query: Query<"sessions_forget"> = {}, options?: CallOptions) {
    return this.api.delete("/api/v1/sessions/{session_id}", { path: { session_id }, query }, options);
  }

  /** Search the turns, tools and entries of a session, in one page; without `q`, list its latest entries. */
  search(session_id: string, query: Query<"session_entries"> = {}, options?: CallOptions) {
    return this.api.list("/api/v1/sessions/{session_id}/entries", { path: { session_id }, query }, options);
  }

  /** End the task: important entries become memories, and the working memory is emptied. */
  end(session_id: string, fields: SessionEndRequest = {}, options?: CallOptions) {
    return this.api.post("/api/v1/sessions/{session_id}/end", { path: { session_id }, body: fields }, options);
  }
}

/** The agent's working memory of a session. */
export class WorkingMemories extends Resource {
  /** Read goal, plan, constraints, observations and scratchpad. */
  get(session_id: string, options?: CallOptions) {
    return this.api.get("/api/v1/sessions/{session_id}/working-memory", { path: { session_id } }, options);
  }

  /** Overwrite the slots that are named; an empty value clears one. */
  set(session_id: string, slots: WorkingMemoryRequest, options?: CallOptions) {
    return this.api.patch("/api/v1/sessions/{session_id}/working-memory", { path: { session_id }, body: slots }, options);
  }
}

export type TurnOptions = Omit<TurnRequest, "message"> & {
  /** Without one the turn opens a session. */
  session_id?: string;
};

/** Turns with memoryhub's own agent. */
export class Turns extends Resource {
  /**
   * Say something, and wait for the whole answer.
   *
   * If it fails (ModelUnavailable), send the same `turn_id` with `retry: true` for another answer.
   */
  create(message: string, turn: TurnOptions = {}, options?: CallOptions) {
    const { session_id, ...body } = said(message, turn);
    if (session_id === undefined) return this.api.post("/api/v1/turns", { body }, options);
    return this.api.post("/api/v1/sessions/{session_id}/turns", { path: { session_id }, body }, options);
  }

  /** Say something, and read the answer by `for await` while it is made; leaving the loop cuts it off. */
  stream(message: string, turn: TurnOptions = {}, options?: CallOptions): AsyncGenerator<TurnEvent, void, undefined> {
    const { session_id, ...body } = said(message, turn);
    if (session_id === undefined) return this.api.events("/api/v1/turns", { body }, options);
    return this.api.events("/api/v1/sessions/{session_id}/turns", { path: { session_id }, body }, options);
  }
}

/** With an id of its own, a turn that is sent again adds nothing. */
function said(message: string, turn: TurnOptions) {
  return { turn_id: crypto.randomUUID(), ...turn, message };
}

/** How memories come to be: consolidation, operations and reviews. */

import { TimedOut } from "../errors.js";
import type { OperationDetailResponse, ReviewDecideRequest, ReviewUndoRequest } from "../schema.js";
import { type CallOptions, type Query, Resource, slept } from "../transport.js";

/** Runs that turn episodes into facts and playbooks. */
export class Consolidation extends Resource {
  /** Read the oldest waiting batch now; with a model this may take a minute. */
  run(options?: CallOptions) {
    return this.api.post("/api/v1/consolidation", {}, options);
  }

  /** List the runs, latest first. */
  list(query: Omit<Query<"runs_list">, "cursor"> = {}, options?: CallOptions) {
    return this.api.list("/api/v1/consolidation", { query }, options);
  }

  /** Read a run with its decisions and their reasons. */
  get(run_id: string, options?: CallOptions) {
    return this.api.get("/api/v1/consolidation/{run_id}", { path: { run_id } }, options);
  }

  /** Read the episodes of an ended run again. */
  rerun(run_id: string, options?: CallOptions) {
    return this.api.post("/api/v1/consolidation/{run_id}/rerun", { path: { run_id } }, options);
  }
}

/** Learning that `messages` asked for. */
export class Operations extends Resource {
  /** List the operations, latest first. */
  list(query: Omit<Query<"operations_list">, "cursor"> = {}, options?: CallOptions) {
    return this.api.list("/api/v1/operations", { query }, options);
  }

  /** Read the state, the decisions, and the memories that they stored. */
  get(operation_id: string, options?: CallOptions) {
    return this.api.get("/api/v1/operations/{operation_id}", { path: { operation_id } }, options);
  }

  /** Read it once it is done, has failed or is cancelled. Rejects with TimedOut after `within` milliseconds. */
  async wait(operation_id: string, within = 60_000, options: CallOptions = {}): Promise<OperationDetailResponse> {
    const end = Date.now() + within;
    for (let pause = 100; ; pause = Math.min(pause * 2, 2_000)) {
      const operation = await this.get(operation_id, options);
      if (operation.state !== "waiting" && operation.state !== "running") return operation;
      if (Date.now() + pause > end) throw new TimedOut(`The operation is still ${operation.state}. ${operation.error}`.trim());
      await slept(pause, options.signal);
    }
  }

  /** Learn nothing more from its messages; what was learned stays. */
  cancel(operation_id: string, options?: CallOptions) {
    return this.api.post("/api/v1/operations/{operation_id}/cancel", { path: { operation_id } }, options);
  }

  /** Try an operation that waits, failed or was cancelled again, in the background. */
  retry(operation_id: string, options?: CallOptions) {
    return this.api.post("/api/v1/operations/{operation_id}/retry", { path: { operation_id } }, options);
  }
}

/** Questions about contradicting or useless memories, for a person to decide. */
export class Reviews extends Resource {
  /** List open reviews, oldest first; or decided ones, latest first. */
  list(query: Omit<Query<"reviews_list">, "cursor"> = {}, options?: CallOptions) {
    return this.api.list("/api/v1/reviews", { query }, options);
  }

  /** Read a review with its memories as they are now. */
  get(review_id: string, options?: CallOptions) {
    return this.api.get("/api/v1/reviews/{review_id}", { path: { review_id } }, options);
  }

  /** Decide a review. Needs `memory:decide`. */
  decide(review_id: string, decision: ReviewDecideRequest, options?: CallOptions) {
    return this.api.post("/api/v1/reviews/{review_id}/decide", { path: { review_id }, body: decision }, options);
  }

  /** Undo a decision: the review is open again. Needs `memory:decide`. */
  undo(review_id: string, fields: ReviewUndoRequest = {}, options?: CallOptions) {
    return this.api.post("/api/v1/reviews/{review_id}/undo", { path: { review_id }, body: fields }, options);
  }
}

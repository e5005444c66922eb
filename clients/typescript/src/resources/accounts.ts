/** Members and tokens, for a backend key or a token that may administer them. */

import type { MemberChangeRequest, MemberRequest, RotationRequest, TokenRequest } from "../schema.js";
import { type CallOptions, type Query, Resource } from "../transport.js";

/** The members for whom backend keys of the tenant act, named by the tenant's own ids. */
export class Members extends Resource {
  /** List the members, oldest first. */
  list(query: Omit<Query<"members_list">, "cursor"> = {}, options?: CallOptions) {
    return this.api.list("/api/v1/members", { query }, options);
  }

  /** Make a member; one that exists is answered as it is. */
  create(user_id: string, fields: Omit<MemberRequest, "user_id"> = {}, options?: CallOptions) {
    return this.api.post("/api/v1/members", { body: { ...fields, user_id } }, options);
  }

  /** Read a member, active or deactivated. */
  get(user_id: string, options?: CallOptions) {
    return this.api.get("/api/v1/members/{user_id}", { path: { user_id } }, options);
  }

  /** Rename, deactivate or reactivate a member. */
  change(user_id: string, fields: MemberChangeRequest, options?: CallOptions) {
    return this.api.patch("/api/v1/members/{user_id}", { path: { user_id }, body: fields }, options);
  }

  /** Erase all conversations and memories for good; the member stays. Repeat it until `complete`. */
  forgetMemories(user_id: string, options?: CallOptions) {
    return this.api.delete("/api/v1/members/{user_id}/memories", { path: { user_id } }, options);
  }

  /** Ask for the erasure of everything that is kept of a member. */
  erase(user_id: string, reason: string, options?: CallOptions) {
    return this.api.post("/api/v1/members/{user_id}/erase", { path: { user_id }, body: { reason } }, options);
  }

  /** Read the latest request to erase a member. */
  erasure(user_id: string, options?: CallOptions) {
    return this.api.get("/api/v1/members/{user_id}/erase", { path: { user_id } }, options);
  }

  /** Ask for the whole memory of a member as a signed archive. */
  export(user_id: string, reason: string, options?: CallOptions) {
    return this.api.post("/api/v1/members/{user_id}/export", { path: { user_id }, body: { reason } }, options);
  }

  /** Read the archive of an approved request, a ZIP file; once. */
  download(user_id: string, options?: CallOptions) {
    return this.api.bytes("/api/v1/members/{user_id}/export", { path: { user_id } }, options);
  }
}

/** The caller's tokens; of a backend key that names nobody, the keys of its tenant. */
export class Tokens extends Resource {
  /** List tokens, latest first. */
  list(query: Omit<Query<"tokens_list">, "cursor"> = {}, options?: CallOptions) {
    return this.api.list("/api/v1/tokens", { query }, options);
  }

  /** Make a token; its secret is in this answer alone. */
  create(fields: TokenRequest, options?: CallOptions) {
    return this.api.post("/api/v1/tokens", { body: fields }, options);
  }

  /** Read a token, without its secret. */
  get(token_id: string, options?: CallOptions) {
    return this.api.get("/api/v1/tokens/{token_id}", { path: { token_id } }, options);
  }

  /** Give a token a new secret; the old one works for `grace_hours` more. */
  rotate(token_id: string, fields: RotationRequest = {}, options?: CallOptions) {
    return this.api.post("/api/v1/tokens/{token_id}/rotate", { path: { token_id }, body: fields }, options);
  }

  /** Revoke a token, and all that were made with it. */
  revoke(token_id: string, options?: CallOptions) {
    return this.api.delete("/api/v1/tokens/{token_id}", { path: { token_id } }, options);
  }
}

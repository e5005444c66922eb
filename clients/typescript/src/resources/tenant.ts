/** Audit logs, the memory policy, erasures and legal holds. `user_id` names a member. */

import type { DecisionRequest, HoldRequest, PolicyRequest } from "../schema.js";
import { type CallOptions, type Query, Resource } from "../transport.js";

interface OfMember {
  user_id?: string;
}

/** The audit log of the owner's memory. */
export class Audit extends Resource {
  /** List what happened to the memory and who looked, latest first; `action` such as `fact.*`. */
  list(query: Omit<Query<"audit_list">, "cursor"> = {}, options?: CallOptions) {
    return this.api.list("/api/v1/audit", { query }, options);
  }

  /** Read an event with what was written. */
  get(event_id: string, options?: CallOptions) {
    return this.api.get("/api/v1/audit/{event_id}", { path: { event_id } }, options);
  }

  /** Verify every event of the owner's chain now. */
  verify(options?: CallOptions) {
    return this.api.post("/api/v1/audit/verify", {}, options);
  }
}

/** The audit log of the tenant, or of one member. Needs `audit`. */
export class TenantAudit extends Resource {
  /** List events of the tenant and all its members, or of one, latest first. */
  list(query: Omit<Query<"tenant_audit_list">, "cursor"> & OfMember = {}, options?: CallOptions) {
    return this.api.list("/api/v1/tenant/audit", { query }, options);
  }

  /** Read an event with what was written. The reading is recorded, with the `reason` if the policy asks for one. */
  get(event_id: string, query: Query<"tenant_audit_read"> = {}, options?: CallOptions) {
    return this.api.get("/api/v1/tenant/audit/{event_id}", { path: { event_id }, query }, options);
  }

  /** Verify the chain of the tenant's own affairs now, or that of a member. */
  verify(query: OfMember = {}, options?: CallOptions) {
    return this.api.post("/api/v1/tenant/audit/verify", { query }, options);
  }
}

/** The tenant's memory policy. Needs `administer`. */
export class Policies extends Resource {
  /** Read what the tenant decided; null or empty where the default holds. */
  get(options?: CallOptions) {
    return this.api.get("/api/v1/tenant/policy", {}, options);
  }

  /** Change these decisions; the others stay. */
  change(changes: PolicyRequest, options?: CallOptions) {
    return this.api.patch("/api/v1/tenant/policy", { body: changes }, options);
  }
}

/** The erasure of everything that is kept of the owner. Needs `memory:decide`. */
export class OwnErasure extends Resource {
  /** Ask for it; it begins after the tenant's delay, once an administrator approved it, where there is one. */
  ask(reason: string, options?: CallOptions) {
    return this.api.post("/api/v1/me/erase", { body: { reason } }, options);
  }

  /** Read the latest request. */
  get(options?: CallOptions) {
    return this.api.get("/api/v1/me/erase", {}, options);
  }

  /** Withdraw the request, before it begins. */
  withdraw(options?: CallOptions) {
    return this.api.delete("/api/v1/me/erase", {}, options);
  }
}

/** The erasures of members. Needs `audit`; deciding needs an administrator with `administer`. */
export class Erasures extends Resource {
  /** List the erasures, latest first. */
  list(query: Omit<Query<"erasures_list">, "cursor"> = {}, options?: CallOptions) {
    return this.api.list("/api/v1/tenant/erasures", { query }, options);
  }

  /** Ask for the erasure of a member; approved at once unless it needs a second person. */
  create(user_id: string, reason: string, options?: CallOptions) {
    return this.api.post("/api/v1/tenant/erasures", { query: { user_id }, body: { reason } }, options);
  }

  /** Read the state of an erasure. */
  get(erasure_id: string, options?: CallOptions) {
    return this.api.get("/api/v1/tenant/erasures/{erasure_id}", { path: { erasure_id } }, options);
  }

  /** Approve an erasure, as another administrator than the one who asked. */
  approve(erasure_id: string, options?: CallOptions) {
    return this.api.post("/api/v1/tenant/erasures/{erasure_id}/approve", { path: { erasure_id } }, options);
  }

  /** Refuse an erasure, or withdraw one that has not begun. */
  withdraw(erasure_id: string, fields: DecisionRequest = {}, options?: CallOptions) {
    return this.api.post("/api/v1/tenant/erasures/{erasure_id}/withdraw", { path: { erasure_id }, body: fields }, options);
  }

  /** Read the signed receipt, once the erasure is done. */
  receipt(erasure_id: string, options?: CallOptions) {
    return this.api.get("/api/v1/tenant/erasures/{erasure_id}/receipt", { path: { erasure_id } }, options);
  }

  /** Check the signature of the receipt, and ask again whether anything of the member is left. */
  verify(erasure_id: string, options?: CallOptions) {
    return this.api.post("/api/v1/tenant/erasures/{erasure_id}/verify", { path: { erasure_id } }, options);
  }
}

/** Legal holds: nothing is erased or expires while one is in force. Needs `audit`; an administrator places them. */
export class Holds extends Resource {
  /** List the holds in force, or those that are over, latest first. */
  list(query: Omit<Query<"holds_list">, "cursor"> = {}, options?: CallOptions) {
    return this.api.list("/api/v1/tenant/holds", { query }, options);
  }

  /** Place a hold on a member (`user_id`) or on the whole tenant. */
  create({ user_id, ...body }: HoldRequest & OfMember, options?: CallOptions) {
    return this.api.post("/api/v1/tenant/holds", { query: { user_id }, body }, options);
  }

  /** Read a hold. */
  get(hold_id: string, options?: CallOptions) {
    return this.api.get("/api/v1/tenant/holds/{hold_id}", { path: { hold_id } }, options);
  }

  /** Release a hold; erasures that it stopped go on. */
  release(hold_id: string, fields: DecisionRequest = {}, options?: CallOptions) {
    return this.api.post("/api/v1/tenant/holds/{hold_id}/release", { path: { hold_id }, body: fields }, options);
  }
}

/** The feed of events, and webhooks. */

import type { ReplayRequest, WebhookChangeRequest, WebhookRequest, RotationRequest } from "../schema.js";
import { type CallOptions, type Query, Resource } from "../transport.js";

/** What happened: to the owner, or for a backend key that names nobody in its whole tenant. */
export class Events extends Resource {
  /** Read the events after a `cursor` or `since` a time. Keep `next_cursor`, and go on there, at once if `has_more`. */
  read(query: Query<"events_list"> = {}, options?: CallOptions) {
    return this.api.get("/api/v1/events", { query }, options);
  }
}

/** Addresses that get what happens in the tenant. Needs `events`. */
export class Webhooks extends Resource {
  /** List webhooks, oldest first. */
  list(query: Omit<Query<"webhooks_list">, "cursor"> = {}, options?: CallOptions) {
    return this.api.list("/api/v1/webhooks", { query }, options);
  }

  /** Have an address get what happens from now on: events of `types`, or all. Its secret is in this answer alone. */
  create(url: string, fields: Omit<WebhookRequest, "url"> = {}, options?: CallOptions) {
    return this.api.post("/api/v1/webhooks", { body: { ...fields, url } }, options);
  }

  /** Read a webhook, without its secret. */
  get(webhook_id: string, options?: CallOptions) {
    return this.api.get("/api/v1/webhooks/{webhook_id}", { path: { webhook_id } }, options);
  }

  /** Change a webhook, or enable it again. */
  change(webhook_id: string, fields: WebhookChangeRequest, options?: CallOptions) {
    return this.api.patch("/api/v1/webhooks/{webhook_id}", { path: { webhook_id }, body: fields }, options);
  }

  /** Delete a webhook, with what waits for it. */
  delete(webhook_id: string, options?: CallOptions) {
    return this.api.delete("/api/v1/webhooks/{webhook_id}", { path: { webhook_id } }, options);
  }

  /** Give a webhook a new secret; the old one signs, too, for `grace_hours` more. */
  rotate(webhook_id: string, fields: RotationRequest = {}, options?: CallOptions) {
    return this.api.post("/api/v1/webhooks/{webhook_id}/rotate", { path: { webhook_id }, body: fields }, options);
  }

  /** Send events again, `since` a time or after a `cursor` of the feed, each with the id that it had. */
  replay(webhook_id: string, fields: ReplayRequest, options?: CallOptions) {
    return this.api.post("/api/v1/webhooks/{webhook_id}/replay", { path: { webhook_id }, body: fields }, options);
  }

  /** List what was sent and what waits, latest first. */
  deliveries(webhook_id: string, query: Omit<Query<"webhooks_deliveries">, "cursor"> = {}, options?: CallOptions) {
    return this.api.list("/api/v1/webhooks/{webhook_id}/deliveries", { path: { webhook_id }, query }, options);
  }
}

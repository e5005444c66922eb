/** Items: a plain store of JSON under a namespace and a key, beside the memories. */

import type { ItemRequest, NamespacesRequest, SearchItemsRequest } from "../schema.js";
import { type CallOptions, type Query, Resource } from "../transport.js";
import type { Filters } from "./memories.js";

/** The owner's items. A namespace is a list of labels, from the outermost. */
export class Items extends Resource {
  /** Store any JSON in place of what is there; the history keeps that. */
  put(
    namespace: string[],
    key: string,
    value: unknown,
    fields: Omit<ItemRequest, "namespace" | "key" | "value"> = {},
    options?: CallOptions,
  ) {
    return this.api.put("/api/v1/items", { body: { ...fields, namespace, key, value } }, options);
  }

  /** Read an item. `refresh_ttl` starts its time to live anew. */
  get(namespace: string[], key: string, query: Pick<Query<"items_get">, "refresh_ttl"> = {}, options?: CallOptions) {
    return this.api.get("/api/v1/items", { query: { ...query, ...address(namespace, key) } }, options);
  }

  /** Read an item by its id. */
  read(item_id: string, options?: CallOptions) {
    return this.api.get("/api/v1/items/{item_id}", { path: { item_id } }, options);
  }

  /** Delete an item; its history stays. */
  delete(namespace: string[], key: string, query: Pick<Query<"items_delete">, "if_version"> = {}, options?: CallOptions) {
    return this.api.delete("/api/v1/items", { query: { ...query, ...address(namespace, key) } }, options);
  }

  /** Erase an item and its history for good, also one that was deleted. Needs `memory:decide`. */
  erase(item_id: string, query: Query<"items_erase"> = {}, options?: CallOptions) {
    return this.api.delete("/api/v1/items/{item_id}", { path: { item_id }, query }, options);
  }

  /** Search a namespace and those inside it: with `query` the best first, at most 100; else the latest first. */
  search(
    namespace_prefix: string[] = [],
    fields: Omit<SearchItemsRequest, "namespace_prefix" | "filters"> & { filters?: Filters } = {},
    options?: CallOptions,
  ) {
    return this.api.ask("/api/v1/items/search", { body: { ...fields, namespace_prefix } }, options);
  }

  /** List the namespaces that hold items, in order. `*` in `prefix` or `suffix` is any label. */
  namespaces(fields: NamespacesRequest = {}, options?: CallOptions) {
    return this.api.ask("/api/v1/items/namespaces", { body: fields }, options);
  }

  /** List the changes of an item, latest first; also of one that was deleted. */
  history(namespace: string[], key: string, query: Pick<Query<"items_history">, "limit"> = {}, options?: CallOptions) {
    return this.api.list("/api/v1/items/history", { query: { ...query, ...address(namespace, key) } }, options);
  }
}

function address(namespace: string[], key: string) {
  if (!Array.isArray(namespace))
    throw new TypeError(`A namespace is a list of labels: give [${JSON.stringify(namespace)}], or read(id) by an id.`);
  return { namespace: namespace.map(encodeURIComponent).join("/"), key };
}

/** The client of memoryhub. The types of requests, answers and events are those of its OpenAPI description. */

export { MemoryHub, type MemoryHubOptions } from "./client.js";
export {
  ApiError,
  Blocked,
  Conflict,
  ConnectionFailed,
  Forbidden,
  InvalidInput,
  MemoryHubError,
  ModelUnavailable,
  NotAuthenticated,
  NotFound,
  PreconditionFailed,
  QuotaExceeded,
  ServerError,
  TimedOut,
  Unavailable,
  UnexpectedAnswer,
} from "./errors.js";
export { type Page, Pages } from "./pages.js";
export type { Filters } from "./resources/memories.js";
export type { TurnOptions } from "./resources/sessions.js";
export type * from "./schema.js";
export { type CallOptions, etagOf, type Retries, type Upload } from "./transport.js";

/** What can go wrong: no answer, or one that refuses (RFC 9457). */

import type { FieldError, Problem } from "./schema.js";

const TYPE_PREFIX = "urn:memoryhub:problem:";

/** The base of all errors of this client. */
export class MemoryHubError extends Error {
  override readonly name: string = this.constructor.name;
}

/** No whole answer arrived: no connection, or it broke. */
export class ConnectionFailed extends MemoryHubError {}

/** No answer arrived in time. */
export class TimedOut extends ConnectionFailed {}

/** The answer is not JSON. */
export class UnexpectedAnswer extends MemoryHubError {}

/** The server refused. `type` is the name of the problem, such as `conflict`; `problem` is all that it said. */
export class ApiError extends MemoryHubError {
  readonly type: string;
  readonly detail: string;
  readonly errors: FieldError[];
  readonly requestId: string | undefined;

  constructor(
    readonly status: number,
    readonly problem: Partial<Problem>,
    /** Seconds to wait before another try, if the server said so. */
    readonly retryAfter: number | undefined,
  ) {
    const type = (problem.type ?? "").replace(TYPE_PREFIX, "");
    super(problem.detail ? `${status} ${type}: ${problem.detail}` : `${status}`);
    this.type = type;
    this.detail = problem.detail ?? "";
    this.errors = problem.errors ?? [];
    this.requestId = problem.request_id;
  }
}

/** 400: a field is missing, unknown or wrong; `errors` say which. */
export class InvalidInput extends ApiError {}

/** 401: the key is missing, unknown, expired or revoked. */
export class NotAuthenticated extends ApiError {}

/** 403: the key lacks a scope. */
export class Forbidden extends ApiError {}

/** 404: there is no such thing, or it is not yours. */
export class NotFound extends ApiError {}

/** 409: the thing is not in the state that the call assumes. */
export class Conflict extends ApiError {}

/** 412: the thing changed since it was read. */
export class PreconditionFailed extends ApiError {}

/** 422: the text holds a value that is never stored; `problem.spots` say where. */
export class Blocked extends ApiError {}

/** 429: a limit of use is reached; wait for `retryAfter` seconds. */
export class QuotaExceeded extends ApiError {}

/** 5xx: the server failed; name the `requestId` when you report it. */
export class ServerError extends ApiError {}

/** 502: the language model gave no whole answer. */
export class ModelUnavailable extends ServerError {}

/** 503: a part that is needed does not answer; try again after `retryAfter` seconds. */
export class Unavailable extends ServerError {}

const BY_STATUS: Record<number, typeof ApiError> = {
  400: InvalidInput,
  401: NotAuthenticated,
  403: Forbidden,
  404: NotFound,
  409: Conflict,
  412: PreconditionFailed,
  429: QuotaExceeded,
  502: ModelUnavailable,
  503: Unavailable,
};

/** The error for an answer that is none of success. */
export function refused(status: number, headers: Headers, body: string): ApiError {
  const problem = parsed(body);
  const seconds = Number(headers.get("Retry-After") ?? NaN);
  const Kind =
    problem.type === `${TYPE_PREFIX}blocked` ? Blocked : (BY_STATUS[status] ?? (status >= 500 ? ServerError : ApiError));
  return new Kind(status, problem, seconds >= 0 ? seconds : undefined);
}

function parsed(body: string): Partial<Problem> {
  try {
    const problem: unknown = JSON.parse(body);
    return typeof problem === "object" && problem !== null ? problem : {};
  } catch {
    return {}; // of a proxy, which answers in HTML
  }
}

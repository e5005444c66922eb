/** Vercel's AI SDK: a middleware of language models that recalls before an answer and hands in what was said. */

import type { LanguageModelMiddleware } from "ai";

import type { MemoryHub } from "./client.js";
import { ApiError, ConnectionFailed } from "./errors.js";
import type { MessageRequest, MessagesRequest } from "./schema.js";

type Call = Parameters<NonNullable<LanguageModelMiddleware["wrapGenerate"]>>[0]["params"];
type Message = Call["prompt"][number];
type Streamed = Awaited<ReturnType<NonNullable<LanguageModelMiddleware["wrapStream"]>>>["stream"];
type Part = Streamed extends ReadableStream<infer P> ? P : never;
type Finish = Extract<Part, { type: "finish" }>["finishReason"];

// Characters of a message or a query, which the server takes.
const LONGEST = 32_000;

export interface MemoryOptions {
  /** `background` unless said. With `now`, an answer has not ended before its user's words are learned from. */
  learn?: NonNullable<MessagesRequest["learn"]>;
  /** How many tokens the recalled text may have. */
  tokenBudget?: number;
  /**
   * If memoryhub does not answer, a call of the model warns and goes on without it (`continue`, unless said), or fails
   * (`throw`). A refusal, such as of a wrong key, fails it in any case.
   */
  onOutage?: "continue" | "throw";
}

/**
 * A middleware for `wrapLanguageModel`. A call names its user, for a backend key, and its conversation:
 * `providerOptions: { memoryhub: { userId: "alice", session: "thread-17" } }`.
 */
export function memoryMiddleware(
  memory: MemoryHub,
  { learn = "background", tokenBudget, onOutage = "continue" }: MemoryOptions = {},
): LanguageModelMiddleware {
  const acting = (call: Call) => {
    const userId = option(call, "userId");
    return userId === undefined ? memory : memory.forUser(userId);
  };
  const optional = async <T>(answer: Promise<T>): Promise<T | undefined> => {
    try {
      return await answer;
    } catch (error) {
      if (onOutage === "throw" || !isOutage(error)) throw error;
      console.warn(`memoryhub does not answer, so the model goes on without it: ${error.message}`);
      return undefined;
    }
  };
  const handIn = async (call: Call, answer: string) => {
    const said: MessageRequest[] = [];
    const latest = call.prompt.at(-1);
    // After the call of a tool the latest message is its result: the user's words were handed in before.
    if (latest?.role === "user" && textOf(latest)) said.push({ role: "user", content: textOf(latest) });
    if (answer.trim()) said.push({ role: "assistant", content: beginning(answer) });
    const session = option(call, "session");
    if (!said.length) return;
    await optional(acting(call).messages(said, { learn, ...(session !== undefined && { session }) }));
  };
  return {
    specificationVersion: "v4",
    transformParams: async ({ params }) => {
      const asked = textOf([...params.prompt].reverse().find((each) => each.role === "user"));
      if (!asked) return params;
      const found = await optional(
        acting(params).context(
          asked,
          tokenBudget === undefined ? {} : { token_budget: tokenBudget },
          params.abortSignal ? { signal: params.abortSignal } : {},
        ),
      );
      if (!found) return params;
      if (!found.items.length && !found.profile.length && !found.external.length) return params;
      const place = params.prompt.findIndex((each) => each.role !== "system");
      const recalled: Message = { role: "system", content: `${found.instructions}\n\n${found.text}` };
      return { ...params, prompt: [...params.prompt.slice(0, place), recalled, ...params.prompt.slice(place)] };
    },
    wrapGenerate: async ({ doGenerate, params }) => {
      const result = await doGenerate();
      if (isWhole(result.finishReason)) {
        await handIn(params, result.content.map((part) => (part.type === "text" ? part.text : "")).join(""));
      }
      return result;
    },
    wrapStream: async ({ doStream, params }) => {
      const result = await doStream();
      let answer = "";
      const heard = new TransformStream<Part, Part>({
        async transform(part, controller) {
          if (part.type === "text-delta") answer += part.delta;
          if (part.type === "finish" && isWhole(part.finishReason)) await handIn(params, answer);
          controller.enqueue(part);
        },
      });
      return { ...result, stream: result.stream.pipeThrough(heard) };
    },
  };
}

function option(call: Call, name: "userId" | "session"): string | undefined {
  const value = call.providerOptions?.["memoryhub"]?.[name];
  if (value !== undefined && typeof value !== "string") {
    throw new TypeError(`providerOptions.memoryhub.${name} has to be a string.`);
  }
  return value;
}

/** The same call may succeed later: no whole answer in time, 429 or 5xx. */
function isOutage(error: unknown): error is ApiError | ConnectionFailed {
  return error instanceof ApiError ? error.status === 429 || error.status >= 500 : error instanceof ConnectionFailed;
}

/** The answer did not break off. A stream that does may also end without a reason. */
function isWhole({ unified }: Finish): boolean {
  return unified !== "error" && unified !== "interrupted";
}

function textOf(message: Message | undefined): string {
  if (message?.role !== "user") return "";
  return beginning(message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n").trim());
}

/** What the server takes of a text, without half of a character at its end. */
function beginning(text: string): string {
  return text.length > LONGEST ? text.slice(0, LONGEST).replace(/[\uD800-\uDBFF]$/, "") : text;
}

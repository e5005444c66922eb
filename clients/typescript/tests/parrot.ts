// A model of the AI SDK that answers with what it was told by the system, after a call of each tool that it is given.

import { simulateReadableStream } from "ai";
import { MockLanguageModelV4 } from "ai/test";

type Call = Parameters<MockLanguageModelV4["doGenerate"]>[0];
type Result = Awaited<ReturnType<MockLanguageModelV4["doGenerate"]>>;
type Unified = Result["finishReason"]["unified"];

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

function answer({ prompt, tools = [] }: Call, unified: Unified): Result {
  const [tool] = prompt.at(-1)?.role === "tool" ? [] : tools;
  if (tool) {
    const call = { type: "tool-call" as const, toolCallId: "1", toolName: tool.name, input: "{}" };
    return { content: [call], finishReason: { unified: "tool-calls", raw: undefined }, usage, warnings: [] };
  }
  const told = prompt.flatMap((each) => (each.role === "system" ? [each.content] : []));
  const text = { type: "text" as const, text: told.join("\n") || "Nothing." };
  return { content: [text], finishReason: { unified, raw: undefined }, usage, warnings: [] };
}

/** Called as the models of a provider are; `unified` is why its answers end. */
export const openai = (modelId: string, unified: Unified = "stop") =>
  new MockLanguageModelV4({
    modelId,
    doGenerate: async (call) => answer(call, unified),
    doStream: async (call) => {
      const { content, finishReason } = answer(call, unified);
      const [part] = content;
      const text = part?.type === "text" ? part.text : "";
      return {
        stream: simulateReadableStream({
          chunks: [
            { type: "text-start", id: "0" },
            ...[...text].map((delta) => ({ type: "text-delta" as const, id: "0", delta })),
            { type: "text-end", id: "0" },
            { type: "finish", finishReason, usage },
          ],
        }),
      };
    },
  });

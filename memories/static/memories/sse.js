// Server-sent events out of the body of a fetch: one POST carries the question up and the answer down.

// Yields the JSON of each frame. Frames end with an empty line; a frame cut off by the end of the body is dropped.
export async function* frames(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      rest += value;
      const whole = rest.split("\n\n");
      rest = whole.pop();
      for (const frame of whole) {
        const data = frame.split("\n").filter((line) => line.startsWith("data:"));
        if (data.length) yield JSON.parse(data.map((line) => line.slice(5).trimStart()).join("\n"));
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

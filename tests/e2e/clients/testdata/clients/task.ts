// Has a task done that asks for an approval, and prints how it went: node task.js URL FOLDER MESSAGE
import createClient from "openapi-fetch";
import type { components, paths } from "./schema";

declare const process: { argv: string[]; exit(code: number): never };

type Event = components["schemas"]["TaskEvent"];

const [url, cwd, message] = process.argv.slice(2) as [string, string, string];
const api = createClient<paths>({ baseUrl: url });

function must<T>(answer: { data?: T; error?: unknown; response: Response }): T {
  if (answer.data === undefined) throw new Error(`${answer.response.url}: ${JSON.stringify(answer.error)}`);
  return answer.data;
}

async function* events(session: string): AsyncGenerator<Event> {
  const answer = await api.GET("/v1/sessions/{sessionId}/events", {
    params: { path: { sessionId: session }, query: { stream: "1" } },
    headers: { Accept: "text/event-stream" },
    parseAs: "stream",
  });
  const reader = (must(answer) as unknown as ReadableStream<Uint8Array<ArrayBuffer>>).pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ""; ; ) {
    const { done, value } = await reader.read();
    if (done) throw new Error("the stream ended");
    const frames = (text + value).split("\n\n");
    text = frames.pop() ?? "";
    for (const frame of frames) {
      const lines = frame.split("\n");
      const data = lines.find((line) => line.startsWith("data: "));
      if (data && lines.some((line) => line.startsWith("id: "))) yield JSON.parse(data.slice("data: ".length)) as Event;
    }
  }
}

const made = must(await api.POST("/v1/sessions", { body: { permission_mode: "ask", native_tools: "on", cwd } }));
const path = { sessionId: made.session_id };
const task = must(
  await api.POST("/v1/sessions/{sessionId}/tasks", { params: { path }, body: { messages: [{ role: "user", content: message }] } }),
);
const seen: string[] = [];
let call: { tool_call_id: string; attempt: number; input_hash: string } | undefined;
for await (const event of events(made.session_id)) {
  seen.push(event.type);
  if (event.type === "tool.call.requested") call = event.payload as typeof call;
  if (event.type === "tool.call.policy_evaluated" && event.payload["result"] === "ask" && call) {
    must(
      await api.POST("/v1/sessions/{sessionId}/tool-calls/{toolCallId}/approve", {
        params: { path: { ...path, toolCallId: call.tool_call_id } },
        body: { attempt: call.attempt, input_hash: call.input_hash, reason: "TypeScript says so" },
      }),
    );
  }
  if (/^task\.(completed|failed|stopped)$/.test(event.type)) break;
}
const ended = must(await api.GET("/v1/sessions/{sessionId}/tasks/{taskId}", { params: { path: { ...path, taskId: task.task_id } } }));
console.log(JSON.stringify({ status: ended.status, events: seen }));
process.exit(0); // the stream is still open

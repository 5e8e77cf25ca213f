import { expect, test, vi } from "vitest";
import type { RestEntry } from "./adapters/wire";
import type { Api } from "./core/api";
import { Store } from "./core/store";
import { Transcripts } from "./transcripts";

vi.stubGlobal("requestAnimationFrame", (then: () => void) => then());

test("what a session planned and used is in its snapshot", async () => {
  const session = { sessionId: "s", plan: { turnId: "t", explanation: null, plan: [{ step: "look", status: "completed" }] }, usage: { total: { totalTokens: 900 }, last: { totalTokens: 300, cachedInputTokens: 20 }, modelContextWindow: 1000 } };
  const asked: string[] = [];
  const api = { get: async (path: string) => (asked.push(path), path.endsWith("/queue") ? { data: [] } : { session, transcript: [], window: { before: null, after: null }, pos: 1 }) } as unknown as Api;
  const store = new Store();
  const open = store.opened("s");
  await new Transcripts(api, store, () => {}).read(open);
  expect([open.usage, open.plan]).toEqual([{ used: 300, window: 1000, total: 900, cached: 20 }, [{ step: "look", status: "completed" }]]);
  expect(asked[0]).toContain("view=console");
});

test("a window that comes after another one was read is not added to that", async () => {
  const entry = (id: string) => ({ messageId: id, turnId: "t", role: "assistant", type: "agentMessage", status: "complete", content: id }) as RestEntry;
  const window = (id: string, before: string | null, after: string | null) => ({ session: { sessionId: "s" }, transcript: [entry(id)], window: { before, after }, pos: 1 });
  let late: (got: unknown) => void = () => {};
  const api = {
    get: (path: string) => {
      if (path.endsWith("/queue")) return Promise.resolve({ data: [] });
      return path.includes("&after=") ? new Promise((done) => (late = done)) : Promise.resolve(window("newest", "newest", null));
    },
  } as unknown as Api;
  const store = new Store();
  const open = store.opened("s");
  const transcripts = new Transcripts(api, store, () => {});
  store.loaded(open, [], null, "first", 1); // a window far from the end
  const more = transcripts.more(open, "newer");
  await transcripts.read(open);
  late(window("second", "second", "second"));
  expect(await more).toBe(false);
  expect(open.transcript.ids).toEqual(["newest"]);
  expect(open.transcript.newer).toBe(null);
});

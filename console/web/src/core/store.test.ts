import { expect, test } from "vitest";
import { fromRest } from "../adapters/wire";
import type { Frame } from "./link";
import { Store } from "./store";
import type { Session } from "./types";

const session: Session = {
  sessionId: "s", title: "One", cwd: "/w", projectId: null, runtime: "codex", createdAt: 1, updatedAt: 1, state: "idle", activeTurnId: null,
  pendingCount: 0, lastError: null,
};
const note = (method: string, params: object, pos?: number, offset?: number): Frame => ({
  type: "notification", threadId: "s", payload: { method, params: { turnId: "t", ...params } }, ...(pos === undefined ? {} : { pos }), ...(offset === undefined ? {} : { offset }),
});
const answer = "The answer, which comes in pieces.";
const user = { type: "userMessage", id: "u", content: [{ type: "text", text: "Why?" }] };
const message = (text: string) => ({ type: "agentMessage", id: "m", text });
const shell = (aggregatedOutput: string | null, exitCode: number | null) => ({ type: "commandExecution", id: "c", command: "ls", aggregatedOutput, exitCode });

/** A whole turn, as the stream sends it. */
function turn(): Frame[] {
  const frames = [
    note("turn/started", { turn: { id: "t" } }, 16), note("item/started", { item: user }, 32), note("item/completed", { item: user }, 48),
    note("item/started", { item: shell(null, null) }, 64), note("item/commandExecution/outputDelta", { itemId: "c", delta: "out\n" }, undefined, 0),
    note("item/completed", { item: shell("out\n", 0) }, 96), note("item/started", { item: message("") }, 112),
  ];
  for (let i = 0; i < answer.length; i += 5) frames.push(note("item/agentMessage/delta", { itemId: "m", delta: answer.slice(i, i + 5) }, undefined, i));
  return [...frames, note("item/completed", { item: message(answer) }, 160), note("turn/completed", { turn: { id: "t", status: "completed" } }, 176)];
}

/** What a snapshot would have after the first n frames. */
function snapshot(frames: Frame[]) {
  const store = fresh();
  const open = store.opened("s");
  store.loaded(open, [], null, null, 0);
  store.take(frames);
  const pos = Math.max(0, ...frames.map((f) => f.pos ?? 0));
  const entries = open.transcript.ids.map((id) => open.transcript.rows.get(id)!.entry).map((e) => fromRest({
    messageId: e.messageId, turnId: e.turnId, role: e.role, type: e.type, status: e.status, content: e.texts.text ?? "",
    details: e.type === "commandExecution" ? JSON.stringify({ ...e.item, aggregatedOutput: e.texts.output }) : undefined,
  }));
  return { pos, entries, session: store.sessions.get("s")! };
}

function fresh() {
  const store = new Store();
  store.setSessions([session], 0);
  return store;
}

const shown = (store: Store) => {
  const { transcript } = store.open.get("s")!;
  return transcript.ids.map((id) => transcript.rows.get(id)!.entry).map((e) => [e.messageId, e.status, e.texts.text ?? "", e.texts.output ?? ""]);
};

test("wherever a snapshot falls into the stream, the transcript is that of the whole stream", () => {
  const frames = turn();
  const whole = fresh();
  whole.loaded(whole.opened("s"), [], null, null, 0);
  whole.take(frames);
  for (let at = 0; at <= frames.length; at++) {
    for (let arrived = 0; arrived <= frames.length; arrived += 3) {
      const store = fresh();
      const open = store.opened("s");
      store.take(frames.slice(0, arrived)); // before the snapshot is there
      const { entries, pos } = snapshot(frames.slice(0, at));
      store.loaded(open, entries, null, null, pos);
      store.take(frames.slice(Math.min(arrived, at))); // what the socket brings, some of it a second time
      expect(shown(store), `snapshot after ${at} frames, ${arrived} had arrived`).toEqual(shown(whole));
    }
  }
});

test("frames that come again change nothing", () => {
  const frames = turn();
  const once = fresh(), twice = fresh();
  for (const store of [once, twice]) store.loaded(store.opened("s"), [], null, null, 0);
  once.take(frames);
  for (let i = 0; i < frames.length; i++) twice.take(frames.slice(Math.max(0, i - 4), i + 1));
  expect(shown(twice)).toEqual(shown(once));
  expect(twice.sessions.get("s")!.state).toBe("idle");
});

const approval: Frame = { type: "approval", threadId: "s", pos: 80, payload: { approvalId: "a", threadId: "s", turnId: "t", method: "item/commandExecution/requestApproval", details: {}, createdAt: "2026-01-01T00:00:00Z" } };
const resolved: Frame = { type: "approval_resolved", threadId: "s", pos: 96, payload: { approvalId: "a", status: "resolved", decision: "accept", decidedBy: "token:ann" } };

test("a request is pending, is decided, and an older snapshot does not bring it back", () => {
  const store = fresh();
  store.take([note("turn/started", { turn: { id: "t" } }, 16), approval]);
  expect([store.requests.size, store.sessions.get("s")!.state]).toEqual([1, "waiting"]);
  const [request] = store.requests.values();
  store.take([resolved]);
  expect([store.requests.size, store.sessions.get("s")!.state, store.settled.get("a")!.by]).toEqual([0, "running", "token:ann"]);
  store.setRequests([request!]);
  store.take([approval]);
  expect(store.requests.size).toBe(0);
});

test("a decision that comes while the transcript is read stands in it", () => {
  const store = fresh();
  const open = store.opened("s");
  store.take([note("turn/started", { turn: { id: "t" } }, 16), approval, resolved]);
  store.loaded(open, [], null, null, 80);
  expect(shown(store).map(([id]) => id)).toEqual(["approval-a"]);
});

test("what a turn that was stopped, or failed, leaves open is open no more", () => {
  for (const [status, left] of [["interrupted", "canceled"], ["failed", "canceled"], ["completed", "streaming"]]) {
    const store = fresh();
    store.loaded(store.opened("s"), [], null, null, 0);
    store.take([note("item/started", { item: shell(null, null) }, 16), note("turn/completed", { turn: { id: "t", status } }, 32)]);
    expect(shown(store)).toMatchObject([["c", left, "", ""]]);
  }
});

test("a failed turn says why, and the next one forgets it", () => {
  const store = fresh();
  store.take([note("turn/started", { turn: { id: "t" } }, 16), note("turn/completed", { turn: { id: "t", status: "failed", error: { message: "no credit" } } }, 32)]);
  expect(store.sessions.get("s")).toMatchObject({ state: "error", activeTurnId: null, lastError: { turnId: "t", message: "no credit" } });
  store.take([note("turn/started", { turn: { id: "u" } }, 48)]);
  expect(store.sessions.get("s")).toMatchObject({ state: "running", activeTurnId: "u", lastError: null });
});

test("a turn that cannot reach its model says so until the model answers", () => {
  const store = fresh();
  const entry = (status: string, content: string, pos: number): Frame => ({
    type: "transcript_updated", threadId: "s", pos,
    payload: { entry: { messageId: "turn-retry-t", turnId: "t", role: "system", type: "turn.retrying", status, content } },
  });
  store.take([note("turn/started", { turn: { id: "t" } }, 16), entry("error", "attempt 2 of 5", 32)]);
  expect(store.sessions.get("s")).toMatchObject({ state: "running", lastError: { turnId: "t", message: "attempt 2 of 5" } });
  store.take([entry("complete", "it answered", 48)]);
  expect(store.sessions.get("s")).toMatchObject({ state: "running", lastError: null });
});

test("frames that the list has already do not turn it back", () => {
  const store = fresh();
  store.setSessions([{ ...session, state: "idle" }], 200);
  store.take([note("turn/started", { turn: { id: "t" } }, 16)]);
  expect(store.sessions.get("s")!.state).toBe("idle");
});

test("a list from before a turn began, or a session was deleted, does not turn that back", () => {
  const store = fresh();
  const calls: string[] = [];
  store.onCall = (_, kind) => calls.push(kind);
  store.take([note("turn/started", { turn: { id: "t" } }, 16)]);
  store.setSessions([session], 8);
  expect(store.sessions.get("s")).toMatchObject({ state: "running", activeTurnId: "t" });
  store.take([note("turn/completed", { turn: { id: "t", status: "completed" } }, 32)]);
  store.setSessions([{ ...session, state: "running", activeTurnId: "t" }], 16);
  expect(store.sessions.get("s")).toMatchObject({ state: "idle", activeTurnId: null });
  expect(calls).toEqual(["ended"]);
  store.take([{ type: "session_deleted", threadId: "s", payload: {}, pos: 48 }]);
  store.setSessions([session], 32);
  expect(store.sessions.size).toBe(0);
});

test("an unknown session is requested, a deleted one is removed", () => {
  const store = fresh();
  const asked: (string | null)[] = [];
  store.onUnknown = (id) => asked.push(id);
  store.take([{ ...note("turn/started", { turn: { id: "t" } }, 16), threadId: "other" }, { type: "session_deleted", threadId: "s", payload: {}, pos: 32 }]);
  expect([asked, store.sessions.size]).toEqual([["other"], 0]);
});

test("what this page does not know is shown", () => {
  const store = fresh();
  store.loaded(store.opened("s"), [], null, null, 0);
  store.take([note("item/started", { item: { type: "hologram", id: "h", depth: 3 } }, 16), note("hologram/rotated", { by: 90 }, 32)]);
  const { transcript } = store.open.get("s")!;
  expect(transcript.ids.map((id) => transcript.rows.get(id)!.entry.type)).toEqual(["hologram", "hologram/rotated"]);
});

test("deltas of sessions that are not on screen cost nothing", () => {
  const store = fresh();
  store.take([{ ...note("item/agentMessage/delta", { itemId: "m", delta: "x" }, undefined, 0) }]);
  expect(store.open.size).toBe(0);
});

test("the queue is what the last frame says, and a frame from before the snapshot changes nothing", () => {
  const store = fresh();
  const open = store.opened("s");
  const queue = (pos: number, ...texts: string[]): Frame => ({
    type: "message_queue_updated", threadId: "s", pos,
    payload: { sessionId: "s", data: texts.map((text) => ({ id: text, text, images: 0, state: "queued", error: null })) },
  });
  store.take([queue(48, "late")]); // while the snapshot is under way
  store.loaded(open, [], null, null, 64);
  expect(open.queue).toEqual([]);
  store.take([queue(80, "one", "two"), queue(96, "two")]);
  expect(open.queue.map((one) => one.text)).toEqual(["two"]);
});

test("the background work of a session is what the last frame says", () => {
  const store = fresh();
  store.setSessions([session], 0);
  const works = (pos: number, ...ids: string[]): Frame => ({
    type: "session_background_updated", threadId: "s", pos,
    payload: { sessionId: "s", activity: { turn: null, background: ids.map((id) => ({ id, kind: "command", command: "sleep 9", turnId: "t", startedAt: "2026-11-26T20:00:00.000Z", canEnd: true })) } },
  });
  store.take([works(16, "1", "2"), works(32, "2")]);
  expect(store.sessions.get("s")?.activity?.background.map((one) => one.id)).toEqual(["2"]);
  expect(store.sessions.get("s")?.state).toBe("idle");
});

test("what a turn uses and plans stands beside the open transcript", () => {
  const store = fresh();
  const open = store.opened("s");
  store.loaded(open, [], null, null, 0);
  store.take([
    note("thread/tokenUsage/updated", { tokenUsage: { total: { totalTokens: 900 }, last: { totalTokens: 300, cachedInputTokens: 20 }, modelContextWindow: 1000 } }, 16),
    note("turn/plan/updated", { plan: [{ step: "look", status: "completed" }] }, 32),
  ]);
  expect([open.usage, open.plan]).toEqual([{ used: 300, window: 1000, total: 900, cached: 20 }, [{ step: "look", status: "completed" }]]);
});

test("a turn that ends in the background is unread", () => {
  const store = fresh();
  let looks = true;
  store.looksAt = () => looks;
  const frames = turn();
  store.take(frames);
  expect(store.sessions.get("s")!.unread).toBeFalsy();
  looks = false;
  store.take([note("item/started", { item: message("") }, 192)]);
  expect(store.sessions.get("s")!.unread).toBeFalsy();
  store.take([note("item/completed", { item: message("more") }, 208)]);
  expect(store.sessions.get("s")!.unread).toBe(true);
  store.setUnread("s", false);
  expect(store.sessions.get("s")!.unread).toBe(false);
});

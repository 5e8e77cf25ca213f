import { expect, test } from "vitest";
import { Transcript } from "./transcript";
import type { Entry } from "./types";

const entry = (id: string, status = "streaming", text = ""): Entry => ({
  messageId: id, turnId: "t", role: "assistant", type: "agentMessage", status, texts: { text },
});
const texts = (t: Transcript) => t.ids.map((id) => t.rows.get(id)!.entry.texts.text);

test("deltas that come twice, or late, give the same text", () => {
  const t = new Transcript("s");
  const grow = (offset: number, text: string) => t.grow(() => entry("a"), "a", "text", offset, text);
  grow(0, "Hello ");
  grow(6, "world");
  grow(0, "Hello ");
  grow(6, "wor");
  grow(11, "!");
  expect(texts(t)).toEqual(["Hello world!"]);
});

test("a text that begins anew is the new one", () => {
  const t = new Transcript("s");
  t.grow(() => entry("a"), "a", "text", 0, "one");
  t.grow(() => entry("a"), "a", "text", 0, "two");
  expect(texts(t)).toEqual(["two"]);
});

test("a hole is reported, and nothing is added after it", () => {
  const t = new Transcript("s");
  let holes = 0;
  t.onHole = () => holes++;
  t.grow(() => entry("a"), "a", "text", 0, "one");
  t.grow(() => entry("a"), "a", "text", 9, "x");
  expect([holes, texts(t)]).toEqual([1, ["one"]]);
});

test("what is finished never streams again", () => {
  const t = new Transcript("s");
  t.upsert(entry("a", "complete", "whole"));
  t.upsert(entry("a", "streaming", ""));
  t.grow(() => entry("a"), "a", "text", 5, " and more");
  expect([texts(t), t.rows.get("a")!.entry.status]).toEqual([["whole"], "complete"]);
});

test("a snapshot takes the place of what is there, and keeps what a text has gained", () => {
  const t = new Transcript("s");
  t.upsert(entry("gone", "complete", "x"));
  t.grow(() => entry("a"), "a", "text", 0, "so far and further");
  t.reset([entry("a", "streaming", "so far"), entry("b", "complete", "b")], null, null, 5);
  expect([t.ids, texts(t)]).toEqual([["a", "b"], ["so far and further", "b"]]);
});

test("windows read on at both ends, and the other end is trimmed", () => {
  const t = new Transcript("s", 4);
  t.reset([entry("c", "complete"), entry("d", "complete")], "c", null, 1);
  t.extend([entry("a", "complete"), entry("b", "complete"), entry("c", "complete")], "older", "a");
  expect([t.ids, t.shift, t.older]).toEqual([["a", "b", "c", "d"], true, "a"]);
  t.extend([entry("z", "complete")], "older", null);
  t.trim("older");
  expect([t.ids, t.newer, t.shift]).toEqual([["z", "a", "b", "c"], "c", false]);
  t.upsert(entry("e", "complete"));
  expect(t.ids).toEqual(["z", "a", "b", "c"]); // its place is not in the window
});

test("views are notified of their own row, once a flush", () => {
  const t = new Transcript("s");
  t.upsert(entry("a"));
  t.upsert(entry("b"));
  t.flush();
  const notified: string[] = [];
  t.subscribe(() => notified.push("list"));
  t.subscribeRow("a", () => notified.push("a"));
  t.subscribeRow("b", () => notified.push("b"));
  for (let i = 0; i < 100; i++) t.grow(() => entry("b"), "b", "text", i, "x");
  expect(notified).toEqual([]);
  t.flush();
  expect(notified).toEqual(["b"]);
});

test("turns that were rolled back leave", () => {
  const t = new Transcript("s");
  t.upsert({ ...entry("a", "complete"), turnId: "1" });
  t.upsert({ ...entry("b", "complete"), turnId: "2" });
  t.removeTurns(["2"]);
  expect([t.ids, t.rows.has("b")]).toEqual([["a"], false]);
});

test("who wrote a message stands at its entry, whichever of the two comes first", () => {
  const transcript = new Transcript("s");
  const message = (messageId: string): Entry => ({ messageId, turnId: "t", role: "user", type: "userMessage", status: "complete", texts: { text: messageId } });
  transcript.authored("t", 1, { actor: "token:ann", name: "Ann" });
  transcript.upsert(message("a"));
  transcript.upsert(message("b"));
  transcript.authored("t", 2, { actor: "token:bob" });
  transcript.upsert(message("a")); // once more, from another source
  expect(transcript.ids.map((id) => transcript.rows.get(id)!.entry.author?.actor)).toEqual(["token:ann", "token:bob"]);
});

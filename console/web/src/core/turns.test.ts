import { expect, test } from "vitest";
import { Transcript } from "./transcript";
import { behind, startOf } from "./turns";
import type { Entry } from "./types";

const entry = (messageId: string, turnId: string, role: string, type: string, startedAt?: number): Entry =>
  ({ messageId, turnId, role, type, status: "complete", texts: { text: messageId }, startedAt });

function three(newer: string | null = null) {
  const transcript = new Transcript("s");
  transcript.reset([
    entry("ask 1", "t1", "user", "userMessage", 100), entry("ran 1", "t1", "system", "commandExecution", 150), entry("said 1", "t1", "assistant", "agentMessage"),
    entry("note", "ci", "assistant", "agentMessage"),
    entry("ask 2", "t2", "user", "userMessage"), entry("steered 2", "t2", "user", "userMessage"), entry("said 2", "t2", "assistant", "agentMessage", 300),
    entry("ask 3", "t3", "user", "userMessage"), entry("said 3", "t3", "assistant", "agentMessage"),
  ], null, newer, 1);
  return transcript;
}

test("a person's message is gone with its turn, an agent's stays", () => {
  const transcript = three();
  const all = ["ask 1", "said 1", "ask 2", "steered 2", "said 2", "ask 3", "said 3"].map((id) => behind(transcript, id));
  expect(all).toEqual([3, 2, 2, 2, 1, 1, 0]);
});

test("what is not in memory is not counted", () => {
  expect(behind(three("said 3"), "ask 1")).toBeNull();
  expect(behind(three(), "elsewhere")).toBeNull();
});

test("a turn runs since its first entry", () => {
  expect([startOf(three(), "t1"), startOf(three(), "t2"), startOf(three(), "t9")]).toEqual([100, 300, null]);
});

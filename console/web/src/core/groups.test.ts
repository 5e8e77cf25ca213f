import { expect, test } from "vitest";
import { fitsFilter, grouped, oldestRequests } from "./groups";
import type { Request, Session } from "./types";

const now = new Date(2026, 10, 18, 15, 0).getTime(); // a Wednesday
const session = (sessionId: string, state: string, at: Date | number, more: Partial<Session> = {}) =>
  ({ sessionId, state, updatedAt: Math.floor(+at / 1000), projectId: null, ...more }) as Session;

test("those that wait longest come first, then what runs, then days and months", () => {
  const groups = grouped([
    session("old", "idle", new Date(2026, 8, 30)), session("older", "idle", new Date(2026, 8, 2)), session("monday", "idle", new Date(2026, 10, 16)),
    session("midnight", "error", new Date(2026, 10, 18, 0, 1)), session("late", "idle", new Date(2026, 10, 17, 23, 59)), session("w2", "waiting", now),
    session("w1", "waiting", now - 1000), session("r", "running", now), session("silent", "unresponsive", now - 5000),
  ], (s) => (s.sessionId === "w1" ? 5 : 3), now);
  expect(groups.map((g) => [g.name, ...g.sessions.map((s) => s.sessionId)])).toEqual([
    ["waiting", "w2", "w1"], ["running", "r", "silent"], ["today", "midnight"], ["yesterday", "late"], ["week", "monday"], ["month", "old", "older"],
  ]);
});

test("filters", () => {
  const failed = session("a", "error", now, { projectId: "p", unread: true });
  expect(["all", "waiting", "running", "failed", "unread"].map((f) => fitsFilter(failed, f as "all", ""))).toEqual([true, false, false, true, true]);
  expect(fitsFilter({ ...failed, archivedAt: 1 }, "all", "")).toBe(false);
  expect([fitsFilter(failed, "all", "p"), fitsFilter(failed, "all", "q"), fitsFilter(session("b", "idle", now), "all", "none")]).toEqual([true, false, true]);
});

test("a session's oldest request is the one that is shown", () => {
  const request = (id: string, threadId: string, createdAt: number) => ({ id, threadId, createdAt }) as Request;
  const oldest = oldestRequests([request("1", "a", 20), request("2", "a", 10), request("3", "b", 30)]);
  expect([oldest.get("a")?.id, oldest.get("b")?.id]).toEqual(["2", "3"]);
});

import { expect, test } from "vitest";
import { fromItem, fromRest, settledEntry, requestOf, settledOf } from "../adapters/wire";
import { became, changesOf, command, failed, filesOf, outcome, partsOf, title } from "./entries";
import type { Entry } from "./types";

const item = (type: string, more: object = {}, ended = true) => fromItem({ id: `${type}-${JSON.stringify(more)}`, type, ...more }, "t", ended);

test("finished steps between messages fold; what failed, waits or runs does not", () => {
  const entries: Entry[] = [
    item("userMessage"), item("commandExecution", { exitCode: 0 }), item("reasoning"), item("agentMessage"),
    item("commandExecution", { exitCode: 1 }), item("commandExecution", { n: 2, exitCode: 0 }), item("fileChange", { n: 3 }),
    { ...item("x", { n: 4 }), type: "approval.request", status: "streaming" }, item("commandExecution", { n: 5 }, false),
  ];
  const byId = new Map(entries.map((e) => [e.messageId, e]));
  const folds = (running: boolean) => partsOf([...byId.keys()], (id) => byId.get(id)!, running).map((p) => (p.fold ? p.ids.length : byId.get(p.ids[0]!)!.type));
  expect(folds(true)).toEqual(["userMessage", 2, "agentMessage", "commandExecution", 2, "commandExecution"]);
});

test("a command is shown without the shell around it", () => {
  expect(title(item("commandExecution", { command: "/bin/bash -lc 'go test ./...'" }))).toBe("go test ./...");
  expect(command(item("commandExecution", { command: "ls -l" }))).toBe("ls -l");
});

test("changes are read in both of the shapes there are", () => {
  expect(changesOf({ changes: [{ path: "a", kind: "add", diff: "x" }] })).toEqual([{ path: "a", kind: "add", diff: "x" }]);
  expect(changesOf({ fileChanges: { b: { type: "update", unified_diff: "@@ -1 +1 @@" } } })).toEqual([{ path: "b", kind: "update", diff: "@@ -1 +1 @@", content: undefined }]);
});

test("an entry of a snapshot and the item of a frame are the same", () => {
  const shell = { type: "commandExecution", id: "c", command: "ls", aggregatedOutput: "a\n", exitCode: 0 };
  const rest = fromRest({ messageId: "c", turnId: "t", role: "system", type: "commandExecution", content: "Command execution completed: ls", status: "complete", details: JSON.stringify(shell) });
  const frame = fromItem(shell, "t", true);
  expect([rest.texts, rest.item, rest.status]).toEqual([frame.texts, frame.item, frame.status]);
});

test("details that are no JSON are shown as they are", () => {
  expect(fromRest({ messageId: "m", turnId: "t", role: "system", type: "ci", content: "x", status: "complete", details: "plain" }).item).toEqual({ details: "plain" });
});

test("a decision's entry is that of a snapshot", () => {
  const request = requestOf("approval", { approvalId: "a", threadId: "s", turnId: "t", details: {}, createdAt: "2026-01-01T00:00:00Z" });
  const entry = settledEntry(request, settledOf({ status: "resolved", decision: "accept" }, 1));
  expect([entry.messageId, entry.type, entry.texts.text]).toEqual(["approval-a", "approval.resolved", "Approval resolved (accept)"]);
});

test("a declined change is no change of a file, live and after a reload; a later one that was made is", () => {
  const edit = (status: string, path = "a") => ({ id: status + path, type: "fileChange", status, changes: [{ path, kind: "add", diff: "x\n" }] });
  const reloaded = (status: string) => fromRest({ messageId: status, turnId: "t", role: "system", type: "fileChange", content: "", status: "complete", details: JSON.stringify(edit(status)) });
  for (const declined of [fromItem(edit("declined"), "t", true), reloaded("declined")]) {
    expect([became(declined), failed(declined)]).toEqual(["declined", true]);
    expect(filesOf([declined]).map((f) => f.became)).toEqual(["declined"]);
    expect(filesOf([declined, reloaded("completed")]).map((f) => f.became)).toEqual([""]);
    expect(filesOf([reloaded("completed"), declined]).map((f) => f.became)).toEqual([""]);
  }
  expect(filesOf([reloaded("failed"), fromItem(edit("inProgress", "b"), "t", false)]).map((f) => [f.path, f.became])).toEqual([["a", "failed"]]);
  const stopped = fromRest({ messageId: "s", turnId: "t", role: "system", type: "fileChange", content: "", status: "canceled", details: JSON.stringify(edit("inProgress")) });
  expect(filesOf([stopped]).map((f) => f.became)).toEqual(["stopped"]);
});

test("a request that was not approved does not look done, live and after a reload", () => {
  const request = requestOf("approval", { approvalId: "a", threadId: "s", turnId: "t", details: {}, createdAt: "2026-01-01T00:00:00Z" });
  for (const [decision, word] of [["decline", "declined"], ["cancel", "canceled"], ["accept", ""]]) {
    const details = JSON.stringify({ approvalId: "a", status: "resolved", decision, scope: "turn" });
    const rest = fromRest({ messageId: "approval-a", turnId: "t", role: "system", type: "approval.resolved", content: "", status: "complete", details });
    for (const entry of [rest, settledEntry(request, settledOf({ status: "resolved", decision }, 1))]) expect([became(entry), failed(entry)]).toEqual([word, word !== ""]);
  }
  const expired = fromRest({ messageId: "approval-a", turnId: "t", role: "system", type: "approval.resolved", content: "", status: "complete", details: JSON.stringify({ status: "expired" }) });
  expect(became(expired)).toBe("expired");
});

test("a decision never folds away, and does not part the steps around it; steps are counted by what they did", () => {
  const decided = { ...item("x", { decision: "accept" }), type: "approval.resolved" };
  const change = (n: number) => item("fileChange", { n, changes: [{ path: "a", diff: "" }] });
  const entries: Entry[] = [item("commandExecution", { n: 1, exitCode: 0 }), decided, change(1), change(2), item("reasoning"), item("agentMessage")];
  const parts = partsOf(entries.map((_, i) => String(i)), (id) => entries[Number(id)]!, false);
  expect(parts.map((part) => part.ids.join())).toEqual(["0,2,3,4", "1", "5"]);
  expect(outcome(entries.filter((e) => e !== decided).slice(0, 4))).toEqual({ reads: 0, commands: 1, edits: 1, thoughts: 1, others: 0, took: 0 });
});

test("commands that only read are counted as the files they read", () => {
  const reads = (...paths: string[]) => item("commandExecution", { commandActions: paths.map((path) => ({ type: "read", path })) });
  const mixed = item("commandExecution", { commandActions: [{ type: "read", path: "c" }, { type: "unknown" }] });
  expect(outcome([reads("a", "b"), reads("a"), mixed])).toMatchObject({ reads: 2, commands: 1 });
});

test("approvals of one person beside each other are one line; others and refusals are not", () => {
  const decided = (decidedBy: string, decision = "accept", method = "item/commandExecution/requestApproval") =>
    ({ ...item("x", { status: "resolved", decision, decidedBy, method }), type: "approval.resolved" });
  const all = [decided("a"), decided("a"), decided("b"), decided("b", "decline"), decided("b", "decline"), decided("b", "accept", "item/fileChange/requestApproval")];
  const parts = partsOf(all.map((_, i) => String(i)), (id) => all[Number(id)]!, false);
  expect(parts.map((part) => part.ids.join())).toEqual(["0,1", "2", "3", "4", "5"]);
});

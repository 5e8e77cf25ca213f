import { expect, test } from "vitest";
import { fileDiff, pairs } from "./diff";

test("a unified diff has both line numbers", () => {
  const file = fileDiff({ path: "a.go", kind: { type: "update" }, diff: "--- a\n+++ b\n@@ -3,3 +3,4 @@ func\n same\n-old\n+new\n+more\n end\n\\ No newline at end of file" });
  expect([file.kind, file.added, file.removed]).toEqual(["update", 2, 1]);
  expect(file.rows.map((r) => [r.kind, r.old, r.new])).toEqual([
    ["hunk", undefined, undefined], ["same", 3, 3], ["del", 4, undefined], ["add", undefined, 4], ["add", undefined, 5], ["same", 5, 6],
  ]);
});

test("a new file's text is all added, a deleted one's all removed", () => {
  expect(fileDiff({ path: "a", kind: { type: "add" }, diff: "one\ntwo\n" })).toMatchObject({ added: 2, removed: 0 });
  expect(fileDiff({ path: "a", kind: "delete", content: "one" })).toMatchObject({ added: 0, removed: 1 });
  expect(fileDiff({ path: "a", kind: "add", diff: "" }).rows).toEqual([]);
});

test("20,000 lines take no time to speak of", () => {
  const diff = "@@ -1,10000 +1,20000 @@\n" + Array.from({ length: 20_000 }, (_, i) => (i % 2 ? "+" : " ") + "line " + i).join("\n");
  expect(fileDiff({ path: "a", diff }).rows.length).toBe(20_001);
});

test("side by side, what was taken away stands beside what came in its place", () => {
  const { rows } = fileDiff({ path: "a", diff: "@@ -1,4 +1,4 @@\n same\n-one\n-two\n+uno\n last\n+more\n" });
  const line = (row?: { text: string }) => row?.text ?? null;
  expect(pairs(rows).map((p) => p.hunk ?? [line(p.left), line(p.right)])).toEqual([
    "@@ -1,4 +1,4 @@", ["same", "same"], ["one", "uno"], ["two", null], ["last", "last"], [null, "more"],
  ]);
});

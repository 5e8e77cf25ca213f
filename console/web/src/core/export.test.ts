import { expect, test } from "vitest";
import { markdownOf } from "./export";
import type { Entry } from "./types";

const entry = (of: Partial<Entry>): Entry => ({ messageId: "m", turnId: "t", role: "system", type: "note", status: "complete", texts: {}, ...of });

test("a transcript as Markdown has what was said, the commands with their output, and the diffs", () => {
  const entries = [
    entry({ role: "user", type: "userMessage", texts: { text: "Fix it" } }),
    entry({ type: "commandExecution", item: { command: "go test" }, texts: { output: "```\nok\n" } }),
    entry({ type: "fileChange", item: { changes: [{ path: "a.go", diff: "@@ -1 +1 @@\n-old\n+new\n" }] } }),
    entry({ type: "approval.resolved", item: { decision: "accept" } }),
    entry({ role: "assistant", type: "agentMessage", texts: { text: "**Fixed.**" } }),
  ];
  expect(markdownOf("A session", entries, (one) => (one.role === "user" ? "Ana" : "Codex"))).toBe([
    "# A session", "## Ana\n\nFix it", "````\n$ go test\n```\nok\n````", "a.go\n\n```diff\n@@ -1 +1 @@\n-old\n+new\n```", "## Codex\n\n**Fixed.**",
  ].join("\n\n") + "\n");
});

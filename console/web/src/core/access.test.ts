import { expect, test } from "vitest";
import { policies, presetOf, presets, type Levels } from "./access";

const codex = { sandboxes: ["read-only", "workspace-write", "danger-full-access"], approvalPolicies: ["untrusted", "on-failure", "on-request", "never"], networkAccess: ["restricted", "enabled"] };
const levels = (filesystemSandbox: string, approvalPolicy: string, networkAccess = "restricted") => ({ filesystemSandbox, approvalPolicy, networkAccess }) as Levels;

test("each preset stands for three levels; it leaves the network as it is, which nothing restricts without a sandbox", () => {
  expect([...presets(codex)]).toEqual([
    ["read", levels("read-only", "untrusted")], ["ask", levels("workspace-write", "untrusted")],
    ["edit", levels("workspace-write", "on-request")], ["full", levels("danger-full-access", "never", "enabled")],
  ]);
  expect(presets(codex, "enabled").get("ask")).toEqual(levels("workspace-write", "untrusted", "enabled"));
});

test("a runtime without a sandbox asks all the same, and what it does not enforce is not offered", () => {
  const bare = { sandboxes: ["danger-full-access"], approvalPolicies: ["untrusted", "never"], networkAccess: ["enabled"] };
  expect([...presets(bare)]).toEqual([["ask", levels("danger-full-access", "untrusted", "enabled")], ["full", levels("danger-full-access", "never", "enabled")]]);
  expect([...presets({})]).toEqual([]);
});

test("another combination is no preset; on-failure is not to be chosen", () => {
  expect(presetOf(levels("workspace-write", "on-request", "enabled"), presets(codex))).toBe("edit");
  expect(presetOf(levels("read-only", "never"), presets(codex))).toBeNull();
  expect(policies(codex.approvalPolicies)).toEqual(["untrusted", "on-request", "never"]);
});

// Decides file changes by the rules beside it, as an extension that was written for Node does.
import { existsSync, readFileSync } from "node:fs";
import path from "path";
import { fileURLToPath } from "node:url";
import { type AgentEventRegistry } from "@codex-manager/agent-runtime-sdk";
import { firstMatch, type Rule } from "./lib/rules.js";

const here = path.dirname(fileURLToPath(import.meta.url));

function rules(): Rule[] {
  const file = path.join(here, "rules.json");
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Rule[]) : [];
}

export function registerAgentEvents(registry: AgentEventRegistry): void {
  const loaded = rules();
  registry.on("file_change.approval_requested", (event: any, tools: any) => {
    const rule = firstMatch(loaded, event.payload.summary);
    tools.logger.info({ rule: rule?.name ?? "none", pid: process.pid > 0 }, "weighed a change");
    if (!rule) return;
    return { kind: "action_request", actionType: "approval.decide", payload: { approvalId: event.payload.context.approvalId, decision: rule.decision } };
  }, { priority: 10 });
}

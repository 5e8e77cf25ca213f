// The tasks that a session's settings disable. Without a setting every task is enabled.
import { isRecord, type AgentRuntimeTools } from "@codex-manager/agent-runtime-sdk";

/** The switches, members of the session setting "supervisor": {"explainFileChanges": false} disables one. */
export type Switch = "explainFileChanges" | "reviewTurns" | "nameChats" | "suggestReplies";

/** Whether a session enables a task. "supervisor": false disables all of them. */
export async function wanted(tools: AgentRuntimeTools, sessionId: string, what: Switch): Promise<boolean> {
  const settings = await tools.getSessionSettings?.(sessionId);
  const own = isRecord(settings) ? settings.supervisor : undefined;
  return own !== false && !(isRecord(own) && own[what] === false);
}

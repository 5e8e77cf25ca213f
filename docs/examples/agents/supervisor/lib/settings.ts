// What a session's settings switch off. Without a setting everything is on.
import { isRecord, type AgentRuntimeTools } from "@codex-manager/agent-runtime-sdk";

/** The switches, members of the session setting "supervisor": {"explainFileChanges": false} turns one off. */
export type Switch = "explainFileChanges" | "reviewTurns" | "nameChats" | "suggestReplies";

/** Whether a session wants something. "supervisor": false wants nothing at all. */
export async function wanted(tools: AgentRuntimeTools, sessionId: string, what: Switch): Promise<boolean> {
  const settings = await tools.getSessionSettings?.(sessionId);
  const own = isRecord(settings) ? settings.supervisor : undefined;
  return own !== false && !(isRecord(own) && own[what] === false);
}

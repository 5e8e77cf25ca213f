// An extension in TypeScript that runs embedded in the server: it notes every file change that waits for approval in the transcript, and
// queues one review when the turn ends.
import { isRecord, type AgentEventRegistry, type AgentRuntimeEvent, type AgentRuntimeTools } from "@codex-manager/agent-runtime-sdk";
import { filled, noteId, summarise } from "./lib/notes.js";

interface Place {
  projectId: string;
  sourceSessionId: string;
  threadId: string;
  turnId: string;
}

/** Reads the project, session and turn of an event; null if one is missing. */
function placeOf(event: AgentRuntimeEvent): Place | null {
  const context = isRecord(event.payload) && isRecord(event.payload.context) ? event.payload.context : {};
  const [projectId, sourceSessionId, threadId, turnId] = ["projectId", "sourceSessionId", "threadId", "turnId"].map((key) => filled(context[key]));
  return projectId && sourceSessionId && threadId && turnId ? { projectId, sourceSessionId, threadId, turnId } : null;
}

/** Asks the core for a transcript entry: handlers request actions, the core performs them. */
function noteChange(event: AgentRuntimeEvent, tools: AgentRuntimeTools) {
  const place = placeOf(event);
  if (!place) {
    tools.logger.warn({ eventType: event.type }, "the event does not say where it happened");
    return;
  }
  const messageId = noteId(place.turnId, event.payload);
  return {
    kind: "action_request",
    actionType: "transcript.upsert",
    idempotencyKey: messageId,
    payload: {
      sessionId: place.sourceSessionId,
      turnId: place.turnId,
      messageId,
      role: "system",
      type: "agent.note",
      status: "complete",
      content: summarise(event.payload),
    },
  };
}

/** Queues one job per turn; with the same dedupe key, a second request returns the same job. */
async function queueReview(event: AgentRuntimeEvent, tools: AgentRuntimeTools) {
  const place = placeOf(event);
  if (!place || event.payload.hadFileChangeRequests !== true) return;
  const settings = await tools.getSessionSettings?.(place.sourceSessionId);
  if (isRecord(settings) && settings.reviewNotes === false) return;
  return tools.enqueueJob({
    type: "agent_instruction",
    projectId: place.projectId,
    sourceSessionId: place.sourceSessionId,
    payload: {
      agent: "review-notes",
      jobKind: "review",
      ...place,
      instructionText: `Review the file changes of turn ${place.turnId}.\n\n${filled(event.payload.turnTranscriptSnapshot) ?? ""}`,
      dedupeKey: `review:${place.turnId}`,
      expectResponse: "none",
    },
  });
}

export function registerAgentEvents(registry: AgentEventRegistry): void {
  registry.on("file_change.approval_requested", noteChange, { priority: 50, timeoutMs: 5000 });
  registry.on("turn.completed", queueReview, { timeoutMs: 8000 });
}

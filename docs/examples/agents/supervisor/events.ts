// A supervisor: it explains file changes that wait for approval, reviews turns that changed files, names new chats and suggests replies.
// Each task is one job of the queue, which a hidden worker session runs; lib/settings.ts shows how a session disables a task.
import {
  isRecord,
  type AgentEventRegistry,
  type AgentRuntimeEvent,
  type AgentRuntimeTools,
  type AppServerSignalPayload,
  type FileChangeApprovalRequestedPayload,
  type SuggestRequestRequestedPayload,
  type TurnCompletedPayload,
} from "@codex-manager/agent-runtime-sdk";
import { bootstrap, explainChange, firstWords, nameChat, renaming, reviewTurn } from "./lib/prompts.js";
import { wanted } from "./lib/settings.js";

const agent = "supervisor";
/** The title of a chat without a name. */
const emptyTitle = "New chat";

/** Explains a file change where readers decide about it: below its item. The entry exists, as a placeholder, once the job runs. */
async function explain(event: AgentRuntimeEvent<string, FileChangeApprovalRequestedPayload>, tools: AgentRuntimeTools) {
  const { context, summary, details } = event.payload;
  if (!(await wanted(tools, context.sourceSessionId, "explainFileChanges"))) return;
  const change = context.approvalId ?? context.itemId ?? context.turnId;
  return tools.enqueueJob({
    type: "agent_instruction",
    projectId: context.projectId,
    sourceSessionId: context.sourceSessionId,
    payload: {
      agent,
      jobKind: "file_change_supervisor_review",
      projectId: context.projectId,
      sourceSessionId: context.sourceSessionId,
      threadId: context.threadId,
      turnId: context.turnId,
      itemId: context.itemId,
      approvalId: context.approvalId,
      anchorItemId: context.anchorItemId,
      bootstrapInstruction: bootstrap,
      instructionText: explainChange(context.userRequest, summary, details),
      dedupeKey: `file_change_supervisor_review:${context.threadId}:${change}`,
      expectResponse: "assistant_text",
      supplementalTargets: [
        {
          messageId: `supervisor-explanation:${change}`,
          type: "fileChange.explainability",
          placeholderTexts: ["Explaining this change..."],
          completeFallback: "The explanation is ready.",
          errorFallback: "This change could not be explained.",
          canceledFallback: "The explanation was canceled.",
        },
      ],
    },
  });
}

/** Reviews a turn after it ended. */
async function review(event: AgentRuntimeEvent<string, TurnCompletedPayload>, tools: AgentRuntimeTools) {
  const { context, hadFileChangeRequests, turnTranscriptSnapshot, fileChangeRequestCount } = event.payload;
  if (!hadFileChangeRequests) return;
  if (!(await wanted(tools, context.sourceSessionId, "reviewTurns"))) return;
  return tools.enqueueJob({
    type: "agent_instruction",
    projectId: context.projectId,
    sourceSessionId: context.sourceSessionId,
    payload: {
      agent,
      jobKind: "turn_supervisor_review",
      projectId: context.projectId,
      sourceSessionId: context.sourceSessionId,
      threadId: context.threadId,
      turnId: context.turnId,
      bootstrapInstruction: bootstrap,
      instructionText: reviewTurn(context.userRequest, turnTranscriptSnapshot, fileChangeRequestCount ?? 1),
      dedupeKey: `turn_supervisor_review:${context.threadId}:${context.turnId}`,
      expectResponse: "assistant_text",
    },
  });
}

/** The text of a user message item, "" for any other item. */
function userText(item: unknown): string {
  if (!isRecord(item) || item.type !== "userMessage" || !Array.isArray(item.content)) return "";
  return item.content.map((part) => (isRecord(part) && typeof part.text === "string" ? part.text : "")).join("\n").trim();
}

/** Queues one naming job per chat. The core stores the action's idempotency key, so a later message,
 * even after a restart, conflicts with the first and queues nothing. */
async function name(event: AgentRuntimeEvent<string, AppServerSignalPayload>, tools: AgentRuntimeTools) {
  const { session, params, context } = event.payload;
  const text = userText(params?.item);
  if (!session || session.title !== emptyTitle || text === "") return;
  if (!(await wanted(tools, session.id, "nameChats"))) return;
  const projectId = session.projectId ?? `session:${session.id}`;
  return {
    kind: "action_request",
    actionType: "queue.enqueue",
    idempotencyKey: `name:${session.id}`,
    payload: {
      type: "agent_instruction",
      projectId,
      sourceSessionId: session.id,
      payload: {
        agent,
        jobKind: "session_initial_rename",
        projectId,
        sourceSessionId: session.id,
        threadId: session.id,
        turnId: context.turnId ?? params.turnId,
        bootstrapInstruction: bootstrap,
        instructionText: nameChat(session.id, emptyTitle, text),
        dedupeKey: `session_initial_rename:${session.id}`,
        expectResponse: "action_intents",
        // Without an answer from the worker, the chat's name is its first words; other hosts ignore this.
        fallbackIntents: [renaming(session.id, emptyTitle, firstWords(text))],
      },
    },
  };
}

/** Suggests a reply, with the core's own job: the route responds with the job's result. */
async function suggest(event: AgentRuntimeEvent<string, SuggestRequestRequestedPayload>, tools: AgentRuntimeTools) {
  const { requestKey, projectId, sessionId, model, effort, draft } = event.payload;
  if (!(await wanted(tools, sessionId, "suggestReplies"))) return;
  return tools.enqueueJob({
    type: "suggest_request",
    projectId,
    sourceSessionId: sessionId,
    payload: { requestKey, projectId, sourceSessionId: sessionId, model, effort, draft },
  });
}

export function registerAgentEvents(registry: AgentEventRegistry): void {
  registry.on("file_change.approval_requested", explain, { timeoutMs: 10000 });
  registry.on("turn.completed", review, { timeoutMs: 10000 });
  registry.on("app_server.item.started", name, { timeoutMs: 10000 });
  registry.on("suggest_request.requested", suggest, { timeoutMs: 10000 });
}

// Types of @codex-manager/agent-runtime-sdk. The server supplies the module itself; these are for editors and `tsc --noEmit`:
//   npm install --save-dev ./path/to/harness/extensions/sdk/typescript
// Existing codex-manager extensions import these names.

/** The version of the extension contract. */
export const AGENT_RUNTIME_CORE_API_VERSION: 1;

export type RuntimeProfileId = string;

/** The runtime in which an extension runs. */
export interface AgentRuntimeProfile {
  runtimeProfileId: RuntimeProfileId;
  runtimeProfileVersion: string;
  coreApiVersion: number;
}

export interface AgentRuntimeProfileCompatibility {
  name: RuntimeProfileId;
  /** Exactly this version. */
  version?: string;
  /** A semver range. */
  versionRange?: string;
}

/** The runtime member of a manifest. */
export interface AgentRuntimeCompatibility {
  coreApiVersion?: number;
  coreApiVersionRange?: string;
  profiles: AgentRuntimeProfileCompatibility[];
}

/** The input of a handler. Each handler gets a separate copy. */
export interface AgentRuntimeEvent<TType extends string = string, TPayload = Record<string, any>> {
  type: TType;
  payload: TPayload;
  /** ISO 8601. */
  emittedAt?: string;
  /** The same when an event is delivered again. */
  correlationId?: string;
}

/** The context of synthesised events. */
export interface AgentEventContext {
  projectId: string;
  sourceSessionId: string;
  threadId: string;
  turnId: string;
  itemId?: string;
  approvalId?: string;
  anchorItemId?: string;
  userRequest?: string;
  turnTranscript?: string;
}

/** file_change.approval_requested */
export interface FileChangeApprovalRequestedPayload {
  context: AgentEventContext;
  summary: string;
  /** May be JSON. */
  details: string;
  sourceEvent: "approval_request" | "approvals_reconcile";
  fileChangeStatus: "pending_approval";
}

/** turn.completed */
export interface TurnCompletedPayload {
  context: AgentEventContext;
  hadFileChangeRequests: boolean;
  turnTranscriptSnapshot: string;
  fileChangeRequestCount?: number;
}

/** suggest_request.requested */
export interface SuggestRequestRequestedPayload {
  requestKey: string;
  sessionId: string;
  /** A project's id, or "session:<sessionId>". */
  projectId: string;
  threadId: string;
  turnId: string;
  userRequest: string;
  turnTranscript: string;
  model?: string;
  effort?: string;
  draft?: string;
}

/** app_server.* and app_server.request.* */
export interface AppServerSignalPayload {
  source: "app_server";
  signalType: "notification" | "request";
  eventType: string;
  method: string;
  /** ISO 8601. */
  receivedAt: string;
  context: { threadId: string | null; turnId: string | null };
  params: any;
  session: { id: string; title: string; projectId: string | null } | null;
  /**
   * Requests, and app_server.server_request.resolved: the id that REST and actions take. null for a request that was refused because
   * no client can answer it. Events of earlier versions have the runtime's own id here, and no nativeRequestId.
   */
  requestId?: string | number | null;
  /** Requests only: the runtime's own id; the ids start over with each of its processes. */
  nativeRequestId?: number | string;
}

export type AgentJobState = "queued" | "running" | "completed" | "failed" | "canceled";

export interface AgentJob {
  id: string;
  type: string;
  projectId: string;
  state: AgentJobState;
}

export interface AgentJobEnqueueInput {
  type: string;
  projectId: string;
  sourceSessionId?: string | null;
  payload: Record<string, unknown>;
}

export interface AgentJobEnqueueResult {
  status: "enqueued" | "already_queued";
  job: AgentJob;
}

export interface AgentRuntimeLogger {
  debug(fields: Record<string, unknown>, message?: string): void;
  info(fields: Record<string, unknown>, message?: string): void;
  warn(fields: Record<string, unknown>, message?: string): void;
  error(fields: Record<string, unknown>, message?: string): void;
}

/** The tools of a running handler; after it ended, every call is rejected. */
export interface AgentRuntimeTools {
  enqueueJob(input: AgentJobEnqueueInput): Promise<AgentJobEnqueueResult>;
  logger: AgentRuntimeLogger;
  getSessionSettings?(sessionId: string): Promise<Record<string, unknown>>;
  getSessionSetting?(sessionId: string, key: string): Promise<unknown>;
}

export interface AgentRuntimeTranscriptUpsertActionPayload {
  sessionId: string;
  entry: {
    messageId: string;
    turnId: string;
    role: "user" | "assistant" | "system";
    type: string;
    content: string;
    details?: string;
    status: "streaming" | "complete" | "canceled" | "error";
    /** Milliseconds. */
    startedAt?: number;
    completedAt?: number;
  };
}

export interface AgentRuntimeApprovalDecisionActionPayload {
  approvalId: string;
  decision: "accept" | "decline" | "cancel";
  /** "turn" when absent. */
  scope?: "turn" | "session";
  /** The reason: stored with the decision, and passed on if the runtime supports that. */
  message?: string;
}

export interface AgentRuntimeTurnSteerActionPayload {
  sessionId: string;
  turnId: string;
  input: string;
}

export interface AgentRuntimeActionPayloadByType {
  "transcript.upsert": AgentRuntimeTranscriptUpsertActionPayload;
  "approval.decide": AgentRuntimeApprovalDecisionActionPayload;
  "turn.steer.create": AgentRuntimeTurnSteerActionPayload;
  "queue.enqueue": AgentJobEnqueueInput;
}

export type AgentRuntimeActionType = keyof AgentRuntimeActionPayloadByType | (string & {});

export type AgentRuntimeActionPayload<T extends AgentRuntimeActionType> = T extends keyof AgentRuntimeActionPayloadByType
  ? AgentRuntimeActionPayloadByType[T]
  : Record<string, unknown>;

/** A handler returns this to request an action: only the core performs actions. */
export interface AgentRuntimeActionRequest<T extends AgentRuntimeActionType = AgentRuntimeActionType> {
  kind: "action_request";
  actionType: T;
  payload: AgentRuntimeActionPayload<T>;
  requestId?: string;
  /** One key acts once; the same key with another request is a conflict. */
  idempotencyKey?: string;
}

export type AgentRuntimeActionStatus = "performed" | "already_resolved" | "not_eligible" | "conflict" | "forbidden" | "invalid" | "failed";

export interface AgentRuntimeActionResult<T extends AgentRuntimeActionType = AgentRuntimeActionType> {
  actionType: T;
  status: AgentRuntimeActionStatus;
  requestId?: string;
  idempotencyKey?: string;
  details?: Record<string, unknown>;
}

export type AgentEventEnqueueResult = { kind: "enqueue_result"; moduleName: string } & AgentJobEnqueueResult;
export type AgentEventActionResult = { kind: "action_result"; moduleName: string } & AgentRuntimeActionResult;
export type AgentEventHandlerResult = { kind: "handler_result"; moduleName: string; details?: Record<string, unknown> };
export type AgentEventHandlerError = { kind: "handler_error"; moduleName: string; eventType: string; error: string };
export type AgentEventEmitResult = AgentEventEnqueueResult | AgentEventActionResult | AgentEventHandlerResult | AgentEventHandlerError;

/** Anything a handler returns becomes one of the four results. */
export type AgentEventHandler = (event: AgentRuntimeEvent<string, any>, tools: AgentRuntimeTools) => unknown;

export interface AgentEventRegistrationOptions {
  /** Lowest runs first; default 100. */
  priority?: number;
  /** Default 30000. */
  timeoutMs?: number;
}

export interface AgentEventRegistry {
  on(eventType: string, handler: AgentEventHandler, options?: AgentEventRegistrationOptions): void;
}

export interface AgentActionSelection {
  winner: AgentEventActionResult | null;
  reconciled: AgentEventActionResult[];
  failed: AgentEventActionResult[];
}

/** True for an object that is neither null nor an array. */
export function isRecord(value: unknown): value is Record<string, any>;
/** Converts a handler's return value to one of the four results. */
export function toAgentEventEmitResult(moduleName: string, eventType: string, raw: unknown): AgentEventEmitResult;
export function toAgentEventHandlerError(moduleName: string, eventType: string, error: unknown): AgentEventHandlerError;
/** The first newly queued job, otherwise the first already queued one, otherwise null. */
export function selectEnqueueWinner(
  results: AgentEventEmitResult[],
  strategy?: "prefer_enqueued" | "prefer_existing",
): AgentEventEnqueueResult | null;
export function selectFirstSuccessfulAction(results: AgentEventEmitResult[]): AgentEventActionResult | null;
export function classifyReconciledActionStatus(status: AgentRuntimeActionStatus): "winner" | "reconciled" | "failed";
export function selectActionExecutionPlan(results: AgentEventEmitResult[]): AgentActionSelection;

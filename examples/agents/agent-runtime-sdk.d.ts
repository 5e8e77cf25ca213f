// Types for authors of extensions: put this file beside yours (or name it in tsconfig's "files") and run tsc --noEmit. The module itself is
// part of the server.
declare module "@codex-manager/agent-runtime-sdk" {
  /** The version of this contract. */
  export const AGENT_RUNTIME_CORE_API_VERSION: 1;
  export const DEFAULT_HANDLER_PRIORITY: 100;
  export const DEFAULT_HANDLER_TIMEOUT_MS: 30000;

  /** Where an extension runs. */
  export interface AgentRuntimeProfile {
    runtimeProfileId: string;
    runtimeProfileVersion: string;
    coreApiVersion: number;
  }

  /** A manifest's runtime member. */
  export interface AgentRuntimeCompatibility {
    coreApiVersion?: number;
    coreApiVersionRange?: string;
    profiles?: { name: string; version?: string; versionRange?: string }[];
    /** Harness only: who runs the extension, embedded when absent. */
    host?: "embedded" | "node" | "process";
    command?: string[];
  }

  export interface AgentRuntimeEvent<Payload = Record<string, any>> {
    type: string;
    payload: Payload;
    /** ISO 8601. */
    emittedAt?: string;
    correlationId?: string;
  }

  export interface EnqueueJobInput {
    type: string;
    projectId: string;
    sourceSessionId?: string | null;
    payload: Record<string, unknown>;
  }

  export interface AgentJob {
    id: string;
    type: string;
    projectId: string;
    state: string;
  }

  export interface EnqueueJobResult {
    status: "enqueued" | "already_queued";
    job: AgentJob;
  }

  type LogMethod = (fieldsOrMessage: unknown, message?: string) => void;

  export interface AgentLogger {
    trace: LogMethod;
    debug: LogMethod;
    info: LogMethod;
    warn: LogMethod;
    error: LogMethod;
    fatal: LogMethod;
    child(bindings: Record<string, unknown>): AgentLogger;
  }

  /** What a handler may use while it runs; afterwards every call is rejected. */
  export interface AgentRuntimeTools {
    enqueueJob(input: EnqueueJobInput): Promise<EnqueueJobResult>;
    logger: AgentLogger;
    getSessionSettings?(sessionId: string): Promise<Record<string, unknown>>;
    getSessionSetting?(sessionId: string, key: string): Promise<unknown>;
  }

  export type AgentEventHandler = (event: AgentRuntimeEvent, tools: AgentRuntimeTools) => unknown;

  export interface AgentEventRegistry {
    /** Low priorities run first, 100 when absent; timeoutMs is 30000 when absent. */
    on(eventType: string, handler: AgentEventHandler, options?: { priority?: number; timeoutMs?: number }): void;
  }

  /** What a handler returns to have the core do something. */
  export interface AgentActionRequest {
    kind: "action_request";
    actionType: "transcript.upsert" | "approval.decide" | "turn.steer.create" | "queue.enqueue" | (string & {});
    payload: Record<string, unknown>;
    requestId?: string;
    idempotencyKey?: string;
  }

  export type AgentActionStatus = "performed" | "already_resolved" | "not_eligible" | "conflict" | "forbidden" | "invalid" | "failed";

  export type AgentEventEmitResult =
    | { kind: "enqueue_result"; moduleName: string; status: "enqueued" | "already_queued"; job: AgentJob }
    | { kind: "action_result"; moduleName: string; actionType: string; status: AgentActionStatus; requestId?: string; details?: Record<string, unknown> }
    | { kind: "handler_result"; moduleName: string; details?: Record<string, unknown> }
    | { kind: "handler_error"; moduleName: string; eventType: string; error: string };

  export type EnqueueResult = Extract<AgentEventEmitResult, { kind: "enqueue_result" }>;
  export type ActionResult = Extract<AgentEventEmitResult, { kind: "action_result" }>;

  /** True for an object that is neither null nor an array. */
  export function isRecord(value: unknown): value is Record<string, any>;
  /** The trimmed string, or null when there is nothing in it. */
  export function asNonEmptyString(value: unknown): string | null;
  export function toErrorMessage(error: unknown): string;
  /** Makes one of the four result kinds of whatever a handler returned. */
  export function toAgentEventEmitResult(moduleName: string, eventType: string, raw: unknown): AgentEventEmitResult;
  export function toAgentEventHandlerError(moduleName: string, eventType: string, error: unknown): AgentEventEmitResult;
  /** The first newly queued job, else the first that was queued already, else null; prefer_existing turns the order around. */
  export function selectEnqueueWinner(results: AgentEventEmitResult[], strategy?: "prefer_enqueued" | "prefer_existing"): EnqueueResult | null;
  export function selectFirstSuccessfulAction(results: AgentEventEmitResult[]): ActionResult | null;
  export function classifyReconciledActionStatus(status: AgentActionStatus): "winner" | "reconciled" | "failed";
  export function selectActionExecutionPlan(results: AgentEventEmitResult[]): { winner: ActionResult | null; reconciled: ActionResult[]; failed: ActionResult[] };
}

// The SDK as extensions import it: constants and pure helper functions. It mirrors the Go package extensions/sdk.

export const AGENT_RUNTIME_CORE_API_VERSION = 1;
export const DEFAULT_HANDLER_PRIORITY = 100;
export const DEFAULT_HANDLER_TIMEOUT_MS = 30000;

const enqueueStatuses = ["enqueued", "already_queued"];
const reconciledStatuses = ["already_resolved", "not_eligible", "conflict"];
const failedStatuses = ["failed", "forbidden", "invalid"];

/** True for an object that is neither null nor an array. */
export function isRecord(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The trimmed string, or null when there is nothing in it. */
export function asNonEmptyString(value) {
  if (typeof value !== "string") return null;
  const trimmed = value.trim();
  return trimmed === "" ? null : trimmed;
}

/** What a thrown value says: an Error's message, else the value as a string. */
export function toErrorMessage(error) {
  if (isRecord(error) && typeof error.message === "string") return error.message;
  if (typeof error === "string") return error;
  try {
    return String(error);
  } catch {
    return "unknown error";
  }
}

/** Makes one of the four result kinds of whatever a handler returned. */
export function toAgentEventEmitResult(moduleName, eventType, raw) {
  const identity = { moduleName, eventType };
  if (!isRecord(raw)) {
    return raw === undefined ? { kind: "handler_result", ...identity } : { kind: "handler_result", ...identity, details: raw };
  }
  if (raw.kind === "handler_error") {
    return { kind: "handler_error", ...identity, error: toErrorMessage(raw.error ?? raw.message ?? "handler error") };
  }
  if (raw.kind === "action_result") {
    // Only the core performs actions: a handler that claims one made a mistake.
    return {
      kind: "action_result",
      ...identity,
      actionType: typeof raw.actionType === "string" ? raw.actionType : "unknown",
      status: "invalid",
      error: "handlers return action_request; action_result is made by the core",
    };
  }
  if (enqueueStatuses.includes(raw.status) && isRecord(raw.job) && (raw.kind === undefined || raw.kind === "enqueue_result")) {
    return { kind: "enqueue_result", ...identity, status: raw.status, job: raw.job };
  }
  if (raw.kind === "handler_result") {
    return { ...raw, ...identity };
  }
  return { kind: "handler_result", ...identity, details: raw };
}

/** Makes a handler_error of what a handler threw. */
export function toAgentEventHandlerError(moduleName, eventType, error) {
  return { kind: "handler_error", moduleName, eventType, error: toErrorMessage(error) };
}

/** The enqueue result that counts: the first newly queued job, else the first one that was queued already, else null. */
export function selectEnqueueWinner(results) {
  const queued = results.filter((result) => result.kind === "enqueue_result");
  for (const status of enqueueStatuses) {
    const winner = queued.find((result) => result.status === status);
    if (winner) return winner;
  }
  return null;
}

/** The first action that was performed, or null. */
export function selectFirstSuccessfulAction(results) {
  return results.find((result) => result.kind === "action_result" && result.status === "performed") ?? null;
}

/** "performed", "reconciled" (somebody else was first) or "failed". */
export function classifyReconciledActionStatus(status) {
  if (status === "performed") return "performed";
  if (reconciledStatuses.includes(status)) return "reconciled";
  if (failedStatuses.includes(status)) return "failed";
  return "failed";
}

/** Sorts action results: the winner, those that were reconciled and those that failed. */
export function selectActionExecutionPlan(results) {
  const actions = results.filter((result) => result.kind === "action_result");
  const winner = selectFirstSuccessfulAction(actions);
  const rest = actions.filter((result) => result !== winner);
  return {
    winner,
    reconciled: rest.filter((result) => classifyReconciledActionStatus(result.status) === "reconciled"),
    failed: rest.filter((result) => classifyReconciledActionStatus(result.status) === "failed"),
  };
}

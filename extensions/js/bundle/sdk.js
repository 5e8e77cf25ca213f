// The SDK for extensions: pure helper functions. It mirrors the Go package extensions/sdk; the types are in extensions/sdk/typescript.

export const AGENT_RUNTIME_CORE_API_VERSION = 1;

const actionStatuses = ["performed", "already_resolved", "not_eligible", "conflict", "forbidden", "invalid", "failed"];

/** True for an object that is neither null nor an array. */
export function isRecord(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The message of a thrown value: an Error's message, otherwise the value as a string. */
function toErrorMessage(error) {
  if (isRecord(error) && typeof error.message === "string") return error.message;
  try {
    return String(error);
  } catch {
    return "unknown error";
  }
}

function enqueueResult(moduleName, raw) {
  if (raw.status !== "enqueued" && raw.status !== "already_queued") return null;
  const job = isRecord(raw.job) ? raw.job : {};
  if (![job.id, job.type, job.projectId].every((part) => typeof part === "string")) return null;
  return {
    kind: "enqueue_result",
    moduleName,
    status: raw.status,
    job: { id: job.id, type: job.type, projectId: job.projectId, state: typeof job.state === "string" ? job.state : "" },
  };
}

function actionResult(moduleName, raw) {
  if (typeof raw.actionType !== "string" || !actionStatuses.includes(raw.status)) return null;
  const result = { kind: "action_result", moduleName, actionType: raw.actionType, status: raw.status };
  if (typeof raw.requestId === "string" && raw.requestId !== "") result.requestId = raw.requestId;
  if (isRecord(raw.details)) result.details = raw.details;
  return result;
}

/** Converts a handler's return value to one of the four result kinds. */
export function toAgentEventEmitResult(moduleName, eventType, raw) {
  const nothing = { kind: "handler_result", moduleName };
  if (raw === undefined || raw === null) return nothing;
  if (isRecord(raw)) {
    if (raw.kind === "handler_error" && typeof raw.error === "string") {
      return { kind: "handler_error", moduleName, eventType: typeof raw.eventType === "string" ? raw.eventType : eventType, error: raw.error };
    }
    const made = enqueueResult(moduleName, raw) ?? actionResult(moduleName, raw);
    if (made) return made;
    if (raw.kind === "handler_result") return isRecord(raw.details) ? { ...nothing, details: raw.details } : nothing;
  }
  return { ...nothing, details: { value: raw } };
}

/** Makes a handler_error from the value that a handler threw. */
export function toAgentEventHandlerError(moduleName, eventType, error) {
  return { kind: "handler_error", moduleName, eventType, error: toErrorMessage(error) };
}

/**
 * The authoritative enqueue result: the first newly queued job, otherwise the first already queued one, otherwise null. The
 * strategy "prefer_existing" reverses the order.
 */
export function selectEnqueueWinner(results, strategy = "prefer_enqueued") {
  const order = strategy === "prefer_existing" ? ["already_queued", "enqueued"] : ["enqueued", "already_queued"];
  for (const status of order) {
    const winner = results.find((result) => result.kind === "enqueue_result" && result.status === status);
    if (winner) return winner;
  }
  return null;
}

/** The first action that was performed, or null. */
export function selectFirstSuccessfulAction(results) {
  return results.find((result) => result.kind === "action_result" && result.status === "performed") ?? null;
}

/** "winner", "reconciled" (another actor was first, which is harmless) or "failed". */
export function classifyReconciledActionStatus(status) {
  if (status === "performed") return "winner";
  return status === "already_resolved" || status === "not_eligible" || status === "conflict" ? "reconciled" : "failed";
}

/** Selects the authoritative action of one emit pass and classifies the others. */
export function selectActionExecutionPlan(results) {
  const actions = results.filter((result) => result.kind === "action_result");
  const winner = selectFirstSuccessfulAction(actions);
  const rest = actions.filter((result) => result !== winner);
  const failed = rest.filter((result) => classifyReconciledActionStatus(result.status) === "failed");
  return { winner, reconciled: rest.filter((result) => !failed.includes(result)), failed };
}

// The list of sessions: what is shown, in which groups, and in which order.
import type { Request, Session } from "./types";

export const filters = ["all", "waiting", "running", "failed", "unread", "archived"] as const;
export type Filter = (typeof filters)[number];
export type Group = { name: "waiting" | "running" | "today" | "yesterday" | "week" | "month"; at: number; sessions: Session[] };

const day = 24 * 60 * 60 * 1000;

/** lastAt is the time of a session's last entry, in ms. */
export const lastAt = (session: Session) => (session.lastEntryAt ?? session.updatedAt) * 1000;

/** fitsFilter reports whether a session is shown. An archived one is in its own list only, which the server makes. */
export function fitsFilter(session: Session, filter: Filter, project: string): boolean {
  if (session.archivedAt) return false;
  if (project !== "" && (session.projectId ?? "none") !== project) return false;
  switch (filter) {
    case "waiting": return session.state === "waiting";
    case "running": return session.state === "running" || session.state === "unresponsive";
    case "failed": return session.state === "error";
    case "unread": return session.unread === true;
    default: return true;
  }
}

/** oldestRequests are the first pending request of each session. */
export function oldestRequests(requests: Iterable<Request>): Map<string, Request> {
  const oldest = new Map<string, Request>();
  for (const request of requests) {
    const known = oldest.get(request.threadId);
    if (!known || request.createdAt < known.createdAt) oldest.set(request.threadId, request);
  }
  return oldest;
}

/** dayOf names the group of a time: by calendar days of the reader, then by months. */
function dayOf(at: number, now: number): Pick<Group, "name" | "at"> {
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  if (at >= midnight) return { name: "today", at: midnight };
  if (at >= new Date(midnight - day / 2).setHours(0, 0, 0, 0)) return { name: "yesterday", at: midnight - day };
  if (at >= midnight - 6 * day) return { name: "week", at: midnight - 6 * day };
  const then = new Date(at);
  return { name: "month", at: new Date(then.getFullYear(), then.getMonth(), 1).getTime() };
}

/** grouped sorts sessions into groups: those that need a person, the longest wait first; those that run; the others by day. */
export function grouped(sessions: Session[], since: (session: Session) => number, now: number): Group[] {
  const [waiting, running, rest]: Session[][] = [[], [], []];
  for (const session of sessions) {
    (session.state === "waiting" ? waiting! : session.state === "running" || session.state === "unresponsive" ? running! : rest!).push(session);
  }
  const groups: Group[] = [
    { name: "waiting", at: 0, sessions: waiting!.sort((a, b) => since(a) - since(b)) },
    { name: "running", at: 0, sessions: running!.sort((a, b) => lastAt(b) - lastAt(a)) },
  ];
  for (const session of rest!.sort((a, b) => lastAt(b) - lastAt(a))) {
    const { name, at } = dayOf(lastAt(session), now);
    const last = groups.at(-1)!;
    if (last.name === name && last.at === at) last.sessions.push(session);
    else groups.push({ name, at, sessions: [session] });
  }
  return groups.filter((group) => group.sessions.length > 0);
}

// All a page knows: sessions, what waits for a person, the transcripts that are open. Snapshots come with the stream's
// position at which they are true; frames up to it are in them already, and everything later is applied on top.
import { meaningOf, settledEntry, type Meaning } from "../adapters/wire";
import { changesOf, command } from "./entries";
import type { Frame } from "./link";
import { Signal } from "./signal";
import { Transcript } from "./transcript";
import { text } from "../text";
import type { Capabilities, Entry, PlanStep, Request, Session, Settled, Usage, Waiting } from "./types";

/** An open session: its transcript and what stands beside it. */
export class Open {
  readonly transcript: Transcript;
  readonly signal = new Signal();
  loading = true;
  failure: string | null = null;
  usage: Usage | null = null;
  plan: PlanStep[] = [];
  /** The state of the folder in the last frame about it. */
  tree = "";
  capabilities: Capabilities = {};
  /** Messages that wait for a turn's end, in the order they will be sent. */
  queue: Waiting[] = [];
  /** The entry to show, null for the newest. */
  at: string | null = null;
  /** Up to where it was read, and behind which entry it is new since it was opened; null for nowhere. */
  readTo: string | null = null;
  newBehind: string | null = null;
  /** Frames that came while the snapshot was under way. */
  waiting: Frame[] = [];
  /** Messages that were taken and have no entry yet. */
  sending: { key: number; text: string }[] = [];

  constructor(readonly sessionId: string) {
    this.transcript = new Transcript(sessionId);
  }
}

const maxOpen = 5;
/** How many frames about sessions are kept for a list that is being read: more than come while it is. */
const maxRecent = 500;
const changesSessions = new Set<Meaning["is"]>(["turn", "title", "entry", "request", "settled", "gone"]);
/** How long who decided stands beside a request that is settled, in ms. */
export const settledFor = 10_000;

export class Store {
  readonly sessions = new Map<string, Session>();
  readonly requests = new Map<string, Request>();
  /** Decisions this page has received; an older snapshot does not bring a decided request back. */
  readonly settled = new Map<string, Settled & { request?: Request }>();
  readonly open = new Map<string, Open>();
  /** Names of projects, by id. */
  projects = new Map<string, string>();
  /** There are sessions behind those that are here. */
  moreSessions = false;
  readonly list = new Signal();
  readonly inbox = new Signal();
  /** Touched when a job has changed. */
  readonly jobs = new Signal();
  /** Called when the list must be reloaded: it has sessions this page does not know. */
  onUnknown: (sessionId: string | null) => void = () => {};
  /** Called when a transcript has a hole. */
  onHole: (sessionId: string) => void = () => {};
  /** Called with finished messages and requests, for screen readers. */
  onNews: (text: string) => void = () => {};
  /** Called with what a user in another window wants to know: a pending request, an ended turn. */
  onCall: (sessionId: string, kind: "request" | "ended" | "failed", text: string) => void = () => {};
  /** Reports whether the user is viewing the end of a session. */
  looksAt: (sessionId: string) => boolean = () => false;
  private listPos = 0;
  /** The newest changes of sessions, applied to a list that was read before some of them. */
  private recent: { pos: number; id: string | null; meaning: Meaning }[] = [];

  constructor(private readonly now: () => number = Date.now) {}

  setSessions(sessions: Session[], pos: number) {
    const archived = [...this.sessions.values()].filter((s) => s.archivedAt && this.open.has(s.sessionId)); // no list has them
    this.sessions.clear();
    for (const session of archived) this.sessions.set(session.sessionId, session);
    for (const session of sessions) this.sessions.set(session.sessionId, session);
    this.listPos = pos;
    this.recent = this.recent.filter((one) => one.pos > pos);
    for (const { id, meaning } of this.recent) this.change(id, meaning);
    this.list.touch();
    this.flush();
  }

  putSession(session: Session) {
    this.sessions.set(session.sessionId, session);
    this.list.touch();
    this.open.get(session.sessionId)?.signal.touch();
    this.flush();
  }

  /** setUnread notes whether the end of a session was read, here or in another window. */
  setUnread(sessionId: string, unread: boolean) {
    const session = this.sessions.get(sessionId);
    if (session && !!session.unread !== unread) this.putSession({ ...session, unread });
  }

  setRequests(requests: Request[]) {
    this.requests.clear();
    for (const request of requests) if (!this.settled.has(request.id)) this.requests.set(request.id, request);
    this.inbox.touch();
    this.flush();
  }

  /** opened is the session with its transcript, made when it is not there; the one used longest ago goes. */
  opened(sessionId: string): Open {
    let open = this.open.get(sessionId);
    if (open) this.open.delete(sessionId);
    else {
      open = new Open(sessionId);
      open.transcript.onHole = () => this.onHole(sessionId);
    }
    this.open.set(sessionId, open);
    for (const id of [...this.open.keys()].slice(0, -maxOpen)) this.open.delete(id);
    return open;
  }

  /** loaded takes the snapshot of an open session, and then what came meanwhile. */
  loaded(open: Open, entries: Entry[], older: string | null, newer: string | null, pos: number) {
    open.transcript.reset(entries, older, newer, pos);
    open.loading = false;
    open.failure = null;
    const waiting = open.waiting;
    open.waiting = [];
    for (const frame of waiting) this.toTranscript(open, frame, meaningOf(frame));
    open.signal.touch();
    this.flush();
  }

  /** take applies frames, in order, and notifies the views once. */
  take(frames: Frame[]) {
    for (const frame of frames) this.apply(frame);
    this.flush();
  }

  flush() {
    for (const open of this.open.values()) {
      open.transcript.flush();
      open.signal.flush();
    }
    this.list.flush();
    this.inbox.flush();
    this.jobs.flush();
  }

  private apply(frame: Frame) {
    const id = frame.threadId ?? null;
    const open = id ? this.open.get(id) : undefined;
    if (!open && isDelta(frame)) return; // of a session that is not on screen
    const meaning = meaningOf(frame);
    if (meaning.is === "nothing") return;
    if (meaning.is === "job") return this.jobs.touch();
    this.toRequests(meaning);
    if (frame.pos === undefined || frame.pos > this.listPos) this.toSession(id, meaning);
    if (frame.pos !== undefined && changesSessions.has(meaning.is)) {
      this.recent.push({ pos: frame.pos, id, meaning });
      if (this.recent.length > maxRecent) this.recent.shift();
    }
    if (!open) return;
    if (open.loading) open.waiting.push(frame);
    else this.toTranscript(open, frame, meaning);
  }

  private toRequests(meaning: Meaning) {
    if (meaning.is === "request") {
      if (this.settled.has(meaning.request.id)) return;
      this.requests.set(meaning.request.id, meaning.request);
      this.onCall(meaning.request.threadId, "request", meaning.request.summary);
      this.onNews(text.request.news(this.sessions.get(meaning.request.threadId)?.title || text.list.untitled, meaning.request.summary));
    } else if (meaning.is === "settled") {
      this.settle(meaning.id, meaning.settled);
    } else return;
    this.inbox.touch();
    this.list.touch();
  }

  /** settle takes a request away, and keeps who decided. */
  settle(id: string, settled: Settled) {
    const request = this.requests.get(id);
    const known = this.settled.get(id);
    this.settled.set(id, { ...known, ...settled, by: settled.by ?? known?.by, request: request ?? known?.request });
    this.requests.delete(id);
    this.inbox.touch();
    this.list.touch();
  }

  private toSession(id: string | null, meaning: Meaning) {
    if (meaning.is === "list") return this.onUnknown(null);
    const session = id ? this.sessions.get(id) : undefined;
    if (!session) {
      if (id && ["turn", "request", "title"].includes(meaning.is)) this.onUnknown(id);
      return;
    }
    if (meaning.is === "turn" && meaning.state !== "started") {
      this.onCall(session.sessionId, meaning.failed === null ? "ended" : "failed", meaning.failed ?? "");
      if (meaning.failed !== null) this.onUnknown(session.sessionId); // the list says whether it can be retried
    }
    this.change(id, meaning);
  }

  private change(id: string | null, meaning: Meaning) {
    const session = id ? this.sessions.get(id) : undefined;
    if (!session) return;
    const change = this.changeOf(session, meaning);
    if (meaning.is === "gone") this.sessions.delete(session.sessionId);
    else if (change) this.sessions.set(session.sessionId, { ...session, ...change, updatedAt: Math.floor(this.now() / 1000) });
    else return;
    this.list.touch();
    this.open.get(session.sessionId)?.signal.touch();
  }

  private changeOf(session: Session, meaning: Meaning): Partial<Session> | null {
    switch (meaning.is) {
      case "turn":
        if (meaning.state === "started") return { state: "running", activeTurnId: meaning.turnId, lastError: null, line: null, retryableTurnId: undefined };
        return {
          state: meaning.failed === null ? "idle" : "error",
          activeTurnId: null,
          line: null,
          lastError: meaning.failed === null ? null : { turnId: meaning.turnId, message: meaning.failed },
        };
      case "title":
        return { title: meaning.title };
      case "entry":
        if (meaning.entry.type === "turn.retrying") {
          const { status, turnId, texts } = meaning.entry;
          return { lastError: status === "error" ? { turnId, message: texts.text ?? "" } : null };
        }
        return changed({ line: doing(meaning.entry), unread: meaning.entry.status === "complete" && !this.looksAt(session.sessionId) ? true : session.unread }, session);
      case "background":
        return { activity: { turn: session.activeTurnId, background: meaning.tasks } };
      case "request":
        return { state: "waiting" };
      case "settled": {
        const waits = [...this.requests.values()].some((r) => r.threadId === session.sessionId);
        return session.activeTurnId === null ? {} : { state: waits ? "waiting" : "running" };
      }
      default:
        return null;
    }
  }

  private toTranscript(open: Open, frame: Frame, meaning: Meaning) {
    const { transcript } = open;
    if (frame.pos !== undefined && frame.pos <= transcript.pos) return; // it is in the snapshot
    switch (meaning.is) {
      case "delta":
        transcript.grow(meaning.delta.start, meaning.delta.id, meaning.delta.part, meaning.delta.offset, meaning.delta.text);
        return;
      case "entry": {
        const { entry } = meaning;
        transcript.upsert(entry);
        if (entry.role === "user") open.sending.shift();
        if (entry.role === "assistant" && entry.status === "complete") this.onNews(entry.texts.text ?? "");
        break;
      }
      case "settled": {
        const settled = this.settled.get(meaning.id);
        if (settled?.request) transcript.upsert(settledEntry(settled.request, settled));
        break;
      }
      case "turn":
        if (meaning.state !== "cut") return;
        transcript.cutTurn(meaning.turnId);
        break;
      case "usage":
        open.usage = meaning.usage;
        break;
      case "plan":
        open.plan = meaning.plan;
        break;
      case "authored":
        transcript.authored(meaning.turnId, meaning.number, meaning.author);
        break;
      case "queue":
        open.queue = meaning.queue;
        break;
      case "returned": // turns that an undo brought back
        this.onHole(open.sessionId);
        return;
      case "changes":
        open.tree = meaning.tree;
        break;
      case "rolledBack":
        transcript.removeTurns(meaning.turnIds);
        break;
      case "unknown":
        transcript.upsert({
          messageId: `frame-${frame.pos}`, turnId: "", role: "system", type: meaning.type, status: "complete", texts: {},
          item: frame.payload?.params ?? frame.payload,
        });
        break;
      default:
        return;
    }
    open.signal.touch();
  }
}

/** doing is what a step does while it runs, null once it is over, undefined for what is no step. */
function doing(entry: Entry): Session["line"] {
  if (!["commandExecution", "fileChange"].includes(entry.type)) return undefined;
  if (entry.status !== "streaming") return null;
  if (entry.type === "commandExecution") return { kind: "running", text: command(entry) };
  return { kind: "editing", text: changesOf(entry.item).map(({ path }) => path.split("/").at(-1)).join(", ") };
}

/** changed is a change without what is as it was, null for none. */
function changed({ line, unread }: Pick<Session, "line" | "unread">, session: Session): Partial<Session> | null {
  const change = { ...(line !== undefined && line?.text !== session.line?.text && { line }), ...(unread !== session.unread && { unread }) };
  return Object.keys(change).length > 0 ? change : null;
}

const isDelta = (frame: Frame) => frame.type === "notification" && frame.offset !== undefined;

// The page's connection with its server: snapshot, stream, and what has to be read again.
import { requestOf } from "./adapters/wire";
import { Api, ApiError } from "./core/api";
import type { Answer } from "./api/answers";
import { Composing, type Said } from "./core/composing";
import { Drafts } from "./core/drafts";
import { Link, type Socket } from "./core/link";
import { actorName } from "./core/names";
import { Outbox, Unanswered, type Way } from "./core/outbox";
import { Push } from "./core/push";
import { Shell } from "./core/shell";
import { Signal } from "./core/signal";
import { Store, type Open } from "./core/store";
import type { Link as LinkState, Me, Model, Session } from "./core/types";
import { text } from "./text";
import { upload } from "./upload";
import { Thumbnails } from "./core/thumbnails";
import { Transcripts } from "./transcripts";

type Options = { effort?: string; images?: string[] };
type Listed = { data: Session[]; nextCursor: string | null; pos: number };
/** How long a stop waits for messages that were entered before it, in ms. */
const stopWaits = 1000;
/** When a message without an answer is sent again while the connection holds, and until when it is sent without a click, in ms. */
const [resumesAfter, sendsByItself] = [3000, 600_000];
/** When a page that has not reached the server tries again, in ms. */
const startsAfter = 1000;
/** How long an end is looked at before it is noted as read, in ms. */
const readAfter = 500;
const pathOf = (sessionId: string) => `/api/sessions/${encodeURIComponent(sessionId)}`;
const kinds = { approval: "approval", toolInput: "question", toolCall: "tool" } as const;

/** linkCode is the one-time link in the page's address. */
const linkCode = () => /^#link=(hrk_[\w-]+)$/.exec(location.hash)?.[1];

export class Client {
  readonly api: Api;
  readonly store = new Store();
  readonly transcripts: Transcripts;
  readonly drafts = new Drafts(localStorage);
  readonly push: Push;
  readonly shell: Shell;
  readonly thumbnails: Thumbnails;
  /** The state of the connection, and who is logged in. */
  readonly signal = new Signal();
  readonly news = new Signal();
  said = "";
  state: LinkState = "connecting";
  /** Since when the connection is lost; null while it holds, and before it did for the first time. */
  lostAt: number | null = null;
  /** When it is tried next, null while it is tried. */
  nextTry: number | null = null;
  private wasLive = false;
  me: Me | null = null;
  private readonly people = new Map<string, string>();
  /** A message of one line: a gap that was reloaded, a failure. */
  notice: string | null = null;
  /** Why the one-time link in the page's address did not sign in. */
  wanted: string | null = null;
  upgraded = false;
  /** What was just done and can be undone. */
  done: { what: string; undo: () => Promise<void> } | null = null;
  /** Grows when a session was archived or is no longer. */
  archivedRev = 0;
  private readonly link: Link;
  private rereading: Promise<void> | null = null;
  private unknown: ReturnType<typeof setTimeout> | null = null;

  constructor(readonly base: string) {
    this.api = new Api(base);
    this.api.onLogin = () => this.toLogin();
    this.push = new Push(this.api, "PushManager" in window ? navigator.serviceWorker : undefined);
    this.thumbnails = new Thumbnails(this.api);
    this.shell = new Shell(base, import.meta.env.PROD ? navigator.serviceWorker : undefined);
    this.transcripts = new Transcripts(this.api, this.store, (notice) => this.say(notice));
    this.store.onUnknown = () => this.soon();
    this.store.onHole = (id) => void this.transcripts.fill(id);
    this.store.onNews = (text) => this.announce(text);
    this.link = new Link({
      open: (after, named) => this.socket(after, named),
      take: (frames) => this.store.take(frames),
      reread: (verdict) => {
        this.say(verdict === "gap" ? text.link.gap : text.link.replaced);
        void this.reread();
      },
      changed: (state) => {
        this.state = state;
        if (state === "live") {
          void this.checkVersion();
          void this.shell.keep().catch(() => {}); // it comes from the server then
          this.resume();
        }
        this.wasLive ||= state === "live";
        if (state === "live" || state === "login") this.lostAt = null;
        else if (this.wasLive) this.lostAt ??= Date.now();
        this.touch();
      },
      tries: (at) => {
        this.nextTry = at;
        this.touch();
      },
      admitted: () => this.admitted(),
      schedule: (work) => (document.hidden ? setTimeout(work, 250) : requestAnimationFrame(work)),
      online: () => navigator.onLine,
    });
    this.store.looksAt = (id) => this.looking === id && document.hasFocus();
    this.windows.onmessage = ({ data }: MessageEvent<{ sessionId: string; unread: boolean }>) => this.store.setUnread(data.sessionId, data.unread);
    addEventListener("hashchange", () => linkCode() && location.reload()); // opened in this very tab
    addEventListener("focus", () => this.state === "live" && this.soon()); // what was read elsewhere
    addEventListener("online", () => this.link.retry());
    addEventListener("offline", () => this.link.lost());
    addEventListener("pageshow", () => this.link.probe());
    document.addEventListener("visibilitychange", () => (document.hidden ? this.link.flush() : this.link.probe()));
  }

  /** enter logs in by the one-time link in the page's address, if there is one, and starts. */
  async enter(): Promise<void> {
    const code = linkCode();
    if (!code) return this.start();
    history.replaceState(null, "", this.base); // not into the history, where it would be of no use either
    try {
      await this.login(code);
    } catch (err) {
      await this.start(); // the browser may be logged in already
      if (this.state === "login") this.wanted = err instanceof Error ? err.message : String(err);
      this.touch();
    }
  }

  /** start reads what there is and follows the stream from there. */
  async start(): Promise<void> {
    clearTimeout(this.starting);
    this.starting = undefined;
    try {
      this.me = await this.api.get<Me>("/api/me");
      const listed = await this.sessions();
      this.link.start(listed.pos);
      await this.requests();
      if (this.notice === text.link.unreachable) this.notice = null;
      void this.namePeople();
      this.touch();
      void this.push.start();
    } catch (err) {
      if (err instanceof ApiError && err.unauthorized) return;
      if (err instanceof ApiError && err.status === 403) return this.say(err.message);
      const away = !(err instanceof ApiError) || (err.code === "" && [502, 503, 504].includes(err.status));
      this.say(away ? text.link.unreachable : err.message);
      this.starting = setTimeout(() => void this.start(), startsAfter);
    }
  }
  private starting: ReturnType<typeof setTimeout> | undefined;

  async login(token: string): Promise<void> {
    this.me = await this.api.post<Me>("/api/login", { token });
    this.state = "connecting";
    this.touch();
    await this.start();
    for (const open of this.store.open.values()) void this.transcripts.read(open);
  }

  /** logout also ends the notifications of this browser, and deletes what it keeps of the page. */
  async logout(): Promise<void> {
    await this.push.off().catch((err: Error) => this.say(err.message));
    await this.api.post("/api/logout");
    await this.shell.forget().catch(() => {});
    location.reload();
  }

  /** nameOf is what people call an actor: "you" is the one who looks. */
  nameOf(actor: string, name?: string): string {
    return actor === this.me?.actor ? text.request.you : name || (this.people.get(actor) ?? actorName(actor));
  }

  /** namePeople learns the names of who logs in at providers; without them their actors are shown. */
  private async namePeople(): Promise<void> {
    const known = await this.api.get<Answer<"/api/people">>("/api/people").catch(() => null);
    for (const person of known?.data ?? []) this.people.set(person.actor, person.name);
    this.touch();
  }

  may(kind: string): boolean {
    return this.me?.allowed.includes(kind) ?? false;
  }

  say(notice: string | null) {
    this.notice = notice;
    this.touch();
  }

  /** finish notes what was just done, null when that is past. */
  finish(done: Client["done"]) {
    this.done = done;
    this.touch();
  }

  /** archive takes a session out of the list, and offers to undo that. */
  async archive(session: Session): Promise<void> {
    await this.api.post(`${pathOf(session.sessionId)}/archive`);
    this.store.putSession({ ...session, archivedAt: Math.floor(Date.now() / 1000), ...(this.me && { archivedBy: { actor: this.me.actor } }) });
    this.archivedRev++;
    this.finish({ what: text.side.archived, undo: () => this.unarchive(session.sessionId) });
  }

  async unarchive(sessionId: string): Promise<void> {
    await this.api.post(`${pathOf(sessionId)}/unarchive`);
    const known = this.store.sessions.get(sessionId);
    if (known) this.store.putSession({ ...known, archivedAt: undefined, archivedBy: undefined });
    this.archivedRev++;
    await this.sessions();
    this.touch();
  }

  /** archivedSessions are the newest archived ones, of a project or of all. */
  async archivedSessions(project: string): Promise<Session[]> {
    const query = new URLSearchParams({ view: "console", archived: "true", limit: "100", ...(project && { project }) });
    return (await this.api.get<Listed>(`/api/sessions?${query}`)).data;
  }

  /** tryNow connects at once. */
  tryNow() {
    if (this.me) this.link.retry();
    else if (this.starting !== undefined) void this.start();
  }

  /** reload loads the page that the server has now. */
  async reload(): Promise<void> {
    await this.shell.renew();
    location.reload();
  }

  /** retry sends the message of a turn again that ended before the agent did anything. */
  async retry(sessionId: string, turnId: string): Promise<void> {
    await this.api.post(`${pathOf(sessionId)}/turns/${encodeURIComponent(turnId)}/retry`);
  }

  /** announce has screen readers read a text. */
  announce(text: string) {
    this.said = text.slice(0, 300);
    this.news.touch();
    this.news.flush();
  }

  /** open shows a session, around an entry: its transcript is read unless it is in memory, which the stream keeps true. */
  open(sessionId: string, at: string | null = null): Open {
    const known = this.store.open.has(sessionId);
    const open = this.store.opened(sessionId);
    if (known) {
      open.newBehind = this.store.sessions.get(sessionId)?.unread ? open.readTo : null;
      this.transcripts.show(open, at);
    }
    else {
      open.at = at;
      // What is read once its texts are followed, and what comes then, is all there is.
      void this.link.follow([...this.store.open.keys()]).then(() => this.transcripts.read(open));
    }
    return open;
  }

  /** models are those a runtime offers, asked for once. */
  models(runtime: string): Promise<Model[]> {
    let asked = this.offered.get(runtime);
    if (!asked) {
      asked = this.api.get<{ data: Model[] }>(`/api/models?runtime=${encodeURIComponent(runtime)}&limit=100`).then(({ data }) => data.filter((m) => !m.hidden));
      asked.catch(() => this.offered.delete(runtime)); // the next view asks again
      this.offered.set(runtime, asked);
    }
    return asked;
  }
  private readonly offered = new Map<string, Promise<Model[]>>();

  private readonly outbox = new Outbox(localStorage);

  /** once sends a message that is taken once, however often it is sent until it is answered. */
  private async once(sessionId: string, to: Way["to"], text: string, { effort, ...options }: Options): Promise<void> {
    const message = JSON.stringify([sessionId, text, options]);
    const { key, way } = this.outbox.sent(message, { to, ...(effort ? { effort } : {}) });
    try {
      await this.api.post(`${pathOf(sessionId)}/${way.to}`, { text, ...options, ...(way.effort ? { effort: way.effort } : {}) }, { "Idempotency-Key": key });
      this.outbox.answered(message);
    } catch (err) {
      if (!(err instanceof ApiError) || [502, 503, 504].includes(err.status)) throw new Unanswered();
      if (err.code !== "" && err.code !== "idempotency_key_in_use") this.outbox.answered(message);
      throw err;
    }
  }

  /** begin makes a session and sends its first message, once however often it is asked for until it is answered. */
  async begin(wanted: Record<string, unknown> & { message: { text: string } }): Promise<Session> {
    const message = JSON.stringify(["new", wanted]);
    const { key } = this.outbox.sent(message, { to: "messages" });
    try {
      const { session } = await this.api.post<{ session: Session }>("/api/sessions", wanted, { "Idempotency-Key": key });
      this.outbox.answered(message);
      // The name came by the stream, or comes: this answer has the one of clients that know no names.
      if (!this.store.sessions.has(session.sessionId)) this.store.putSession({ ...session, title: "" });
      return session;
    } catch (err) {
      if (err instanceof ApiError && err.code !== "" && err.code !== "idempotency_key_in_use") this.outbox.answered(message);
      throw err;
    }
  }

  async editQueued(open: Open, id: string, text: string): Promise<void> {
    await this.api.patch(`${pathOf(open.sessionId)}/queue/${encodeURIComponent(id)}`, { text });
  }

  async dropQueued(open: Open, id: string): Promise<void> {
    await this.api.delete(`${pathOf(open.sessionId)}/queue/${encodeURIComponent(id)}`);
  }

  /** sendQueued sends one that waits at once: into the running turn, or in its place where the runtime cannot steer. */
  async sendQueued(open: Open, id: string): Promise<void> {
    await this.api.post(`${pathOf(open.sessionId)}/queue/${encodeURIComponent(id)}/send`);
  }

  async moveQueued(open: Open, id: string, before: string): Promise<void> {
    await this.api.post(`${pathOf(open.sessionId)}/queue/${encodeURIComponent(id)}/move`, { before });
  }

  /** endBackground ends one task that works on outside the turns. */
  async endBackground(sessionId: string, id: string): Promise<void> {
    await this.api.post(`${pathOf(sessionId)}/background/${encodeURIComponent(id)}/stop`);
  }

  /** composing is what is written to a session, kept while other sessions are looked at. */
  composing({ sessionId }: Open): Composing {
    let composing = this.composed.get(sessionId);
    if (!composing) {
      composing = new Composing(sessionId, this.drafts, (said, behind) => this.post(sessionId, said, behind),
        (err) => (err instanceof ApiError ? text.composer.failed + err.message : text.composer.unanswered),
        (err) => {
          if (!(err instanceof Unanswered)) return false;
          if (this.state === "live") setTimeout(() => this.resume(), resumesAfter); // else it goes out once the connection is back
          return true;
        });
      this.composed.set(sessionId, composing);
    }
    return composing;
  }
  private readonly composed = new Map<string, Composing>();

  /** resume sends what is held for want of an answer, unless that is so long ago that it may not be meant any more. */
  private resume() {
    for (const composing of this.composed.values()) {
      if (composing.heldSince !== null && Date.now() - composing.heldSince < sendsByItself) composing.resume();
    }
  }

  /** post sends a message: at once to a session that is idle or is to be steered, else behind its turn. */
  private async post(sessionId: string, { text: said, images, effort, steer }: Said, behind: boolean): Promise<void> {
    const named = await Promise.all(images.map((image) => image.kept)); // once they are there
    const running = behind || !!this.store.sessions.get(sessionId)?.activeTurnId;
    const options = { ...(effort && !(running && steer) ? { effort } : {}), ...(named.length > 0 ? { images: named } : {}) };
    if (running && !steer) await this.once(sessionId, "queue", said, options); // a frame then lists the queued messages
    else await this.send(sessionId, said, options);
    for (const image of images) URL.revokeObjectURL(image.url);
  }

  /** looking is the session whose end is on the screen, null for none. */
  looking: string | null = null;
  private readonly windows = new BroadcastChannel("harness.read");
  private marking: ReturnType<typeof setTimeout> | undefined;

  /** read records that the user has seen a session up to an entry; calls in quick succession are merged. */
  read(open: Open, messageId: string) {
    if (open.readTo === messageId) return;
    open.readTo = messageId;
    this.store.setUnread(open.sessionId, false);
    clearTimeout(this.marking);
    this.marking = setTimeout(() => {
      this.windows.postMessage({ sessionId: open.sessionId, unread: false });
      // What is not noted is unread when the list is read again: nothing is lost by it.
      this.api.post(`${pathOf(open.sessionId)}/read`, { messageId }).catch(() => {});
    }, readAfter);
  }

  /** markUnread keeps a session unread until the user opens it again. */
  async markUnread(sessionId: string): Promise<void> {
    await this.api.delete(`${pathOf(sessionId)}/read`);
    this.store.setUnread(sessionId, true);
    this.windows.postMessage({ sessionId, unread: true });
  }

  /**
   * stop ends the turn of a session. What was entered before goes before it: a message that steers belongs to the turn that is
   * stopped, and must not begin another one behind it.
   */
  async stop(sessionId: string): Promise<void> {
    await this.composed.get(sessionId)?.answered(stopWaits);
    await this.api.post(`${pathOf(sessionId)}/interrupt`).catch((err: Error) => this.say(err.message));
  }

  /** upload has a picture kept for messages of a session, and resolves to what names it there. */
  async upload({ sessionId }: Open, name: string, image: Blob, progress: (share: number) => void): Promise<string> {
    const url = this.api.url(`${pathOf(sessionId)}/uploads?name=${encodeURIComponent(name.slice(0, 200))}`);
    return (await upload<{ image: string }>(url, image, progress)).image;
  }

  async send(sessionId: string, text: string, options: Options): Promise<void> {
    const open = this.store.open.get(sessionId);
    const mark = { key: Date.now(), text };
    open?.sending.push(mark);
    open?.signal.touch();
    this.store.flush();
    try {
      await this.once(sessionId, "messages", text, options);
    } catch (err) {
      if (open) open.sending = open.sending.filter((m) => m !== mark);
      open?.signal.touch();
      this.store.flush();
      throw err;
    }
  }

  private touch() {
    this.signal.touch();
    this.signal.flush();
  }

  /** How many pages of the list are shown; each reading takes them all. */
  private pages = 1;

  /** moreSessions reads one page more of the list. */
  async moreSessions(): Promise<void> {
    this.pages++;
    try {
      await this.sessions();
    } catch (err) {
      this.pages--;
      this.say(err instanceof Error ? err.message : String(err));
    }
  }

  private async sessions(): Promise<Listed> {
    const projects = this.api.get<Answer<"/api/projects">>("/api/projects");
    const first = await this.api.get<Listed>("/api/sessions?view=console&limit=100");
    const all = [...first.data];
    let next = first.nextCursor;
    for (let page = 1; page < this.pages && next !== null; page++) {
      const listed = await this.api.get<Listed>(`/api/sessions?view=console&limit=100&cursor=${encodeURIComponent(next)}`);
      all.push(...listed.data);
      next = listed.nextCursor;
    }
    this.store.projects = new Map((await projects).data.map((p) => [p.projectId, p.name]));
    this.store.moreSessions = next !== null;
    this.store.setSessions(all, first.pos);
    return first;
  }

  private async requests(): Promise<void> {
    const { data } = await this.api.get<{ data: ({ kind: keyof typeof kinds } & Record<string, unknown>)[] }>("/api/requests");
    this.store.setRequests(data.map((payload) => requestOf(kinds[payload.kind], payload)));
  }

  /** reread takes all snapshots again, for as long as that takes; what is shown stays until they are there. */
  private reread(): Promise<void> {
    this.rereading ??= (async () => {
      for (const open of this.store.open.values()) open.loading = true;
      for (;;) {
        try {
          await this.sessions();
          await this.requests();
          await Promise.all([...this.store.open.values()].map((open) => this.transcripts.read(open)));
          return;
        } catch (err) {
          if (err instanceof ApiError && !err.passing) return this.say(err.message); // a login reloads everything
          await new Promise((next) => setTimeout(next, 1000));
        }
      }
    })().finally(() => (this.rereading = null));
    return this.rereading;
  }

  /** soon reads the list again, once for many sessions that came at once. */
  private soon(wait = 200) {
    if (this.unknown) return;
    this.unknown = setTimeout(() => {
      this.unknown = null;
      this.sessions().catch((err: unknown) => {
        if (!(err instanceof ApiError) || err.passing) this.soon(1000);
        else this.say(err.message);
      });
    }, wait);
  }

  private socket(after: number, named: string[]): Socket {
    const url = new URL(`api/stream?view=console&after=${after}`, this.base);
    for (const id of named) url.searchParams.append("threadIds", id);
    url.protocol = url.protocol.replace("http", "ws");
    return new WebSocket(url) as unknown as Socket;
  }

  private async admitted(): Promise<boolean> {
    try {
      this.me = await this.api.get<Me>("/api/me");
      return true;
    } catch (err) {
      if (err instanceof ApiError && err.unauthorized) return false;
      throw err;
    }
  }

  private toLogin() {
    this.link.stop();
    this.state = "login";
    this.wanted = null;
    this.touch();
  }

  /** checkVersion compares the page the server has now with this one. */
  private async checkVersion(): Promise<void> {
    const own = document.querySelector<HTMLScriptElement>('script[type="module"][src*="assets/"]')?.getAttribute("src");
    if (!own) return;
    try {
      const page = await (await fetch(this.base, { headers: { Accept: "text/html" }, cache: "no-store" })).text();
      const upgraded = page.includes('type="module"') && !page.includes(own.replace(/^.*assets\//, "assets/"));
      if (upgraded !== this.upgraded) {
        this.upgraded = upgraded;
        this.touch();
      }
    } catch {
      // The next connection asks again.
    }
  }
}

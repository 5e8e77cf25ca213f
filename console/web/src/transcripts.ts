// Transcripts of open sessions, read by windows.
import { entriesOf, figuresOf, type RestEntry } from "./adapters/wire";
import { ApiError, type Api } from "./core/api";
import type { Open, Store } from "./core/store";
import type { Author, Capabilities, Session, Waiting } from "./core/types";

type Window = {
  session: Session & { plan?: unknown; usage?: unknown; readTo?: string | null };
  transcript: RestEntry[];
  authors?: Record<string, Author>;
  window: { before: string | null; after: string | null };
  pos: number;
  capabilities?: Capabilities;
};

const windowSize = 100;

export class Transcripts {
  private readonly reading = new Set<string>();
  private readonly holes = new Set<string>();

  constructor(private readonly api: Api, private readonly store: Store, private readonly say: (notice: string) => void) {}

  async read(open: Open): Promise<void> {
    open.loading = true;
    const { at } = open;
    try {
      const got = (await this.around(open)) ?? (await this.window(open, ""));
      // Behind the window: frames after the window's position have the whole queue.
      open.queue = (await this.api.get<{ data: Waiting[] }>(`/api/sessions/${encodeURIComponent(open.sessionId)}/queue`)).data;
      open.capabilities = got.capabilities ?? {};
      const first = open.readTo === null;
      Object.assign(open, figuresOf(got.session));
      if (first && got.session.unread) open.newBehind = open.readTo;
      this.store.loaded(open, entriesOf(got), got.window.before, got.window.after, got.pos);
      if (!this.store.sessions.has(open.sessionId)) this.store.putSession(got.session);
      if (open.at !== at && open.at !== null && !open.transcript.rows.has(open.at)) void this.read(open);
    } catch (err) {
      open.failure = err instanceof Error ? err.message : String(err);
      open.loading = false;
      open.signal.touch();
      this.store.flush();
      if (!(err instanceof ApiError) || err.passing) setTimeout(() => void this.read(open), 1000);
    }
  }

  private window(open: Open, query: string): Promise<Window> {
    return this.api.get<Window>(`/api/sessions/${encodeURIComponent(open.sessionId)}?view=console&limit=${windowSize}${query}`);
  }

  /** around reads the entries around the one to show; null when the newest entries suffice. */
  private async around(open: Open): Promise<Window | null> {
    if (open.at === null || open.transcript.rows.has(open.at)) return null;
    try {
      return await this.window(open, `&around=${encodeURIComponent(open.at)}`);
    } catch (err) {
      if (!(err instanceof ApiError) || err.passing) throw err;
      open.at = null;
      this.say(err.message); // there is no such entry (any more)
      return null;
    }
  }

  /** show loads the entry to show; null for the newest ones. */
  show(open: Open, at: string | null) {
    if (open.at === at) return;
    open.at = at;
    if (at !== null && !open.loading && !open.transcript.rows.has(at)) void this.read(open);
    open.signal.touch();
    this.store.flush();
  }

  /** more reads on at one end. false: there is nothing more, or it is being read. */
  async more(open: Open, where: "older" | "newer"): Promise<boolean> {
    const { transcript } = open;
    const at = where === "older" ? transcript.older : transcript.newer;
    if (at === null || open.loading || this.reading.has(open.sessionId)) return false;
    this.reading.add(open.sessionId);
    try {
      const name = where === "older" ? "before" : "after";
      const got = await this.window(open, `&${name}=${encodeURIComponent(at)}`);
      if (at !== (where === "older" ? transcript.older : transcript.newer)) return false; // another window was read meanwhile
      transcript.extend(entriesOf(got), where, where === "older" ? got.window.before : got.window.after);
      requestAnimationFrame(() => transcript.trim(where));
      return true;
    } finally {
      this.reading.delete(open.sessionId);
    }
  }

  /** fill reads a session again whose text has a hole. */
  async fill(sessionId: string): Promise<void> {
    const open = this.store.open.get(sessionId);
    if (!open || this.holes.has(sessionId)) return;
    this.holes.add(sessionId);
    try {
      await this.read(open);
    } finally {
      this.holes.delete(sessionId);
    }
  }
}

// Unsent text, by session. It survives reloads; nothing else of the page is kept in the browser
// but settings.
import { Signal } from "./signal";

const prefix = "harness.draft.";

export type Store = Pick<Storage, "getItem" | "setItem" | "removeItem">;

const joined = (texts: string[]) => texts.filter((text) => text !== "").join("\n");

export class Drafts {
  /** A text was put into a draft by something other than typing. */
  readonly offered = new Signal();
  /** What this page is sending, by session: a draft again if the page is reloaded before it was accepted. */
  private readonly leaving = new Map<string, string[]>();

  constructor(private readonly store: Store) {}

  get(sessionId: string): string {
    const kept = this.store.getItem(prefix + sessionId) ?? "";
    const leaving = joined(this.leaving.get(sessionId) ?? []);
    if (leaving === "" || !kept.startsWith(leaving)) return kept;
    return kept.slice(leaving.length).replace(/^\n/, "");
  }

  set(sessionId: string, text: string) {
    const kept = joined([...(this.leaving.get(sessionId) ?? []), text]);
    if (kept === "") this.store.removeItem(prefix + sessionId);
    else this.store.setItem(prefix + sessionId, kept);
  }

  /** send takes a draft out to be sent, behind what is sent already. */
  send(sessionId: string, text: string) {
    this.leaving.set(sessionId, [...(this.leaving.get(sessionId) ?? []), text]);
    this.set(sessionId, "");
  }

  /** sent forgets the first text that is sent; what was typed meanwhile stays. */
  sent(sessionId: string) {
    const typed = this.get(sessionId);
    this.leaving.set(sessionId, (this.leaving.get(sessionId) ?? []).slice(1));
    this.set(sessionId, typed);
  }

  /** unsent makes all that is sent a draft again, before what was typed meanwhile. */
  unsent(sessionId: string) {
    const texts = this.leaving.get(sessionId) ?? [];
    const typed = this.get(sessionId);
    this.leaving.delete(sessionId);
    this.set(sessionId, joined([...texts, typed]));
  }

  /** offer puts a text before what the user has typed already. */
  offer(sessionId: string, text: string) {
    this.set(sessionId, joined([text, this.get(sessionId)]));
    this.offered.touch();
    this.offered.flush();
  }
}

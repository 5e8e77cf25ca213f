// What somebody has typed and not sent, by session. It survives reloads; nothing else of the page is kept in the browser
// but settings.
import { Signal } from "./signal";

const prefix = "harness.draft.";

export type Store = Pick<Storage, "getItem" | "setItem" | "removeItem">;

export class Drafts {
  /** Somebody else than who types has put a text into a draft. */
  readonly offered = new Signal();

  constructor(private readonly store: Store) {}

  get(sessionId: string): string {
    return this.store.getItem(prefix + sessionId) ?? "";
  }

  set(sessionId: string, text: string) {
    if (text === "") this.store.removeItem(prefix + sessionId);
    else this.store.setItem(prefix + sessionId, text);
  }

  /** offer puts a text before what somebody has typed already. */
  offer(sessionId: string, text: string) {
    const typed = this.get(sessionId);
    this.set(sessionId, typed ? `${text}\n${typed}` : text);
    this.offered.touch();
    this.offered.flush();
  }
}

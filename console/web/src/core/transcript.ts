// The part of one transcript that is in memory. Views subscribe to the list and to single rows; none is notified before
// flush, so that many frames cost one render.
import type { Author, Entry } from "./types";

export type Row = { entry: Entry; rev: number; subs: Set<() => void> };

const settled = (status: string) => status !== "streaming";

/** How many entries are kept in memory; what is trimmed at one end is read again when it is scrolled to. */
export const maxEntries = 2000;

export class Transcript {
  ids: string[] = [];
  rows = new Map<string, Row>();
  /** Where to read on, null at that end. */
  older: string | null = null;
  newer: string | null = null;
  /** Entries came or went at the beginning: the list keeps its place. */
  shift = false;
  rev = 0;
  /** The stream's position at which the window was true: frames up to it are in it. */
  pos = 0;
  /** Called when a text has a hole, which only a reload fills. */
  onHole: () => void = () => {};

  /** Who wrote messages that have no entry yet, by turn and number. */
  private readonly coming = new Map<string, Author>();
  private readonly subs = new Set<() => void>();
  private readonly dirty = new Set<string>();
  private listDirty = false;

  constructor(readonly sessionId: string, private readonly max = maxEntries) {}

  subscribe = (listener: () => void) => {
    this.subs.add(listener);
    return () => void this.subs.delete(listener);
  };

  subscribeRow(id: string, listener: () => void) {
    const row = this.rows.get(id);
    row?.subs.add(listener);
    return () => void row?.subs.delete(listener);
  }

  /** reset takes a window as the whole; what a row's text had gained meanwhile stays. */
  reset(entries: Entry[], older: string | null, newer: string | null, pos: number) {
    const kept = new Set(entries.map((e) => e.messageId));
    for (const id of this.ids) if (!kept.has(id)) this.rows.delete(id);
    for (const entry of entries) this.put(entry, true);
    this.ids = [...kept];
    [this.older, this.newer, this.pos, this.shift, this.listDirty] = [older, newer, pos, false, true];
    this.flush();
  }

  /** extend adds a window at one end. The other end is trimmed in a step of its own: see trim. */
  extend(entries: Entry[], where: "older" | "newer", next: string | null) {
    const fresh = entries.filter((e) => !this.rows.has(e.messageId)).map((e) => e.messageId);
    for (const entry of entries) this.put(entry, false);
    this.shift = where === "older";
    if (where === "older") [this.ids, this.older] = [[...fresh, ...this.ids], next];
    else [this.ids, this.newer] = [[...this.ids, ...fresh], next];
    this.listDirty = true;
    this.flush();
  }

  /** trim drops what is too much at the end that is not looked at. A list can keep its place only when one end changes. */
  trim(lookingAt: "older" | "newer") {
    const excess = this.ids.length - this.max;
    if (excess <= 0) return;
    const gone = lookingAt === "older" ? this.ids.slice(-excess) : this.ids.slice(0, excess);
    for (const id of gone) this.rows.delete(id);
    if (lookingAt === "older") {
      this.ids = this.ids.slice(0, -excess);
      this.newer = this.ids.at(-1) ?? null;
    } else {
      this.ids = this.ids.slice(excess);
      this.older = this.ids[0] ?? null;
    }
    this.shift = lookingAt === "newer";
    this.listDirty = true;
    this.flush();
  }

  /** upsert takes an entry of a frame. A window that does not reach the end has no place for a new one. */
  upsert(entry: Entry) {
    if (!this.rows.has(entry.messageId)) {
      if (this.newer !== null) return;
      this.ids = [...this.ids, entry.messageId];
      this.shift = false;
      this.listDirty = true;
      if (entry.type === "userMessage") {
        const number = this.ids.filter((id) => this.rows.has(id) && this.isMessageOf(entry.turnId, id)).length + 1;
        const author = this.coming.get(`${entry.turnId}/${number}`);
        if (author) entry = { ...entry, author };
      }
    }
    this.put(entry, false);
  }

  /** authored takes who wrote a message of a turn, by its number there, beginning with 1. */
  authored(turnId: string, number: number, author: Author) {
    const id = this.ids.filter((id) => this.isMessageOf(turnId, id))[number - 1];
    if (id) this.put({ ...this.rows.get(id)!.entry, author }, false);
    else this.coming.set(`${turnId}/${number}`, author);
  }

  private isMessageOf(turnId: string, id: string): boolean {
    const { entry } = this.rows.get(id)!;
    return entry.type === "userMessage" && entry.turnId === turnId;
  }

  /** grow takes a delta: what comes twice, or late, changes nothing. */
  grow(start: () => Entry, id: string, part: string, offset: number | undefined, delta: string) {
    let row = this.rows.get(id);
    if (!row) {
      if (this.newer !== null) return;
      this.upsert(start());
      row = this.rows.get(id)!;
    }
    if (settled(row.entry.status)) return;
    const text = row.entry.texts[part] ?? "";
    const at = offset ?? text.length;
    if (at > text.length) {
      this.onHole();
      return;
    }
    if (text.startsWith(delta, at)) return;
    row.entry.texts[part] = text.slice(0, at) + delta;
    row.rev++;
    this.dirty.add(id);
  }

  /** removeTurns takes away turns that were rolled back. */
  removeTurns(turnIds: string[]) {
    const gone = new Set(turnIds);
    this.ids = this.ids.filter((id) => {
      const stays = !gone.has(this.rows.get(id)!.entry.turnId);
      if (!stays) this.rows.delete(id);
      return stays;
    });
    this.listDirty = true;
  }

  /** cutTurn ends what a turn that did not come to its own end leaves open: nothing more is said of it, as a rule. */
  cutTurn(turnId: string) {
    for (const id of this.ids) {
      const { entry } = this.rows.get(id)!;
      if (entry.turnId === turnId && !settled(entry.status)) this.put({ ...entry, status: "canceled" }, false);
    }
  }

  /** lastComplete is the newest entry that is complete, undefined for none. */
  lastComplete(): string | undefined {
    for (let i = this.ids.length - 1; i >= 0; i--) if (this.rows.get(this.ids[i]!)!.entry.status === "complete") return this.ids[i];
    return undefined;
  }

  /** flush notifies the views of changes. */
  flush() {
    const changed = [...this.dirty];
    this.dirty.clear();
    for (const id of changed) for (const listener of this.rows.get(id)?.subs ?? []) listener();
    if (!this.listDirty) return;
    this.listDirty = false;
    this.rev++;
    for (const listener of this.subs) listener();
  }

  private put(entry: Entry, snapshot: boolean) {
    const row = this.rows.get(entry.messageId);
    if (!row) {
      this.rows.set(entry.messageId, { entry, rev: 0, subs: new Set() });
      return;
    }
    const was = row.entry;
    if (settled(was.status) && !settled(entry.status) && !snapshot) return; // an older word never undoes a newer one
    const texts = { ...entry.texts };
    if (!settled(entry.status)) {
      // It continues where it is: a beginning that a frame or a window repeats is already here.
      for (const [part, text] of Object.entries(was.texts)) if (text.startsWith(texts[part] ?? "")) texts[part] = text;
    }
    row.entry = { ...was, ...entry, texts, item: entry.item ?? was.item };
    if (was.status !== entry.status) this.listDirty = true; // what is finished may fold
    row.rev++;
    this.dirty.add(entry.messageId);
  }
}

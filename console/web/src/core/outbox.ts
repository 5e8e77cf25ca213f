// The keys of messages that were sent and not answered, kept over reloads: sent again with its key and in the same way, a
// message is taken once, whatever has begun or ended meanwhile.
const name = "harness.unanswered";
/** How many are kept, and for how long, in ms: a server knows a key for a day. */
const most = 50;
const kept = 24 * 3600_000;

/** Way is how a message is sent: to which of a session's routes, and what beside its words and images. */
export type Way = { to: "messages" | "queue"; effort?: string };
/** Unanswered is a message whose answer did not come: the server may have it or not. */
export class Unanswered extends Error {}

type Keys = Record<string, { key: string; at: number; way?: Way }>;

export class Outbox {
  constructor(
    private readonly store: Pick<Storage, "getItem" | "setItem">,
    private readonly now: () => number = Date.now,
    private readonly fresh: () => string = () => crypto.getRandomValues(new Uint32Array(4)).join("-"),
  ) {}

  /** sent returns the key and the route of a message: those of its first try if that was not acknowledged. */
  sent(message: string, way: Way): { key: string; way: Way } {
    const keys = this.read();
    const known = keys[digest(message)];
    if (known) return { key: known.key, way: known.way ?? way };
    const key = this.fresh();
    keys[digest(message)] = { key, at: this.now(), way };
    this.write(keys);
    return { key, way };
  }

  /** answered forgets a message's key: sent again it is another message. */
  answered(message: string) {
    const keys = this.read();
    delete keys[digest(message)];
    this.write(keys);
  }

  private read(): Keys {
    try {
      const all = Object.entries(JSON.parse(this.store.getItem(name) ?? "{}") as Keys);
      return Object.fromEntries(all.filter(([, { at }]) => this.now() - at < kept).sort(([, a], [, b]) => a.at - b.at).slice(-most));
    } catch {
      return {};
    }
  }

  private write(keys: Keys) {
    this.store.setItem(name, JSON.stringify(keys));
  }
}

/** digest is short for a message, which may carry images. It need not withstand anybody but chance. */
export function digest(text: string): string {
  let [a, b] = [0xdeadbeef, 0x41c6ce57];
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    a = Math.imul(a ^ code, 2654435761);
    b = Math.imul(b ^ code, 1597334677);
  }
  return `${text.length}-${(a >>> 0).toString(36)}-${(b >>> 0).toString(36)}`;
}

// Keys that lead to a page, after `g`.
export const goes: Record<string, string> = { s: "/sessions", n: "/", i: "/inbox", j: "/jobs", e: "/events", u: "/usage", x: "/extensions", r: "/runtimes", ",": "/settings" };

/** How long after `g` the second letter counts, in ms. */
const patience = 1500;

/** Chord understands `g` and a letter. */
export class Chord {
  private since = -Infinity;

  constructor(private readonly now: () => number = Date.now) {}

  /** press returns the target of a key, null for none. `waits` means that it was the first of two. */
  press(key: string): { to: string | null; waits: boolean } {
    const second = this.now() - this.since < patience;
    this.since = -Infinity;
    if (second && goes[key]) return { to: goes[key]!, waits: false };
    if (key !== "g") return { to: null, waits: false };
    this.since = this.now();
    return { to: null, waits: true };
  }
}

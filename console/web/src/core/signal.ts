/** A value that views subscribe to: they are notified when it has changed, and never in between. */
export class Signal {
  rev = 0;
  private dirty = false;
  private readonly subs = new Set<() => void>();

  subscribe = (listener: () => void) => {
    this.subs.add(listener);
    return () => void this.subs.delete(listener);
  };

  touch() {
    this.dirty = true;
  }

  flush() {
    if (!this.dirty) return;
    this.dirty = false;
    this.rev++;
    for (const listener of [...this.subs]) listener();
  }
}

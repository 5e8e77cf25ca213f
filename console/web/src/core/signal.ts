/** Something views look at: they are told when it has changed, and never in between. */
export class Signal {
  rev = 0;
  private dirty = false;
  private readonly subs = new Set<() => void>();

  subscribe = (told: () => void) => {
    this.subs.add(told);
    return () => void this.subs.delete(told);
  };

  touch() {
    this.dirty = true;
  }

  flush() {
    if (!this.dirty) return;
    this.dirty = false;
    this.rev++;
    for (const told of [...this.subs]) told();
  }
}

// The user's messages to one session, including those being sent: they go out one after another, as they were
// entered, however long the server takes for each.
import type { Drafts } from "./drafts";
import type { Image } from "./images";
import { Signal } from "./signal";

/** A message that was entered. */
export type Said = { text: string; images: Image[]; effort: string; steer: boolean };

export class Composing {
  readonly signal = new Signal();
  images: Image[] = [];
  /** Why something was not done, for who looks at the composer. */
  failure: string | null = null;
  /** Since when messages are held, because the server does not answer; null for none. They go out with resume. */
  heldSince: number | null = null;
  private readonly line: Said[] = [];
  private sending = Promise.resolve();
  private resumed: (again: boolean) => void = () => {};

  constructor(
    private readonly sessionId: string,
    private readonly drafts: Drafts,
    /** Sends one message; `behind` means that it follows another one, whose turn it must not disturb. */
    private readonly post: (said: Said, behind: boolean) => Promise<void>,
    private readonly explain: (err: unknown) => string,
    /** Whether a message is held after an error: the server may have it or not, and takes it once. Called with each that is. */
    private readonly hold: (err: unknown) => boolean = () => false,
  ) {}

  get text(): string {
    return this.drafts.get(this.sessionId);
  }

  /** Whether a message was entered and not acknowledged yet. */
  get busy(): boolean {
    return this.line.length > 0;
  }

  /** held are the messages that are held. */
  get held(): string[] {
    return this.heldSince === null ? [] : this.line.map((said) => said.text);
  }

  /** resume sends what is held once more. */
  resume() {
    this.resumed(true);
  }

  /** release makes what is held a draft again. */
  release() {
    this.resumed(false);
  }

  write(text: string) {
    this.drafts.set(this.sessionId, text);
    this.touch();
  }

  fail(why: string | null) {
    this.failure = why;
    this.touch();
  }

  /** attach begins to upload a picture of the message that is written. */
  attach(name: string, url: string, upload: (progress: (share: number) => void) => Promise<string>) {
    const image: Image = { name, url, progress: 0, failure: null, kept: upload((share) => {
      image.progress = share;
      this.touch();
    }) };
    this.images = [...this.images, image];
    this.touch();
    image.kept.then(() => (image.progress = 1), (err) => (image.failure = this.explain(err))).finally(() => this.touch());
  }

  detach(image: Image) {
    this.images = this.images.filter((one) => one !== image);
    this.touch();
  }

  /** send enters what is written. When one message is not taken, those behind it come back with it. */
  async send(how: Pick<Said, "effort" | "steer">): Promise<void> {
    const text = this.text.trim();
    if (text === "") return;
    this.line.push({ text, images: this.images, ...how });
    this.images = [];
    this.failure = null;
    this.drafts.send(this.sessionId, text);
    this.touch();
    if (this.line.length === 1) this.sending = this.sendLine(); // else it goes out behind the others
    await this.sending;
  }

  /** answered waits until all that was entered is answered, `atMost` ms. */
  async answered(atMost: number): Promise<void> {
    let over: ReturnType<typeof setTimeout> | undefined;
    await Promise.race([this.sending, new Promise<void>((done) => (over = setTimeout(done, atMost)))]);
    clearTimeout(over);
  }

  private async sendLine(): Promise<void> {
    let behind = false;
    while (this.line.length > 0) {
      try {
        await this.post(this.line[0]!, behind);
        behind = true;
        this.heldSince = null;
        this.drafts.sent(this.sessionId);
        this.line.shift();
      } catch (err) {
        if (this.hold(err) && (await this.wait())) continue;
        this.heldSince = null;
        this.drafts.unsent(this.sessionId);
        this.images = [...this.line.splice(0).flatMap((said) => said.images), ...this.images];
        this.failure = this.explain(err);
      }
      this.touch();
    }
  }

  /** wait holds what is in line, and resolves to whether it is sent again. */
  private wait(): Promise<boolean> {
    this.heldSince ??= Date.now();
    this.touch();
    return new Promise((next) => (this.resumed = next));
  }

  private touch() {
    this.signal.touch();
    this.signal.flush();
  }
}

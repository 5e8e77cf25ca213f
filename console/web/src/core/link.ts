// The one socket of a page. It resumes by itself from the last position it has handled, and says what it is doing.
import type { Link as State } from "./types";

/** A frame of the stream, decoded. */
export type Frame = {
  type: string;
  threadId?: string | null;
  payload?: any;
  pos?: number;
  offset?: number;
  from?: number;
  to?: number;
  oldest?: number;
};

export type Socket = Pick<WebSocket, "send" | "close" | "readyState"> & {
  onmessage: ((event: { data: string }) => void) | null;
  onopen: (() => void) | null;
  onclose: ((event: { code: number }) => void) | null;
};

export type LinkOptions = {
  /** A socket behind a position, with the texts of these threads as they grow. */
  open: (after: number, named: string[]) => Socket;
  /** A batch of frames, in order. */
  take: (frames: Frame[]) => void;
  /** The stream has a hole here, or is another one: what is shown is to be read again. */
  reread: (verdict: "gap" | "ahead") => void;
  changed: (state: State) => void;
  /** Called with the time of the next attempt to connect, null while one is under way. */
  tries?: (at: number | null) => void;
  /** Asked when a connection was refused or withdrawn: false when only a login helps. */
  admitted: () => Promise<boolean>;
  /** Calls back when the page may work: once a frame, or four times a second in the background. */
  schedule: (work: () => void) => void;
  online: () => boolean;
  random?: () => number;
  later?: (work: () => void, ms: number) => () => void;
};

const slowest = 10_000;
const fastest = 250;
const silence = 3_000;

export class Link {
  state: State = "connecting";
  /** The position of the last frame that was handled. */
  last = 0;
  private socket: Socket | null = null;
  private named: string[] = [];
  /** Whether the socket was opened with other names. */
  private renamed = false;
  /** Called when names are active, in the order they were given. */
  private following: (() => void)[] = [];
  private queue: string[] = [];
  private scheduled = false;
  private tries = 0;
  private closed = true;
  private received = 0;
  private cancel: () => void = () => {};

  constructor(private readonly options: LinkOptions) {}

  /** start follows the stream from a position on. */
  start(after: number) {
    this.stop();
    this.last = after;
    this.closed = false;
    this.tries = 0;
    this.connect();
  }

  stop() {
    this.closed = true;
    this.cancel();
    this.drop();
  }

  /**
   * follow has the texts of these threads come as they grow, from when it resolves on. Without a connection it resolves
   * at once: the next one has them from the last position on.
   */
  follow(named: string[]): Promise<void> {
    this.named = named;
    const { socket } = this;
    if (!socket || socket.readyState > 1) return Promise.resolve();
    const holds = new Promise<void>((resolve) => this.following.push(resolve));
    if (socket.readyState === 1) this.name(socket);
    else this.renamed = true; // it is sent once the connection is open
    return holds;
  }

  /** retry connects at once: the network is back, or the page is visible again. */
  retry() {
    if (this.closed || this.socket?.readyState === 1) return;
    this.tries = 0;
    this.cancel();
    this.drop();
    this.connect();
  }

  /** lost says that there is no network, before the socket notices. */
  lost() {
    if (this.closed) return;
    this.drop();
    this.say("offline");
    this.again();
  }

  /** probe finds out whether a socket that slept is still one. */
  probe() {
    const asked = this.socket;
    if (!asked || asked.readyState !== 1) return this.retry();
    const before = this.received;
    asked.send('{"type":"ping"}');
    this.later(() => {
      if (this.socket === asked && this.received === before) {
        this.drop();
        this.retry();
      }
    }, silence);
  }

  /** flush handles what came. */
  flush = () => {
    this.scheduled = false;
    const queue = this.queue;
    this.queue = [];
    const frames: Frame[] = [];
    for (const text of queue) {
      const frame = JSON.parse(text) as Frame;
      if (frame.type === "resumed" || frame.type === "gap" || frame.type === "ahead") {
        this.say("live");
        this.tries = 0;
        if (frame.type === "ahead") this.last = frame.to!;
        if (frame.type !== "resumed") this.options.reread(frame.type);
        continue;
      }
      if (frame.type === "subscribed") this.following.shift()?.();
      if (frame.type === "pong" || frame.type === "ready" || frame.type === "subscribed") continue;
      frames.push(frame);
      this.last = frame.pos ?? this.last;
    }
    if (frames.length > 0) this.options.take(frames);
  };

  private connect() {
    this.options.tries?.(null);
    this.say(this.options.online() ? "connecting" : "offline");
    const socket = this.options.open(this.last, this.named);
    this.socket = socket;
    this.renamed = false;
    socket.onopen = () => {
      if (!this.renamed) return;
      this.renamed = false;
      // One answer for all who asked before it was open.
      const asked = this.following;
      this.following = [() => asked.forEach((holds) => holds())];
      this.name(socket);
    };
    socket.onmessage = ({ data }) => {
      this.received++;
      this.queue.push(data);
      if (this.scheduled) return;
      this.scheduled = true;
      this.options.schedule(this.flush);
    };
    socket.onclose = ({ code }) => {
      if (this.socket !== socket) return;
      this.flush(); // before the cursor is used again
      this.ended();
      this.say(this.options.online() ? "connecting" : "offline");
      if (code === 1012 && this.tries === 0) {
        this.tries = 1;
        this.cancel = this.later(() => this.connect(), 50);
        return;
      }
      this.again();
    };
  }

  private again() {
    this.cancel();
    const wait = Math.min(slowest, fastest * 2 ** this.tries++) * (0.5 + (this.options.random ?? Math.random)() / 2);
    this.options.tries?.(Date.now() + wait);
    this.cancel = this.later(() => {
      if (this.closed) return;
      this.options.tries?.(null);
      this.options.admitted().then(
        (admitted) => {
          if (this.closed || this.socket) return;
          if (admitted) this.connect();
          else {
            this.closed = true;
            this.say("login");
          }
        },
        () => {
          if (!this.closed && !this.socket) this.again(); // no response: the socket would fail as well
        },
      );
    }, wait);
  }

  private drop() {
    const socket = this.socket;
    if (!socket) return;
    this.flush();
    this.ended();
    socket.onmessage = socket.onclose = socket.onopen = null;
    socket.close();
  }

  private ended() {
    this.socket = null;
    for (const holds of this.following.splice(0)) holds();
  }

  private name(socket: Socket) {
    socket.send(JSON.stringify({ type: "subscribe", threadIds: this.named }));
  }

  private later(work: () => void, ms: number): () => void {
    if (this.options.later) return this.options.later(work, ms);
    const timer = setTimeout(work, ms);
    return () => clearTimeout(timer);
  }

  private say(state: State) {
    if (this.state === state) return;
    this.state = state;
    this.options.changed(state);
  }
}

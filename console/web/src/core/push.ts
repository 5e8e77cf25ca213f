// Web Push: this browser gets notifications while no page is open.
import { ApiError, type Api } from "./api";
import { Signal } from "./signal";

export type Subscribed = { id: string; service: string; createdAt: string };
/** unable: this browser, or this server, does not. */
export type PushState = "unknown" | "unable" | "off" | "on";

/** Workers is the part of navigator.serviceWorker that is used here. */
export type Workers = Pick<ServiceWorkerContainer, "getRegistration" | "register">;

const bytes = (key: string) => Uint8Array.from(atob(key.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
const same = (a: ArrayBuffer | null, b: Uint8Array) => !!a && a.byteLength === b.length && new Uint8Array(a).every((one, i) => one === b[i]);

export class Push {
  readonly signal = new Signal();
  state: PushState = "unknown";
  /** All browsers of who is logged in, and which of them is this one. */
  browsers: Subscribed[] = [];
  own: string | null = null;
  /** The worker that shows notifications, once this browser is subscribed. */
  registration: ServiceWorkerRegistration | null = null;

  constructor(private readonly api: Api, private readonly workers: Workers | undefined) {}

  /** What start does at the moment; the end of a subscription waits for it, or it would subscribe again. */
  private starting: Promise<void> = Promise.resolve();

  /** start reads the current state and renews the subscription of this browser. */
  start(): Promise<void> {
    this.starting = this.renew();
    return this.starting;
  }

  private async renew(): Promise<void> {
    if (!this.workers) return this.is("unable");
    try {
      const { publicKey } = await this.read();
      const registration = await this.workers.getRegistration(this.api.url(""));
      const subscription = await registration?.pushManager.getSubscription();
      if (!registration || !subscription) return this.is("off");
      await this.register(registration, subscription, publicKey);
    } catch (err) {
      if (!(err instanceof ApiError) || err.status === 404) this.is("unable");
    }
  }

  /** on subscribes this browser, if the user allows notifications. */
  async on(): Promise<void> {
    if (!this.workers) return;
    const { publicKey } = await this.read();
    const registration = await this.workers.register(this.api.url("sw.js"), { scope: this.api.url(""), updateViaCache: "none" });
    await this.register(registration, await registration.pushManager.getSubscription(), publicKey);
  }

  /** off unsubscribes this browser, whether or not the server responds. */
  async off(): Promise<void> {
    await this.starting;
    const subscription = await this.registration?.pushManager.getSubscription();
    await subscription?.unsubscribe(); // from now on its push service refuses what is sent
    const own = this.own;
    [this.own, this.registration] = [null, null];
    this.is("off");
    if (own) await this.end(own);
  }

  /** end unsubscribes one of the browsers. */
  async end(id: string): Promise<void> {
    if (id === this.own) return this.off();
    try {
      await this.api.delete(`/api/push/${encodeURIComponent(id)}`);
    } catch (err) {
      if (!(err instanceof ApiError) || err.status !== 404) throw err; // it is gone already
    }
    await this.read();
  }

  /** register subscribes with the server's key, which belongs to its store, and sends the subscription to the server. */
  private async register(registration: ServiceWorkerRegistration, was: PushSubscription | null | undefined, publicKey: string): Promise<void> {
    const key = bytes(publicKey);
    if (was && !same(was.options.applicationServerKey, key)) {
      await was.unsubscribe();
      was = null;
    }
    const subscription = was ?? (await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key }));
    const { endpoint, keys } = subscription.toJSON();
    const answer = await this.api.post<{ subscription: Subscribed }>("/api/push", { endpoint, keys });
    [this.own, this.registration] = [answer.subscription.id, registration];
    await this.read();
    this.is("on");
  }

  private async read(): Promise<{ publicKey: string }> {
    const answer = await this.api.get<{ data: Subscribed[]; publicKey: string }>("/api/push");
    this.browsers = answer.data;
    this.touch();
    return answer;
  }

  private is(state: PushState) {
    this.state = state;
    this.touch();
  }

  private touch() {
    this.signal.touch();
    this.signal.flush();
  }
}

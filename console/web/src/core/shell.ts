// The files of the page in this browser: a worker keeps them (public/sw.js), so that pages open while the server is slow or away.

/** How long a new build may take to be kept before the page is loaded without it, in ms. */
const patience = 10_000;

export class Shell {
  /** `workers` is undefined where the browser has none, or keeps none for an insecure address. */
  constructor(private readonly base: string, private readonly workers: ServiceWorkerContainer | undefined) {}

  /** keep has the worker keep the files of the page, and looks for a newer one. */
  async keep(): Promise<void> {
    const registration = await this.workers?.register(new URL("sw.js", this.base), { scope: this.base, updateViaCache: "none" });
    registration?.active?.postMessage("keep"); // a logout has deleted them
  }

  /** forget deletes them: the next page comes from the server. */
  async forget(): Promise<void> {
    if (!this.workers) return;
    const names = (await caches.keys()).filter((name) => name.startsWith(`harness ${this.base} `));
    await Promise.all(names.map((name) => caches.delete(name)));
  }

  /** renew resolves once the files of a new build are kept, or cannot be soon. */
  async renew(): Promise<void> {
    const late = new Promise<void>((done) => setTimeout(done, patience));
    await Promise.race([this.replaced().catch(() => {}), late]);
  }

  private async replaced(): Promise<void> {
    const registration = await this.workers?.getRegistration(this.base);
    await registration?.update();
    const worker = registration?.installing;
    if (!worker) return;
    await new Promise<void>((done) => worker.addEventListener("statechange", () => worker.state !== "installed" && done()));
  }
}

// Tells what links a turn named: only the web's globals, so it stays in the server.
import { type AgentEventRegistry } from "@codex-manager/agent-runtime-sdk";

async function within<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new Error("too slow")), ms);
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
  }
}

export function registerAgentEvents(registry: AgentEventRegistry): void {
  registry.on("suggest_request.requested", async (event: any) => {
    const before = structuredClone(event.payload);
    const started = performance.now();
    return within(5000, async (signal) => {
      signal.throwIfAborted();
      const url = new URL("/r?q=" + encodeURIComponent(before.userRequest), "https://Example.com:443/a/b");
      url.searchParams.append("key", btoa(before.requestKey));
      const bytes = new TextEncoder().encode(url.href).length;
      return { href: url.href, bytes, took: performance.now() >= started, id: crypto.randomUUID().length, node: typeof process };
    });
  });
}

import { createContext, useContext, useEffect, useState, useSyncExternalStore } from "react";
import type { Client } from "../client";
import type { Signal } from "../core/signal";
import type { Row, Transcript } from "../core/transcript";

export const ClientContext = createContext<Client | null>(null);

export function useClient(): Client {
  const client = useContext(ClientContext);
  if (!client) throw new Error("no client around this component");
  return client;
}

/** useSignal renders again when it has changed. */
export const useSignal = (signal: Signal) => useSyncExternalStore(signal.subscribe, () => signal.rev);

export const useList = (transcript: Transcript) => useSyncExternalStore(transcript.subscribe, () => transcript.rev);

/** useRow renders one entry again when it has changed, and nothing else. */
export function useRow(transcript: Transcript, id: string): Row | undefined {
  useSyncExternalStore(
    (listener) => transcript.subscribeRow(id, listener),
    () => transcript.rows.get(id)?.rev ?? -1,
  );
  return transcript.rows.get(id);
}

/** useNow is the time, each so many ms while active. */
export function useNow(every: number, active = true): number {
  const [now, set] = useState(Date.now);
  useEffect(() => {
    if (!active) return;
    set(Date.now());
    const timer = setInterval(() => set(Date.now()), every);
    return () => clearInterval(timer);
  }, [every, active]);
  return now;
}

/** typing reports whether a key belongs to a text field. */
export function typing(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement | null;
  return (
    event.isComposing || event.ctrlKey || event.metaKey || event.altKey ||
    !!target?.closest?.("input, textarea, select, [contenteditable=true], dialog[open]")
  );
}

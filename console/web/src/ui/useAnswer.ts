import { useCallback, useEffect, useRef, useState } from "react";
import { useClient } from "./hooks";

export type Asked<T> = { answer: T | null; failure: string | null; at: number; again: () => void };

/**
 * useAnswer returns the response to a GET, sent again when `rev` changes and, while the page is visible, every so many ms.
 * What was there stays until there is more, beside the reason why it could not be read anew.
 */
export function useAnswer<T>(ask: () => Promise<T>, deps: unknown[], { rev = 0, every = 0, paused = false } = {}): Asked<T> {
  const client = useClient();
  const [state, set] = useState<{ answer: T | null; failure: string | null; at: number }>({ answer: null, failure: null, at: 0 });
  const asked = useRef(0);
  // eslint-disable-next-line react-hooks/exhaustive-deps
  const wanted = useCallback(ask, [client, ...deps]);
  const again = useCallback(() => {
    const own = ++asked.current; // a late answer never replaces a later one
    wanted().then(
      (answer) => own === asked.current && set({ answer, failure: null, at: Date.now() }),
      (err: Error) => own === asked.current && set((was) => ({ ...was, failure: err.message })),
    );
  }, [wanted]);
  useEffect(() => {
    if (paused) return;
    const soon = setTimeout(again, rev === 0 ? 0 : 300); // one reading for many changes
    return () => clearTimeout(soon);
  }, [again, rev, paused]);
  useEffect(() => {
    if (every === 0 || paused) return;
    const timer = setInterval(() => document.hidden || again(), every);
    return () => clearInterval(timer);
  }, [again, every, paused]);
  return { ...state, again };
}

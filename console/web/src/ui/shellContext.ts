import { createContext, useContext, useSyncExternalStore } from "react";
import type { Filter } from "../core/groups";

/** What the shell lends to its pages: its dialogs, and the filters of the list. */
export type ShellState = {
  /** Shows a dialog, null for none. */
  show: (dialog: "search" | "keys" | null) => void;
  filter: Filter;
  project: string;
  setFilter: (filter: Filter, project: string) => void;
};

export const ShellContext = createContext<ShellState | null>(null);

export function useShell(): ShellState {
  const shell = useContext(ShellContext);
  if (!shell) throw new Error("no shell around this component");
  return shell;
}

/** useMedia follows a media query. */
export function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (listener) => {
      const list = matchMedia(query);
      list.addEventListener("change", listener);
      return () => list.removeEventListener("change", listener);
    },
    () => matchMedia(query).matches,
  );
}

/** A phone has one column and a bar of tabs; below `wide` the sidebar opens over the page. */
export const [phone, narrow] = ["(max-width: 759px)", "(max-width: 1023px)"];

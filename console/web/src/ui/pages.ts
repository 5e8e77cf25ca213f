// The pages of the console, as the rail and the palette list them.
import { text } from "../text";

/** A page; `minor` ones have no place in the bar of a phone and are reached from the settings there. */
export type Page = { name: string; path: string; label: string; icon: string; minor?: boolean };

export const pages: Page[] = [
  { name: "sessions", path: "/", label: text.nav.sessions, icon: "M4 5h16v11H9l-4 4v-4H4z" },
  { name: "inbox", path: "/inbox", label: text.nav.inbox, icon: "M4 13l2-8h12l2 8v6H4zM4 13h5l1 2h4l1-2h5" },
  { name: "jobs", path: "/jobs", label: text.nav.jobs, icon: "M4 5h16v4H4zM4 11h16v4H4zM4 17h10v3H4z" },
  { name: "events", path: "/events", label: text.nav.events, icon: "M4 6h3v2H4zM9 6h11v2H9zM4 11h3v2H4zM9 11h11v2H9zM4 16h3v2H4zM9 16h11v2H9z", minor: true },
  { name: "usage", path: "/usage", label: text.nav.usage, icon: "M4 20V11h4v9zM10 20V4h4v16zM16 20v-6h4v6z", minor: true },
  { name: "extensions", path: "/extensions", label: text.nav.extensions, icon: "M4 10h4a2 2 0 1 1 4 0h4v4a2 2 0 1 1 0 4v2H4z", minor: true },
  { name: "runtimes", path: "/runtimes", label: text.nav.runtimes, icon: "M6 6h12v12H6zM10 2v4M14 2v4M10 18v4M14 18v4M2 10h4M2 14h4M18 10h4M18 14h4", minor: true },
  { name: "settings", path: "/settings", label: text.nav.settings, icon: "M4 7h10M18 7h2M4 17h2M10 17h10M14 5v4M6 15v4" },
];

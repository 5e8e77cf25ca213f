// The pages of the console, as the sidebar and the search list them.
import { text } from "../text";
import type { IconName } from "./Icon";

/** A page; `needs` is the right without which it is not offered, `in` its place in the sidebar. */
export type Page = { name: string; path: string; label: string; icon: IconName; in: "work" | "manage" | "settings"; needs?: "work" | "administer" };

export const pages: Page[] = [
  { name: "new", path: "/", label: text.list.fresh, icon: "square-pen", in: "work", needs: "work" },
  { name: "sessions", path: "/sessions", label: text.nav.sessions, icon: "message-square", in: "work" },
  { name: "inbox", path: "/inbox", label: text.nav.inbox, icon: "inbox", in: "work" },
  { name: "usage", path: "/usage", label: text.nav.usage, icon: "chart-column", in: "manage" },
  { name: "runtimes", path: "/runtimes", label: text.nav.runtimes, icon: "bot", in: "manage" },
  { name: "jobs", path: "/jobs", label: text.nav.jobs, icon: "list-todo", in: "manage", needs: "work" },
  { name: "events", path: "/events", label: text.nav.events, icon: "scroll-text", in: "manage", needs: "work" },
  { name: "extensions", path: "/extensions", label: text.nav.extensions, icon: "puzzle", in: "manage", needs: "work" },
  { name: "general", path: "/settings", label: text.side.general, icon: "sliders-horizontal", in: "settings" },
  { name: "notifications", path: "/settings/notifications", label: text.notify.title, icon: "bell", in: "settings" },
  { name: "defaults", path: "/settings/defaults", label: text.server.defaults, icon: "shield", in: "settings", needs: "administer" },
  { name: "people", path: "/settings/people", label: text.side.people, icon: "users", in: "settings", needs: "administer" },
  { name: "projects", path: "/settings/projects", label: text.side.projects, icon: "folder", in: "settings", needs: "administer" },
  { name: "server", path: "/settings/server", label: text.side.server, icon: "cpu", in: "settings", needs: "administer" },
];

/** isHere reports whether a page is the one at an address. */
export const isHere = (page: Page, at: string) => at === page.path || (page.in === "manage" && at.startsWith(`${page.path}/`));

/** manages reports whether an address belongs to those who run the server: the sidebar then lists these pages. */
export const manages = (at: string) => at.startsWith("/settings") || at === "/manage" || pages.some((p) => p.in === "manage" && isHere(p, at));

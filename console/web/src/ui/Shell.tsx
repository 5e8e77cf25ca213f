import { useEffect, useMemo, useState, type ReactNode } from "react";
import { Link as To, useLocation } from "wouter";
import { filters, type Filter } from "../core/groups";
import { text } from "../text";
import { Toast } from "./Toast";
import { useClient, useSignal } from "./hooks";
import { Icon, type IconName } from "./Icon";
import { Keys } from "./Keys";
import { Notices } from "./Notices";
import { Notify } from "./Notify";
import { manages } from "./pages";
import { usePreferences } from "./preferences";
import { narrow, phone, ShellContext, useMedia, type ShellState } from "./shellContext";
import { Sidebar, useWaiting } from "./Sidebar";

/** Announcer reads finished messages and requests to screen readers, never single words. */
function Announcer() {
  const client = useClient();
  useSignal(client.news);
  return <div className="unseen" aria-live="polite">{client.said}</div>;
}

/** Tabs is the bar of a phone. */
function Tabs() {
  const client = useClient();
  const [at] = useLocation();
  const waiting = useWaiting();
  const tabs: [path: string, label: string, icon: IconName, here: boolean][] = [
    ["/sessions", text.nav.sessions, "message-square", at === "/sessions"], ["/inbox", text.nav.inbox, "inbox", at === "/inbox"],
    ["/", text.side.new, "square-pen", at === "/"], ["/manage", text.side.manage, "gauge", manages(at)],
  ];
  return (
    <nav className="tabbar" aria-label={text.side.main}>
      {tabs.map(([path, label, icon, here]) => path !== "/" || client.may("work") ? (
        <To key={path} href={path} className="tab-to" aria-current={here ? "page" : undefined}>
          <Icon name={icon} /><span>{label}</span>
          {path === "/inbox" && waiting > 0 && <span className="count" aria-label={text.side.requests(waiting)}>{waiting}</span>}
        </To>
      ) : null)}
    </nav>
  );
}

/** useFilters are those of the list of sessions; they stand in the address of the pages that have no other subject. */
function useFilters(): Pick<ShellState, "filter" | "project" | "setFilter"> {
  const [at, go] = useLocation();
  const [chosen, choose] = useState(() => {
    const query = new URLSearchParams(location.search);
    const filter = query.get("filter") as Filter;
    return { filter: filters.includes(filter) ? filter : "all" as Filter, project: query.get("project") ?? "" };
  });
  return {
    ...chosen,
    setFilter: (filter, project) => {
      choose({ filter, project });
      if (at !== "/" && at !== "/sessions") return;
      const query = new URLSearchParams({ ...(filter !== "all" && { filter }), ...(project && { project }) });
      go(query.size > 0 ? `${at}?${query}` : at, { replace: true });
    },
  };
}

/** Shell is what stands around every page: the sidebar, which opens over the page where that is narrow, or the tabs of a phone. */
export function Shell({ children }: { children: ReactNode }) {
  const [at] = useLocation();
  const [isPhone, isNarrow] = [useMedia(phone), useMedia(narrow)];
  const [{ sidebar }, change] = usePreferences();
  const [over, setOver] = useState(false);
  const [dialog, show] = useState<"search" | "keys" | null>(null);
  const filtered = useFilters();
  const { filter, project } = filtered;
  const shell = useMemo((): ShellState => ({ show, ...filtered }), [filter, project, at]); // eslint-disable-line react-hooks/exhaustive-deps
  useEffect(() => setOver(false), [at, isNarrow]);
  useEffect(() => {
    if (!over) return;
    const close = (e: KeyboardEvent) => {
      if (e.key !== "Escape" || document.querySelector("dialog[open]")) return;
      e.stopImmediatePropagation(); // one layer at a time
      setOver(false);
      requestAnimationFrame(() => document.querySelector<HTMLElement>(".open-side")?.focus()); // once it is there again
    };
    addEventListener("keydown", close, true);
    document.querySelector<HTMLElement>(".side a")?.focus();
    return () => removeEventListener("keydown", close, true);
  }, [over]);
  const shown = isNarrow ? over : sidebar;
  const toggle = (on: boolean) => (isNarrow ? setOver(on) : change({ sidebar: on }));
  return (
    <ShellContext.Provider value={shell}>
      <div className="shell" data-side={shown ? "shown" : "hidden"} data-tabs={(isPhone && !at.startsWith("/s/")) || undefined}>
        <a className="skip" href="#page" onClick={() => document.getElementById("page")?.focus()}>{text.nav.skip}</a>
        <Sidebar hide={() => toggle(false)} list={!isPhone && shown} />
        {over && <div className="veil" onClick={() => setOver(false)} />}
        <div className="page-box" inert={over}>
          <Notices />
          <Notify />
          <main id="page" className="page" tabIndex={-1}>
            {!shown && !isPhone && <button type="button" className="ghost icon open-side" aria-label={text.side.open} title={text.side.open} onClick={() => toggle(true)}><Icon name={isNarrow ? "menu" : "panel-left"} /></button>}
            {isPhone && at === "/inbox" && <button type="button" className="ghost icon phone-search" aria-label={text.palette.title} onClick={() => show("search")}><Icon name="search" /></button>}
            {children}
          </main>
        </div>
        {isPhone && !at.startsWith("/s/") && <Tabs />}
        <Toast />
        <Announcer />
        <Keys dialog={dialog} show={show} />
      </div>
    </ShellContext.Provider>
  );
}

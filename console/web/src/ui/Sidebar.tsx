import type { ReactNode } from "react";
import { Link as To, useLocation } from "wouter";
import { actorName, initials } from "../core/names";
import { SessionList } from "../pages/SessionList";
import { text } from "../text";
import { useClient, useSignal } from "./hooks";
import { Icon, type IconName } from "./Icon";
import { isHere, manages, pages, type Page } from "./pages";
import { useShell } from "./shellContext";

type Entry = { path: string; label: string; icon: IconName; here: boolean; count?: number };

function Item({ path, label, icon, here, count = 0 }: Entry) {
  return (
    <To href={path} className="side-to" aria-current={here ? "page" : undefined}>
      <Icon name={icon} /><span className="grow">{label}</span>
      {count > 0 && <span className="count" aria-label={text.side.requests(count)}>{count}</span>}
    </To>
  );
}

/** useWaiting is how many requests wait for a person. */
export function useWaiting(): number {
  const client = useClient();
  useSignal(client.store.inbox);
  return client.store.requests.size;
}

function Inbox() {
  const [at] = useLocation();
  return <Item path="/inbox" label={text.nav.inbox} icon="inbox" here={at === "/inbox"} count={useWaiting()} />;
}

/** usePages are the pages of one part of the sidebar that the user may open. */
export function usePages(part: Page["in"]): Page[] {
  const client = useClient();
  useSignal(client.signal);
  return pages.filter((page) => page.in === part && (!page.needs || client.may(page.needs)));
}

function Pages({ part, title }: { part: Page["in"]; title: string }) {
  const [at] = useLocation();
  return <><h2>{title}</h2>{usePages(part).map((page) => <Item key={page.name} {...page} here={isHere(page, at)} />)}</>;
}

/** ManageLinks lists the pages of those who run the server, and the settings. */
export const ManageLinks = () => <><Pages part="manage" title={text.side.manage} /><Pages part="settings" title={text.nav.settings} /></>;

function Work() {
  const client = useClient();
  const [at] = useLocation();
  const { show } = useShell();
  return (
    <>
      <nav className="side-nav" aria-label={text.side.main}>
        {client.may("work") && <Item path="/" label={text.list.fresh} icon="square-pen" here={at === "/"} />}
        <Inbox />
      </nav>
      <button type="button" className="find" onClick={() => show("search")}><Icon name="search" /><span className="grow">{text.list.filter}</span><kbd>{text.side.searchKey(/Mac|iP/.test(navigator.platform))}</kbd></button>
      <SessionList />
      <nav className="side-nav side-end" aria-label={text.side.manage}>
        <Item path="/usage" label={text.side.manage} icon="gauge" here={false} />
        <Item path="/settings" label={text.nav.settings} icon="settings" here={false} />
      </nav>
    </>
  );
}

const Manage = () => (
  <nav className="side-nav grow scroll" aria-label={text.side.manage}>
    <Item path="/" label={text.nav.sessions} icon="arrow-left" here={false} />
    <Inbox />
    <ManageLinks />
  </nav>
);

/** Me is who looks, in which role, and whether the page follows the server. */
function Me({ children }: { children?: ReactNode }) {
  const client = useClient();
  useSignal(client.signal);
  const { me } = client;
  const name = me ? (me.name ?? actorName(me.actor)) : "";
  return (
    <div className="me">
      <span className="avatar" aria-hidden="true">{initials(name)}</span>
      <span className="grow small"><span className="clip me-name">{name}</span><span className="dim">{text.settings.roles[me?.role ?? ""] ?? me?.role}</span></span>
      <span className="small dim link-state" role="status" data-link={client.state}><span className={`dot ${client.state}`} aria-hidden="true" /> {text.link[client.state]}</span>
      {children}
    </div>
  );
}

/** Sidebar is the one list at the side: of sessions and what to do with them, or of the pages of those who run the server. */
export function Sidebar({ hide, list }: { hide: () => void; list: boolean }) {
  const [at] = useLocation();
  return (
    <aside className="side" aria-label={manages(at) ? text.side.manage : text.nav.sessions}>
      <div className="brand"><span className="logo"><Icon name="terminal" /></span><span className="grow">{text.app}</span><button type="button" className="ghost icon" aria-label={text.side.hide} title={text.side.hide} onClick={hide}><Icon name="panel-left" /></button></div>
      {list && (manages(at) ? <Manage /> : <Work />)}
      <Me />
    </aside>
  );
}

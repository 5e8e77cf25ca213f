import type { ReactNode } from "react";
import { Link as To, useLocation } from "wouter";
import { text } from "../text";
import { useClient, useSignal } from "./hooks";
import { Keys } from "./Keys";
import { Notices } from "./Notices";
import { Notify } from "./Notify";
import { pages } from "./pages";

function Icon({ path }: { path: string }) {
  return <svg viewBox="0 0 24 24" aria-hidden="true" width="22" height="22"><path d={path} fill="none" stroke="currentColor" strokeWidth="1.6" strokeLinejoin="round" strokeLinecap="round" /></svg>;
}

function Rail() {
  const client = useClient();
  useSignal(client.store.inbox);
  const [at] = useLocation();
  const waiting = client.store.requests.size;
  return (
    <nav className="rail" aria-label={text.app}>
      {pages.map(({ name, path, label, icon, minor }) => {
        const here = path === "/" ? at === "/" || at.startsWith("/s/") || at === "/sessions" : at.startsWith(path);
        return (
          <To key={name} href={path} aria-current={here ? "page" : undefined} className="rail-to" data-minor={minor} title={label}>
            <Icon path={icon} />
            <span className="rail-label">{label}</span>
            {name === "inbox" && waiting > 0 && <span className="badge" aria-label={text.inbox.waiting(waiting)}>{waiting}</span>}
          </To>
        );
      })}
    </nav>
  );
}

function Status() {
  const client = useClient();
  useSignal(client.signal);
  return <div className="status" role="status" data-link={client.state}><span className={`dot ${client.state}`} aria-hidden="true" /> {text.link[client.state]}</div>;
}

/** Announcer reads finished messages and requests to screen readers, never single words. */
function Announcer() {
  const client = useClient();
  useSignal(client.news);
  return <div className="unseen" aria-live="polite">{client.said}</div>;
}

/** Shell is what stands around every page. */
export function Shell({ children }: { children: ReactNode }) {
  return (
    <div className="shell">
      <a className="skip" href="#page">{text.nav.skip}</a>
      <Rail />
      <div className="page-box">
        <Notices />
        <Notify />
        <main id="page" className="page" tabIndex={-1}>{children}</main>
      </div>
      <Status />
      <Announcer />
      <Keys />
    </div>
  );
}

import { useEffect, useState } from "react";
import { timeOf } from "../core/time";
import { text } from "../text";
import { useClient, useNow, useSignal } from "./hooks";

/** How long a connection may be away without a banner, in ms: a server that starts again is there sooner. */
const blink = 400;

/** Reconnecting says since when the connection is lost, and when it is tried next. */
function Reconnecting({ since }: { since: number }) {
  const client = useClient();
  useSignal(client.signal);
  const [shown, show] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => show(true), blink);
    return () => clearTimeout(timer);
  }, []);
  const now = useNow(1000, shown);
  if (!shown) return null;
  const wait = client.nextTry === null ? 0 : Math.ceil((client.nextTry - now) / 1000);
  return (
    <div className="notice warn" data-banner="lost">
      <span role="status">{client.state === "offline" ? text.link.noNetwork : text.link.reconnecting} {text.link.stale(timeOf(since))}</span>
      <span className="dim">{wait > 0 ? text.link.next(wait) : text.link.trying}</span>
      <button type="button" onClick={() => client.tryNow()}>{text.link.again}</button>
    </div>
  );
}

/** Notices stand above every page. */
export function Notices() {
  const client = useClient();
  useSignal(client.signal);
  return (
    <>
      {client.upgraded && (
        <div className="notice" role="status">
          {text.upgrade.message} <button type="button" onClick={() => void client.reload()}>{text.upgrade.reload}</button> <span className="dim">{text.upgrade.note}</span>
        </div>
      )}
      {client.lostAt !== null && <Reconnecting since={client.lostAt} />}
      {client.notice && <div className="notice" role="status">{client.notice} <button type="button" className="quiet" onClick={() => client.say(null)}>{text.upgrade.dismiss}</button></div>}
    </>
  );
}

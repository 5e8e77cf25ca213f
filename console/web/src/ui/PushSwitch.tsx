import { useState } from "react";
import { dayOf } from "../core/time";
import { text } from "../text";
import { useClient, useSignal } from "./hooks";
import { allow } from "./Notify";
import { usePreferences } from "./preferences";

const words = text.notify;

/** PushSwitch subscribes this browser to notifications while no page is open, and lists the subscribed ones. */
export function PushSwitch() {
  const { push } = useClient();
  useSignal(push.signal);
  const [, change] = usePreferences();
  const [working, setWorking] = useState(false);
  const [wanted, setWanted] = useState<boolean | null>(null); // until it is so
  const [failure, setFailure] = useState<string | null>(null);
  const run = async (work: () => Promise<void>) => {
    setWorking(true);
    setFailure(null);
    try {
      await work();
    } catch (err) {
      setFailure(words.pushFailed + (err instanceof Error ? err.message : String(err)));
    }
    setWorking(false);
    setWanted(null);
  };
  const set = async (on: boolean) => {
    setWanted(on);
    if (!on) return push.off();
    if (!(await allow())) return setFailure(words.refused);
    await push.on();
    change({ notify: "on" });
  };
  if (push.state === "unknown") return null;
  if (push.state === "unable") return <p className="dim">{words.unable}</p>;
  return (
    <>
      <label className="option">
        <input type="checkbox" checked={wanted ?? push.state === "on"} disabled={working} onChange={(e) => void run(() => set(e.target.checked))} />{" "}
        <span>{words.push} <span className="dim">{words.pushNote}</span></span>
      </label>
      {failure && <p className="failure" role="alert">{failure}</p>}
      {push.browsers.length > 0 && (
        <>
          <p>{words.browsers}:</p>
          <ul className="plain-list">
            {push.browsers.map((one) => (
              <li key={one.id} data-browser={one.id}>
                {one.id === push.own ? <strong>{words.ownBrowser}</strong> : one.service} <span className="dim">{words.since} {dayOf(one.createdAt)}</span>{" "}
                <button type="button" className="quiet" disabled={working} onClick={() => void run(() => push.end(one.id))}>{words.end}</button>
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

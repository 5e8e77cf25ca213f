import { useState } from "react";
import { dayOf } from "../core/time";
import { text } from "../text";
import { useClient, useSignal } from "./hooks";
import { allow } from "./Notify";
import { usePreferences } from "./preferences";
import { Switch } from "./Setting";

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
  if (push.state === "unable") return <li className="dim small">{words.unable}</li>;
  return (
    <>
      <Switch label={words.push} note={words.pushNote} on={wanted ?? push.state === "on"} disabled={working} change={(on) => void run(() => set(on))} />
      {failure && <li className="failure" role="alert">{failure}</li>}
      {push.browsers.map((one) => (
        <li key={one.id} data-browser={one.id}>
          <span className="grow">{one.id === push.own ? words.ownBrowser : one.service}<p>{words.since} {dayOf(one.createdAt)}</p></span>
          <button type="button" disabled={working} onClick={() => void run(() => push.end(one.id))}>{words.end}</button>
        </li>
      ))}
    </>
  );
}

import { useEffect } from "react";
import { text } from "../text";
import { useClient, useSignal } from "./hooks";
import { Icon } from "./Icon";

/** How long what was done can be undone here, in ms. */
const undoFor = 8_000;

/** Toast says what was just done and can be undone. */
export function Toast() {
  const client = useClient();
  useSignal(client.signal);
  const { done } = client;
  useEffect(() => {
    if (!done) return;
    const timer = setTimeout(() => client.finish(null), undoFor);
    return () => clearTimeout(timer);
  }, [client, done]);
  if (!done) return null;
  return (
    <div className="toast" role="status">
      <span className="grow">{done.what}</span>
      <button type="button" onClick={() => { client.finish(null); done.undo().catch((err: Error) => client.say(err.message)); }}>{text.side.undo}</button>
      <button type="button" className="ghost icon" aria-label={text.side.dismiss} onClick={() => client.finish(null)}><Icon name="x" /></button>
    </div>
  );
}

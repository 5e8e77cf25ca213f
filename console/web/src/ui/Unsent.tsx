import type { Open } from "../core/store";
import { timeOf } from "../core/time";
import { text } from "../text";
import { useClient, useNow, useSignal } from "./hooks";
import { Icon } from "./Icon";

/** After this time a message is not sent without a click any more, in ms. */
const late = 600_000;

/** Unsent are messages that the server has not answered: they go out once it is back. */
export function Unsent({ open }: { open: Open }) {
  const client = useClient();
  const composing = client.composing(open);
  useSignal(composing.signal);
  const { held, heldSince } = composing;
  const now = useNow(10_000, heldSince !== null);
  if (heldSince === null) return null;
  const old = now - heldSince >= late;
  return (
    <ol className="queued unsent" aria-label={text.talk.unsent}>
      {held.map((said, i) => (
        <li key={i}>
          <Icon name="history" />
          <span className="said clip" title={said}>{said}</span>
          {i === 0 && <span className="dim">{old ? text.talk.notSent(timeOf(heldSince)) : text.talk.willSend}</span>}
          {i === 0 && old && <button type="button" onClick={() => composing.resume()}>{text.composer.send}</button>}
          {i === 0 && <button type="button" className="icon ghost" aria-label={text.queue.edit} title={text.queue.edit} onClick={() => composing.release()}><Icon name="square-pen" /></button>}
        </li>
      ))}
    </ol>
  );
}

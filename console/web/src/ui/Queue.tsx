import { useState } from "react";
import type { Open } from "../core/store";
import type { Waiting } from "../core/types";
import { text } from "../text";
import { useClient, useSignal } from "./hooks";
import { Icon, type IconName } from "./Icon";

/** The messages queued on the server until the turn ends; frames report every change, so nothing is stored here. */
export function Queue({ open }: { open: Open }) {
  const client = useClient();
  const composing = client.composing(open);
  useSignal(open.signal);
  const act = (work: Promise<void>): Promise<boolean> => {
    composing.fail(null);
    return work.then(() => true, (err: unknown) => {
      composing.fail(err instanceof Error ? err.message : String(err));
      return false;
    });
  };
  if (open.queue.length === 0 || !client.may("work")) return null;
  return (
    <ol className="queued" aria-label={text.queue.title}>
      {open.queue.map((one, i) => (
        <Queued
          key={one.id} one={one}
          onUp={i > 0 ? () => void act(client.moveQueued(open, one.id, open.queue[i - 1]!.id)) : undefined}
          onNow={() => void act(client.sendQueued(open, one.id))}
          onEdit={(value) => act(client.editQueued(open, one.id, value))}
          onDrop={() => void act(client.dropQueued(open, one.id))}
        />
      ))}
    </ol>
  );
}

type Actions = { one: Waiting; onUp: (() => void) | undefined; onNow: () => void; onEdit: (value: string) => Promise<boolean>; onDrop: () => void };

const Act = ({ icon, label, run }: { icon: IconName; label: string; run: () => void }) => <button type="button" className="icon ghost" aria-label={label} title={label} onClick={run}><Icon name={icon} /></button>;

function Queued({ one, onUp, onNow, onEdit, onDrop }: Actions) {
  const [edited, setEdited] = useState<string | null>(null);
  if (one.state === "sending") return <li><span className="said clip">{one.text}</span> <span className="dim">{text.queue.sending}</span></li>;
  if (edited !== null) {
    return (
      <li>
        <textarea rows={2} aria-label={text.queue.label} value={edited} onChange={(e) => setEdited(e.target.value)} />
        <button type="button" disabled={edited.trim() === ""} onClick={() => void onEdit(edited.trim()).then((done) => done && setEdited(null))}>{text.queue.save}</button>
        <button type="button" className="ghost" onClick={() => setEdited(null)}>{text.queue.cancel}</button>
      </li>
    );
  }
  return (
    <li>
      <span className="said clip" title={one.text}>{one.text}</span>
      {one.images > 0 && <span className="dim">{text.queue.images(one.images)}</span>}
      {one.state === "held" && <span className="failure">{text.queue.held(one.error)}</span>}
      <Act icon="arrow-up" label={text.queue.now} run={onNow} />
      {onUp && <Act icon="chevron-up" label={text.queue.up} run={onUp} />}
      <Act icon="square-pen" label={text.queue.edit} run={() => setEdited(one.text)} />
      <Act icon="x" label={text.queue.drop} run={onDrop} />
    </li>
  );
}

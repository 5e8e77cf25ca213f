import { useState } from "react";
import type { Open } from "../core/store";
import type { Waiting } from "../core/types";
import { text } from "../text";
import { useClient } from "./hooks";

/** The messages queued on the server until the turn ends; frames report every change, so nothing is stored here. */
export function Queue({ open, onFailure }: { open: Open; onFailure: (why: string | null) => void }) {
  const client = useClient();
  const act = (work: Promise<void>): Promise<boolean> => {
    onFailure(null);
    return work.then(() => true, (err: unknown) => {
      onFailure(err instanceof Error ? err.message : String(err));
      return false;
    });
  };
  if (open.queue.length === 0) return null;
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

function Queued({ one, onUp, onNow, onEdit, onDrop }: Actions) {
  const [edited, setEdited] = useState<string | null>(null);
  if (one.state === "sending") return <li><span className="said">{one.text}</span> <span className="dim">{text.queue.sending}</span></li>;
  if (edited !== null) {
    return (
      <li>
        <textarea rows={2} aria-label={text.queue.label} value={edited} onChange={(e) => setEdited(e.target.value)} />
        <button type="button" disabled={edited.trim() === ""} onClick={() => void onEdit(edited.trim()).then((taken) => taken && setEdited(null))}>{text.queue.save}</button>
        <button type="button" onClick={() => setEdited(null)}>{text.queue.cancel}</button>
      </li>
    );
  }
  return (
    <li>
      <span className="said">{one.text}</span>
      {one.images > 0 && <span className="dim">{text.queue.images(one.images)}</span>}
      {one.state === "held" && <span className="failure">{text.queue.held(one.error)}</span>}
      <button type="button" onClick={onNow}>{text.queue.now}</button>
      {onUp && <button type="button" onClick={onUp}>{text.queue.up}</button>}
      <button type="button" onClick={() => setEdited(one.text)}>{text.queue.edit}</button>
      <button type="button" onClick={onDrop}>{text.queue.drop}</button>
    </li>
  );
}

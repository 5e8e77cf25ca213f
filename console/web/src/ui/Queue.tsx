import { useState } from "react";
import type { Open } from "../core/store";
import type { Waiting } from "../core/types";
import { text } from "../text";
import { useClient, useSignal } from "./hooks";
import { Icon } from "./Icon";
import { Menu, type Item } from "./Menu";

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

const Act = ({ icon, label, run }: Item) => <button type="button" className="icon ghost act" aria-label={label} title={label} onClick={run}>{icon && <Icon name={icon} />}</button>;

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
  const acts: Item[] = [
    { icon: "arrow-up", label: text.queue.now, run: onNow },
    ...(onUp ? [{ icon: "chevron-up" as const, label: text.queue.up, run: onUp }] : []),
    { icon: "square-pen", label: text.queue.edit, run: () => setEdited(one.text) },
    { icon: "x", label: text.queue.drop, run: onDrop },
  ];
  return (
    <li>
      <span className="said clip" title={one.text}>{one.text}</span>
      {one.images > 0 && <span className="dim">{text.queue.images(one.images)}</span>}
      {one.state === "held" && <span className="failure">{text.queue.held(one.error)}</span>}
      {acts.map((act) => <Act key={act.label} {...act} />)}
      <Menu label={text.session.more} className="icon ghost few-acts" items={acts}><Icon name="ellipsis" /></Menu>
    </li>
  );
}

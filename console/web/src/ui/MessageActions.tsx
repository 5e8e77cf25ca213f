import { useEffect, useState } from "react";
import { useLocation } from "wouter";
import { behind } from "../core/turns";
import type { Transcript } from "../core/transcript";
import type { Entry, Session } from "../core/types";
import { text } from "../text";
import { Dialog } from "./Dialog";
import { useClient } from "./hooks";
import { Icon, type IconName } from "./Icon";
import { Menu, type Item } from "./Menu";
import { Restore } from "./Restore";

/** MessageActions is what a message of a conversation is good for: a link to it, going on from it elsewhere, or here again. */
export function MessageActions({ transcript, entry, said }: { transcript: Transcript; entry: Entry; said: string }) {
  const client = useClient();
  const [, go] = useLocation();
  const [asked, setAsked] = useState<{ what: "fork" | "back"; turns: number } | null>(null);
  const [restoring, setRestoring] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const { sessionId } = transcript;
  const capabilities = client.store.open.get(sessionId)?.capabilities ?? {};
  const path = `/api/sessions/${encodeURIComponent(sessionId)}`;
  const link = new URL(`s/${encodeURIComponent(sessionId)}?at=${encodeURIComponent(entry.messageId)}`, client.base).toString();
  const ofTurn = entry.type === "userMessage" || entry.type === "agentMessage";
  const ask = (what: "fork" | "back") => {
    const turns = behind(transcript, entry.messageId);
    if (turns === null) return client.say(text.message.far);
    setAsked({ what, turns });
  };
  const carryOut = async () => {
    setBusy(true);
    setFailure(null);
    try {
      let id = sessionId;
      if (asked!.what === "fork") {
        const { session } = await client.api.post<{ session: Session }>(`${path}/fork`);
        client.store.putSession(session);
        id = session.sessionId;
      }
      if (asked!.turns > 0) await client.api.post(`/api/sessions/${encodeURIComponent(id)}/rollback`, { numTurns: asked!.turns });
      if (entry.role === "user") client.drafts.offer(id, said);
      setAsked(null);
      if (id !== sessionId) go(`/s/${encodeURIComponent(id)}`);
    } catch (err) {
      setFailure(err instanceof Error ? err.message : String(err));
    } finally {
      setBusy(false);
    }
  };
  const mayBack = ofTurn && client.may("work") && capabilities.rollback === true;
  const items: Item[] = [
    { label: text.session.copy, icon: "copy", run: () => void navigator.clipboard?.writeText(said), touch: true },
    { label: text.message.link, icon: "link", run: () => void navigator.clipboard?.writeText(link), touch: true },
  ];
  if (mayBack && capabilities.fork === true) items.push({ label: text.message.fork, icon: "git-fork", run: () => ask("fork") });
  if (entry.type === "userMessage" && entry.turnId && client.may("work")) items.push({ label: text.message.restore, icon: "undo-2", run: () => setRestoring(true) });
  if (mayBack && entry.type !== "userMessage") items.push({ label: text.message.back, icon: "undo-2", run: () => ask("back") });
  return (
    <>
      <span className="message-actions">
        <CopyIcon icon="copy" label={text.session.copy} copied={said} />
        <CopyIcon icon="link" label={text.message.link} copied={link} />
        <Menu label={text.session.more} className="icon" items={items} data={{ "data-few": items.length === 2 || undefined }}><Icon name="ellipsis" /></Menu>
      </span>
      {restoring && <Restore sessionId={sessionId} entry={entry} said={said} close={() => setRestoring(false)} />}
      {asked && (
        <Dialog title={asked.what === "fork" ? text.message.fork : text.message.back} close={() => setAsked(null)}>
          <p className="dialog-text">{asked.what === "fork" ? text.message.forkNote(asked.turns) : text.message.backNote(asked.turns)} {entry.role === "user" && text.message.draft}</p>
          {failure && <p className="failure" role="alert">{failure}</p>}
          <div className="actions">
            <button type="button" className={asked.what === "back" ? "bad" : "primary"} disabled={busy || (asked.what === "back" && asked.turns === 0)} onClick={() => void carryOut()}>
              {asked.what === "fork" ? text.session.fork : text.message.doBack}
            </button>
            <button type="button" onClick={() => setAsked(null)}>{text.session.cancel}</button>
          </div>
        </Dialog>
      )}
    </>
  );
}

/** CopyIcon puts a text into the clipboard, and says so. */
function CopyIcon({ icon, label, copied }: { icon: IconName; label: string; copied: string }) {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return;
    const timer = setTimeout(() => setDone(false), 1500);
    return () => clearTimeout(timer);
  }, [done]);
  const name = done ? text.session.copied : label;
  return <button type="button" className="icon" aria-label={name} title={name} onClick={() => void navigator.clipboard?.writeText(copied).then(() => setDone(true))}><Icon name={done ? "check" : icon} /></button>;
}

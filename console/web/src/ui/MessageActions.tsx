import { textAndPictures } from "../core/pictures";
import { useState } from "react";
import { useLocation } from "wouter";
import { behind } from "../core/turns";
import type { Transcript } from "../core/transcript";
import type { Entry, Session } from "../core/types";
import { text } from "../text";
import { Copy } from "./Code";
import { Dialog } from "./Dialog";
import { useClient } from "./hooks";

/** MessageActions is what a message of a conversation is good for: a link to it, going on from it elsewhere, or here again. */
export function MessageActions({ transcript, entry }: { transcript: Transcript; entry: Entry }) {
  const client = useClient();
  const [, go] = useLocation();
  const [asked, setAsked] = useState<{ what: "fork" | "back"; turns: number } | null>(null);
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
      if (entry.role === "user") client.drafts.offer(id, textAndPictures(entry.texts.text ?? "").text);
      setAsked(null);
      if (id !== sessionId) go(`/s/${encodeURIComponent(id)}`);
    } catch (err) {
      setFailure(err instanceof Error ? err.message : String(err));
    } finally {
      setBusy(false);
    }
  };
  const mayBack = ofTurn && client.may("work") && capabilities.rollback === true;
  return (
    <>
      <Copy text={link} label={text.message.link} />
      {mayBack && capabilities.fork === true && <> <button type="button" className="quiet" onClick={() => ask("fork")}>{text.message.fork}</button></>}
      {mayBack && <> <button type="button" className="quiet" onClick={() => ask("back")}>{text.message.back}</button></>}
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

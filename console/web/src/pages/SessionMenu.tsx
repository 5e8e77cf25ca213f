import { useState } from "react";
import { useLocation } from "wouter";
import type { Session } from "../core/types";
import { text } from "../text";
import { Dialog } from "../ui/Dialog";
import { useClient } from "../ui/hooks";

/** SessionMenu renames, moves, forks, archives and deletes a session. */
export function SessionMenu({ session, close }: { session: Session; close: () => void }) {
  const client = useClient();
  const [, go] = useLocation();
  const [title, setTitle] = useState(session.title);
  const [typed, setTyped] = useState("");
  const [failure, setFailure] = useState<string | null>(null);
  const id = encodeURIComponent(session.sessionId);
  const run = (work: () => Promise<unknown>, then: string | null = null) => () => {
    work().then(() => { close(); if (then !== null) go(then); }, (err: Error) => setFailure(err.message));
  };
  const open = client.store.open.get(session.sessionId);
  const offers = (capability: "fork" | "archive") => open?.capabilities[capability] !== false;
  const move = (projectId: string) => run(async () => {
    await client.api.post(`/api/sessions/${id}/project`, { projectId: projectId || null });
    client.store.putSession({ ...session, projectId: projectId || null });
  })();
  const fork = async () => {
    const { session: made } = await client.api.post<{ session: Session }>(`/api/sessions/${id}/fork`);
    client.store.putSession(made);
    go(`/s/${made.sessionId}`);
  };
  return (
    <Dialog title={session.title} close={close}>
      <form className="form" onSubmit={(e) => { e.preventDefault(); run(() => client.api.post(`/api/sessions/${id}/rename`, { title }))(); }}>
        <label>{text.session.title}<input value={title} onChange={(e) => setTitle(e.target.value)} /></label>
        <div className="actions">
          <button type="submit" className="primary" disabled={title.trim() === ""}>{text.session.save}</button>
          {offers("fork") && <button type="button" onClick={run(fork)}>{text.session.fork}</button>}
          {offers("archive") && <button type="button" onClick={run(() => client.archive(session), "/")}>{text.session.archive}</button>}
          <button type="button" onClick={run(() => client.markUnread(session.sessionId), "/")}>{text.session.unread}</button>
          <button type="button" onClick={close}>{text.session.cancel}</button>
        </div>
        {client.store.projects.size > 0 && (
          <label>
            {text.session.project}
            <select value={session.projectId ?? ""} onChange={(e) => move(e.target.value)}>
              <option value="">{text.session.noProject}</option>
              {[...client.store.projects].map(([projectId, name]) => <option key={projectId} value={projectId}>{name}</option>)}
            </select>
          </label>
        )}
        <label>{text.session.confirm} <em>{session.title}</em><input value={typed} onChange={(e) => setTyped(e.target.value)} /></label>
        <div className="actions">
          <button type="button" className="bad" disabled={typed !== session.title} onClick={run(() => client.api.delete(`/api/sessions/${id}`), "/")}>{text.session.remove}</button>
        </div>
        {failure && <p className="failure" role="alert">{failure}</p>}
      </form>
    </Dialog>
  );
}

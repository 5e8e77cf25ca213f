import { useState, type ReactNode } from "react";
import { useLocation } from "wouter";
import type { Session } from "../core/types";
import { text } from "../text";
import { Dialog } from "../ui/Dialog";
import { useClient } from "../ui/hooks";
import { Icon } from "../ui/Icon";
import { Menu, type Item } from "../ui/Menu";
import type { Format } from "./exporting";

type Asked = "rename" | "move" | "delete";

/** SessionMenu is what can be done with a session. */
export function SessionMenu({ session }: { session: Session }) {
  const client = useClient();
  const [, go] = useLocation();
  const [asked, ask] = useState<Asked | null>(null);
  const path = `/api/sessions/${encodeURIComponent(session.sessionId)}`;
  const capabilities = client.store.open.get(session.sessionId)?.capabilities ?? {};
  const run = (work: () => Promise<unknown>, then: string | null = null) => () => {
    work().then(() => { if (then !== null) go(then); }, (err: Error) => client.say(err.message));
  };
  const fork = async () => {
    const { session: made } = await client.api.post<{ session: Session }>(`${path}/fork`);
    client.store.putSession(made);
    go(`/s/${made.sessionId}`);
  };
  const copy = (copied: string) => () => void navigator.clipboard?.writeText(copied).then(() => client.announce(text.session.copied));
  const save = (format: Format) => run(async () => (await import("./exporting")).exportSession(client, session, format));
  const link = new URL(`s/${encodeURIComponent(session.sessionId)}`, client.base).toString();
  const work = client.may("work");
  const items: (Item | false)[] = [
    work && { label: text.session.rename, icon: "square-pen", run: () => ask("rename") },
    work && client.store.projects.size > 0 && { label: text.talk.move, icon: "folder", run: () => ask("move") },
    { label: text.session.unread, icon: "inbox", run: run(() => client.markUnread(session.sessionId), "/") },
    { label: text.talk.copyLink, icon: "link", run: copy(link), apart: true },
    { label: text.talk.copyId, icon: "copy", run: copy(session.sessionId) },
    { label: text.talk.export("Markdown"), icon: "download", run: save("md") },
    { label: text.talk.export("HTML"), icon: "download", run: save("html") },
    { label: text.talk.export("JSON"), icon: "download", run: save("json") },
    work && capabilities.fork !== false && { label: text.session.fork, icon: "git-fork", run: run(fork), apart: true },
    work && capabilities.compact === true && { label: text.talk.compact, icon: "history", run: run(() => client.api.post(`${path}/compact`)), disabled: session.activeTurnId !== null },
    work && capabilities.archive !== false && { label: text.session.archive, icon: "archive", run: run(() => client.archive(session), "/"), apart: true },
    work && { label: text.session.remove, icon: "trash-2", run: () => ask("delete"), bad: true },
  ];
  return (
    <>
      <Menu label={text.session.more} className="icon ghost" items={items.filter((item): item is Item => item !== false)}><Icon name="ellipsis" /></Menu>
      {asked === "rename" && <Rename session={session} path={path} close={() => ask(null)} />}
      {asked === "move" && <Move session={session} path={path} close={() => ask(null)} />}
      {asked === "delete" && <Delete session={session} path={path} close={() => ask(null)} />}
    </>
  );
}

type AskProps = { session: Session; path: string; close: () => void };

/** Form asks for something in a dialog, does it, and stays open with the reason where it fails. */
function Form({ title, action, bad = false, ready = true, work, close, children }: { title: string; action: string; bad?: boolean; ready?: boolean; work: () => Promise<unknown>; close: () => void; children: ReactNode }) {
  const [failure, setFailure] = useState<string | null>(null);
  const submit = () => void work().then(close, (err: Error) => setFailure(err.message));
  return (
    <Dialog title={title} close={close}>
      <form className="form" onSubmit={(e) => { e.preventDefault(); submit(); }}>
        {children}
        {failure && <p className="failure" role="alert">{failure}</p>}
        <div className="actions">
          <button type="submit" className={bad ? "bad" : "primary"} disabled={!ready}>{action}</button>
          <button type="button" onClick={close}>{text.session.cancel}</button>
        </div>
      </form>
    </Dialog>
  );
}

function Rename({ session, path, close }: AskProps) {
  const client = useClient();
  const [title, setTitle] = useState(session.title);
  return (
    <Form title={text.session.rename.replace("…", "")} action={text.session.save} ready={title.trim() !== ""} close={close} work={() => client.api.post(`${path}/rename`, { title })}>
      <label>{text.session.title}<input value={title} onChange={(e) => setTitle(e.target.value)} /></label>
    </Form>
  );
}

function Move({ session, path, close }: AskProps) {
  const client = useClient();
  const [projectId, setProjectId] = useState(session.projectId ?? "");
  const move = async () => {
    await client.api.post(`${path}/project`, { projectId: projectId || null });
    client.store.putSession({ ...session, projectId: projectId || null });
  };
  return (
    <Form title={text.talk.move.replace("…", "")} action={text.talk.moveDo} close={close} work={move}>
      <label>
        {text.session.project}
        <select value={projectId} onChange={(e) => setProjectId(e.target.value)}>
          <option value="">{text.session.noProject}</option>
          {[...client.store.projects].map(([id, name]) => <option key={id} value={id}>{name}</option>)}
        </select>
      </label>
    </Form>
  );
}

function Delete({ session, path, close }: AskProps) {
  const client = useClient();
  const [, go] = useLocation();
  const [typed, setTyped] = useState("");
  return (
    <Form title={text.session.remove.replace("…", "")} action={text.session.remove.replace("…", "")} bad ready={typed === session.title} close={close} work={async () => { await client.api.delete(path); go("/"); }}>
      <label>{text.session.confirm} <em>{session.title}</em><input value={typed} onChange={(e) => setTyped(e.target.value)} /></label>
    </Form>
  );
}

import { useState } from "react";
import { size } from "../core/names";
import type { Session } from "../core/types";
import type { Answer } from "../api/answers";
import { text } from "../text";
import { Copy } from "../ui/Code";
import { useClient } from "../ui/hooks";
import { Icon } from "../ui/Icon";
import { useAnswer } from "../ui/useAnswer";

type Folder = Answer<"/api/sessions/{sessionId}/files">;
type Content = Answer<"/api/sessions/{sessionId}/files/content">;

const join = (folder: string, name: string) => (folder ? `${folder}/${name}` : name);

/** More is a button that reads the next page of what is shown, and says why it could not. */
function More({ read }: { read: () => Promise<void> }) {
  const [failure, fail] = useState("");
  return (
    <>
      <button type="button" className="quiet" onClick={() => void read().then(() => fail(""), (err: Error) => fail(err.message))}>{text.files.more}</button>
      {failure && <p className="bad small" role="alert">{failure}</p>}
    </>
  );
}

function List({ at, folder, enter, open }: { at: string; folder: string; enter: (path: string) => void; open: (path: string) => void }) {
  const client = useClient();
  const read = (cursor: string) => client.api.get<Folder>(`${at}?${new URLSearchParams({ ...(folder && { path: folder }), cursor })}`);
  const asked = useAnswer(() => read("0"), [at, folder]);
  const [further, add] = useState<{ first: Folder | null; pages: Folder[] }>({ first: null, pages: [] });
  if (asked.failure && !asked.answer) return <p className="dim">{asked.failure}</p>;
  if (!asked.answer || asked.answer.path !== folder) return <p className="dim">{text.session.loading}</p>;
  const pages = [asked.answer, ...(further.first === asked.answer ? further.pages : [])];
  const next = pages.at(-1)!.nextCursor;
  const entries = pages.flatMap((page) => page.entries);
  if (entries.length === 0) return <p className="dim">{text.files.empty}</p>;
  return (
    <>
      <ul className="files">
        {entries.map((entry) => (
          <li key={entry.name}>
            <button type="button" className="menu-item" disabled={entry.closed !== null} title={entry.closed ? text.files.closed[entry.closed] : entry.name}
              onClick={() => (entry.kind === "folder" ? enter : open)(join(folder, entry.name))}>
              <Icon name={entry.kind === "folder" ? "folder" : "file-pen"} /><span className="mono clip grow">{entry.name}{entry.kind === "folder" && "/"}</span>
              <span className="dim">{entry.closed ? text.files.closed[entry.closed] : entry.size !== null ? size(entry.size) : ""}</span>
            </button>
          </li>
        ))}
      </ul>
      {next && <More read={async () => { const page = await read(next); add({ first: asked.answer, pages: [...pages.slice(1), page] }); }} />}
      {pages.at(-1)!.more && !next && <p className="dim small">{text.files.cut}</p>}
    </>
  );
}

function Text({ at, path }: { at: string; path: string }) {
  const client = useClient();
  const read = (from: number) => client.api.get<Content>(`${at}/content?${new URLSearchParams({ path, from: String(from) })}`);
  const asked = useAnswer(() => read(0), [at, path]);
  const [further, add] = useState<{ first: Content | null; pages: Content[] }>({ first: null, pages: [] });
  if (asked.failure && !asked.answer) return <p className="dim">{asked.failure}</p>;
  if (!asked.answer) return <p className="dim">{text.session.loading}</p>;
  const first = asked.answer;
  const pages = [first, ...(further.first === first ? further.pages : [])];
  const next = pages.at(-1)!.next;
  if (first.binary) return <p className="dim">{text.talk.binary} {first.type.split(";")[0]}, {size(first.size)}</p>;
  const shown = pages.map((page) => page.text).join("");
  const lines = shown.replace(/\n$/, "").split("\n").length;
  return (
    <>
      <div className="file-text"><pre className="no" aria-hidden="true">{Array.from({ length: lines }, (_, i) => i + 1).join("\n")}</pre><pre tabIndex={0}>{shown}</pre></div>
      {next !== null && <><p className="dim small">{text.files.range(size(next), size(first.size))}</p><More read={async () => { const page = await read(next); add({ first, pages: [...pages.slice(1), page] }); }} /></>}
    </>
  );
}

/** Files are those of the session's folder, read-only. */
export function Files({ session }: { session: Session }) {
  const at = `/api/sessions/${encodeURIComponent(session.sessionId)}/files`;
  const [{ folder, file }, go] = useState({ folder: "", file: "" });
  const parts = folder.split("/").filter(Boolean);
  const enter = (path: string) => go({ folder: path, file: "" });
  return (
    <>
      <nav className="line-row crumbs" aria-label={text.session.where}>
        <button type="button" className="quiet mono" onClick={() => enter("")}>{session.cwd.split("/").at(-1) || "/"}</button>
        {parts.map((part, i) => <button key={i} type="button" className="quiet mono" onClick={() => enter(parts.slice(0, i + 1).join("/"))}>/ {part}</button>)}
        {file && <><span className="mono clip grow" title={file}>/ {file.split("/").at(-1)}</span><Copy text={file} label={text.files.copy} /></>}
      </nav>
      {file ? <Text key={file} at={at} path={file} /> : <List key={folder} at={at} folder={folder} enter={enter} open={(path) => go({ folder, file: path })} />}
    </>
  );
}

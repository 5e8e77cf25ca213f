import { useEffect, useRef, useState } from "react";
import { useLocation, useSearch } from "wouter";
import type { Answer, Runtime } from "../api/answers";
import { ApiError } from "../core/api";
import { since } from "../core/time";
import type { Session } from "../core/types";
import { text } from "../text";
import { worked } from "../ui/AgentTrouble";
import { Before } from "../ui/Before";
import { FolderChip, type Folders } from "../ui/FolderChip";
import { useClient, useNow, useSignal } from "../ui/hooks";
import { Icon } from "../ui/Icon";
import { SetUpChip, usualLevels, type Access, type SetUp } from "../ui/SetUpChip";
import { useAnswer } from "../ui/useAnswer";

const words = text.start;
/** Under this name the draft of a session that does not exist yet is kept. */
const draft = "new";
const mouse = () => matchMedia("(hover: hover) and (pointer: fine)").matches;

/** body is what a new session is made with: what was chosen, and the access to begin with. */
const body = (folder: string, { runtime, model, levels }: SetUp, branch: string | null) => ({
  ...(folder && { cwd: folder }), ...(branch && { worktree: { branch } }), ...(runtime && { runtime }), ...(model && { model }), ...levels,
});

/** branchOf is the branch of a new worktree: what the message begins with, and an id. */
const branchOf = (said: string, id: string) =>
  `harness/${[said.trim().split("\n")[0]!.toLowerCase().normalize("NFKD").replace(/[^a-z0-9]+/g, "-").slice(0, 40).replace(/^-+|-+$/g, ""), id].filter(Boolean).join("-")}`;

/** WorktreeChip lets the session work in a worktree of its own. It is there for a folder with Git. */
function WorktreeChip({ folder, on, change }: { folder: string; on: boolean; change: (on: boolean) => void }) {
  const client = useClient();
  const { answer } = useAnswer(async () => (folder ? client.api.get<Folders>(`/api/folders?q=${encodeURIComponent(folder)}`) : null), [folder]);
  const git = [...(answer?.matches ?? []), ...(answer?.recent ?? [])].some((one) => one.path === folder && one.git);
  useEffect(() => {
    if (answer && !git) change(false);
  }, [answer, git]); // eslint-disable-line react-hooks/exhaustive-deps
  if (!git) return null;
  return <button type="button" className="chip boxed" aria-pressed={on} onClick={() => change(!on)}><Icon name="git-branch" />{words.worktree}{on && <Icon name="check" />}</button>;
}

/** usable is the agent to begin with: the server's own if it can work, else the first that can. */
const usable = (runtimes: Runtime[], sessions: Iterable<Session>) => {
  const works = (r: Runtime) => r.state === "ready" && (r.auth.state !== "missing" || worked(sessions, r.name));
  return runtimes.find((r) => r.default && works(r)) ?? runtimes.find(works) ?? runtimes.find((r) => r.default) ?? runtimes[0];
};

function Prompt({ runtimes, folder, setFolder, first }: { runtimes: Runtime[]; folder: string; setFolder: (folder: string) => void; first: boolean }) {
  const client = useClient();
  const [at, go] = useLocation();
  const typed = new URLSearchParams(useSearch()).get("text");
  const [said, setSaid] = useState(() => typed ?? client.drafts.get(draft));
  const [setUp, setSetUp] = useState<SetUp>({ runtime: "", model: "", levels: {} });
  const [failure, setFailure] = useState<{ folder: boolean; message: string } | null>(null);
  const [busy, setBusy] = useState(false);
  const [apart, setApart] = useState(false);
  const [id] = useState(() => Math.random().toString(16).slice(2, 8).padEnd(6, "0"));
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (mouse() && at !== "/sessions") field.current?.focus();
  }, [at]);
  useEffect(() => {
    if (typed !== null) setSaid(typed); // by the search, also while this page is shown
  }, [typed]);
  useEffect(() => client.drafts.set(draft, said), [client, said]);
  const branch = apart ? branchOf(said, id) : null;
  const readAccess = async (): Promise<Access> => (await client.api.get<Answer<"/api/setup">>("/api/setup")).access;
  const access = useAnswer(readAccess, []).answer;
  const chosen = runtimes.find((r) => r.name === setUp.runtime) ?? usable(runtimes, client.store.sessions.values());
  const start = async () => {
    if (busy || said.trim() === "" || !chosen) return;
    setBusy(true);
    setFailure(null);
    try {
      const levels = { ...usualLevels(access ?? (await readAccess()), chosen), ...setUp.levels };
      const session = await client.begin({ ...body(folder, { ...setUp, levels, runtime: chosen.default ? setUp.runtime : chosen.name }, branch), message: { text: said.trim() } });
      client.drafts.set(draft, "");
      go(`/s/${encodeURIComponent(session.sessionId)}`);
    } catch (err) {
      setFailure({ folder: err instanceof ApiError && err.code === "folder_missing", message: err instanceof Error ? err.message : String(err) });
      setBusy(false);
    }
  };
  return (
    <form className="prompt" onSubmit={(e) => { e.preventDefault(); void start(); }}>
      <textarea ref={field} aria-label={words.label} placeholder={first ? words.first : words.hint} value={said} rows={4} onChange={(e) => setSaid(e.target.value)}
        onKeyDown={(e) => {
          if (e.key !== "Enter" || e.shiftKey || e.nativeEvent.isComposing || e.keyCode === 229) return;
          e.preventDefault();
          void start();
        }} />
      <div className="prompt-bar">
        <FolderChip folder={folder} change={(path) => { setFolder(path); setFailure(null); }} />
        <WorktreeChip folder={folder} on={apart} change={setApart} />
        {chosen && <SetUpChip runtimes={runtimes} chosen={chosen} access={access} setUp={setUp} change={setSetUp} />}
        <button type="submit" className="primary" disabled={busy || said.trim() === "" || !chosen}><Icon name="arrow-up" />{words.start}</button>
      </div>
      {branch && <p className="dim small">{words.onBranch(branch)}</p>}
      {failure && <p className="failure" role="alert">{failure.message}</p>}
    </form>
  );
}

const agoOf = (age: string) => (age === text.ages.now ? age : words.ago(age));

/** Recent are the folders of the latest sessions, and what goes on there. */
function Recent({ folders, pick }: { folders: Folders["recent"]; pick: (folder: string) => void }) {
  const now = useNow(30_000);
  const goesOn = (f: Folders["recent"][number]) => (f.needsYou > 0 ? words.needsYou(f.needsYou) : f.running > 0 ? words.running(f.running) : agoOf(since(now - Date.parse(f.usedAt))));
  return (
    <section>
      <h2>{words.recent}</h2>
      <div className="folders">
        {folders.slice(0, 4).map((f) => (
          <button key={f.path} type="button" className="folder" onClick={() => pick(f.path)}>
            <Icon name={f.git ? "folder-git-2" : "folder"} />
            <span className="grow"><span className="clip">{f.path.split("/").filter(Boolean).at(-1) ?? f.path}</span><small className="clip">{f.path}</small></span>
            <small>{goesOn(f)}</small>
          </button>
        ))}
      </div>
    </section>
  );
}

/** Start is the page of a new session: one field, and what it will run with. A server without sessions says what is ready. */
export function Start() {
  const client = useClient();
  useSignal(client.store.list);
  const may = client.may("work");
  const [folder, setFolder] = useState("");
  const runtimes = useAnswer(() => client.api.get<Answer<"/api/runtimes">>("/api/runtimes"), [], { every: 30_000 });
  const folders = useAnswer(async () => (may ? client.api.get<Folders>("/api/folders") : null), [may], { rev: client.store.sessions.size });
  const first = client.store.sessions.size === 0;
  const all = runtimes.answer?.data ?? [];
  if (!may) return <div className="start"><h1 className="title">{text.nav.sessions}</h1><p className="dim">{words.viewer}</p></div>;
  return (
    <div className="start">
      <div>
        <h1 className="title" tabIndex={-1}>{first ? words.welcome : words.title}</h1>
        {first && <p className="dim">{words.about}</p>}
      </div>
      <Prompt runtimes={all} folder={folder} setFolder={setFolder} first={first} />
      {runtimes.failure && <p className="failure" role="alert">{text.operator.failed}{runtimes.failure}</p>}
      <Before all={first} />
      {(folders.answer?.recent.length ?? 0) > 0 && <Recent folders={folders.answer!.recent} pick={setFolder} />}
    </div>
  );
}


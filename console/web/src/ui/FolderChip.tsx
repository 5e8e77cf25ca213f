import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import type { Answer } from "../api/answers";
import { text } from "../text";
import { useClient } from "./hooks";
import { Icon } from "./Icon";
import { Layer } from "./Layer";

export type Folders = Answer<"/api/folders">;
type Folder = Folders["matches"][number];

const words = text.start;
/** The pause in typing before the server is asked, in ms. */
const pause = 120;

/** useFolders are those that fit what is typed; what is known for an older text is not shown for a newer one. */
function useFolders(typed: string): Folders | null {
  const client = useClient();
  const [found, setFound] = useState<{ q: string; folders: Folders } | null>(null);
  useEffect(() => {
    let current = true;
    const timer = setTimeout(() => {
      client.api.get<Folders>(`/api/folders?q=${encodeURIComponent(typed)}`)
        .then((folders) => current && setFound({ q: typed, folders }), (err: Error) => current && client.say(err.message));
    }, found ? pause : 0);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [client, typed]); // eslint-disable-line react-hooks/exhaustive-deps
  return found?.folders ?? null;
}

/** Marked shows the part of a path that was typed. */
function Marked({ path, typed }: { path: string; typed: string }) {
  const at = typed === "" ? -1 : path.lastIndexOf(typed);
  return <span className="clip grow">{at < 0 ? path : <>{path.slice(0, at)}<b>{typed}</b>{path.slice(at + typed.length)}</>}</span>;
}

function Picker({ folder, pick }: { folder: string; pick: (folder: string) => void }) {
  const [typed, setTyped] = useState(folder);
  const [place, setPlace] = useState(-1);
  const found = useFolders(typed === folder ? "" : typed);
  const searching = typed !== "" && typed !== folder;
  const shown: Folder[] = searching ? found?.matches ?? [] : found?.recent ?? [];
  const onKeyDown = (e: KeyboardEvent) => {
    const chosen = shown[place];
    if (e.key === "ArrowDown") setPlace(Math.min(place + 1, shown.length - 1));
    else if (e.key === "ArrowUp") setPlace(Math.max(place - 1, -1));
    else if (e.key === "Tab" && !e.shiftKey && searching && (chosen ?? shown[0])) setTyped((chosen ?? shown[0]!).path);
    else if (e.key === "Enter" && !e.nativeEvent.isComposing) pick(chosen?.path ?? typed.trim());
    else return;
    e.preventDefault();
  };
  return (
    <>
      <input type="text" role="combobox" aria-expanded="true" aria-controls="folder-list" aria-activedescendant={shown[place] && `folder-${place}`} aria-label={words.folder} data-first
        value={typed} placeholder={words.anyFolder} spellCheck="false" autoComplete="off" autoCapitalize="off" onChange={(e) => { setTyped(e.target.value); setPlace(-1); }} onKeyDown={onKeyDown} />
      {shown.length > 0 && <p className="group-name">{searching ? words.matching : words.recent}</p>}
      <div id="folder-list" role="listbox" aria-label={words.folder}>
        {shown.map((one, at) => (
          <div key={one.path} id={`folder-${at}`} role="option" aria-selected={at === place} className="menu-item" onClick={() => pick(one.path)}>
            <Icon name={one.git ? "folder-git-2" : "folder"} /><Marked path={one.path} typed={searching ? typed : ""} /><span className="dim small">{one.branch ?? (one.git ? "" : words.noGit)}</span>
          </div>
        ))}
      </div>
      <p className="dim small pick-note">{found?.more && searching ? words.more : words.complete}</p>
    </>
  );
}

/** short is the end of a path: its last two parts. */
const short = (path: string) => {
  const parts = path.split("/").filter(Boolean);
  return parts.length > 2 ? `…/${parts.slice(-2).join("/")}` : path;
};

/** FolderChip is the folder of a new session: one of those in use, or a path with completion. */
export function FolderChip({ folder, change }: { folder: string; change: (folder: string) => void }) {
  const chip = useRef<HTMLButtonElement>(null);
  const [open, setOpen] = useState(false);
  const pick = (path: string) => {
    setOpen(false);
    change(path);
  };
  return (
    <>
      <button ref={chip} type="button" className="chip boxed" aria-haspopup="dialog" aria-expanded={open} aria-label={`${words.folder}: ${folder || words.anyFolder}`} title={folder || undefined} onClick={() => setOpen(!open)}>
        <Icon name="folder" /><span className="clip">{folder ? short(folder) : words.anyFolder}</span><Icon name="chevron-down" />
      </button>
      {open && <Layer anchor={chip} close={() => setOpen(false)} role="dialog" label={words.folder} className="folder-pick"><Picker folder={folder} pick={pick} /></Layer>}
    </>
  );
}

import { useEffect, useLayoutEffect, useRef, useState, type KeyboardEvent, type RefObject } from "react";
import type { Answer } from "../api/answers";
import { fitting, mentionAt } from "../core/mention";
import { text } from "../text";
import { useClient } from "./hooks";
import { Icon } from "./Icon";

type Entry = Answer<"/api/sessions/{sessionId}/files">["entries"][number];

/** How many files are offered. */
const most = 8;
const listId = "mentioned-files";

type Field = { sessionId: string; field: RefObject<HTMLTextAreaElement | null>; draft: string; write: (draft: string) => void };

/** useFolder lists a folder of the session, null for none. */
function useFolder(sessionId: string, folder: string | null): Entry[] {
  const client = useClient();
  const [listed, list] = useState<{ folder: string; entries: Entry[] } | null>(null);
  useEffect(() => {
    if (folder === null) return list(null);
    let current = true;
    const query = new URLSearchParams(folder ? { path: folder.slice(0, -1) } : {});
    client.api.get<Answer<"/api/sessions/{sessionId}/files">>(`/api/sessions/${encodeURIComponent(sessionId)}/files?${query}`)
      .then(({ entries }) => current && list({ folder, entries: entries.filter((entry) => entry.closed === null) }), () => {}); // without it the path is typed
    return () => void (current = false);
  }, [client, sessionId, folder]);
  return listed !== null && listed.folder === folder ? listed.entries : [];
}

/**
 * useMention offers the files of the session's folder while a path is written behind an @. The focus stays in the field, and a key
 * does nothing else than without the list, but for Tab, the arrows and Escape, and for Enter behind an arrow.
 */
export function useMention({ sessionId, field, draft, write }: Field) {
  const [caret, setCaret] = useState<number | null>(null);
  const [place, setPlace] = useState(-1);
  const moved = useRef<number | null>(null);
  const mention = caret === null ? null : mentionAt(draft, caret);
  const shown = fitting(useFolder(sessionId, mention?.folder ?? null), mention?.name ?? "", most);
  const chosen = shown[place];
  useLayoutEffect(() => {
    if (moved.current === null) return;
    field.current?.setSelectionRange(moved.current, moved.current);
    moved.current = null;
  }, [draft, field]);
  const follow = (at: number | null) => {
    setCaret(at);
    setPlace(-1);
  };
  const put = (from: number, to: number, path: string) => {
    moved.current = from + path.length;
    write(draft.slice(0, from) + path + draft.slice(to));
    follow(moved.current);
    field.current?.focus();
  };
  const pick = (entry: Entry) => put(mention!.from, caret!, `${mention!.folder}${entry.name}${entry.kind === "folder" ? "/" : " "}`);
  /** begin writes an @ where the caret stands. */
  const begin = () => {
    const at = field.current?.selectionStart ?? draft.length;
    put(at, at, at === 0 || /\s/.test(draft[at - 1]!) ? "@" : " @");
  };
  /** onKey reports whether a key was for the list. */
  const onKey = (e: KeyboardEvent): boolean => {
    if (["ArrowLeft", "ArrowRight", "Home", "End"].includes(e.key)) follow(null);
    if (shown.length === 0 || e.nativeEvent.isComposing || e.ctrlKey || e.metaKey || e.altKey || e.shiftKey) return false;
    if (e.key === "ArrowDown") setPlace(Math.min(place + 1, shown.length - 1));
    else if (e.key === "ArrowUp" && place >= 0) setPlace(place - 1);
    else if (e.key === "Tab" || (e.key === "Enter" && chosen)) pick(chosen ?? shown[0]!);
    else if (e.key === "Escape") follow(null);
    else return false;
    e.preventDefault();
    e.stopPropagation();
    return true;
  };
  const list = shown.length > 0 && (
    <div id={listId} className="mentions" role="listbox" aria-label={text.files.mention} onPointerDown={(e) => e.preventDefault()}>
      {shown.map((entry, at) => (
        <div key={entry.name} id={`${listId}-${at}`} role="option" aria-selected={at === place} className="menu-item" onClick={() => pick(entry)}>
          <Icon name={entry.kind === "folder" ? "folder" : "file-pen"} /><span className="mono clip">{mention!.folder}{entry.name}{entry.kind === "folder" && "/"}</span>
        </div>
      ))}
    </div>
  );
  const described = shown.length > 0 ? { "aria-autocomplete": "list" as const, "aria-controls": listId, "aria-activedescendant": chosen ? `${listId}-${place}` : undefined } : {};
  return { list, begin, onKey, follow, described };
}

import { useState } from "react";
import { fileDiff, type Change } from "../core/diff";
import { filesOf } from "../core/entries";
import { within } from "../core/names";
import type { Open } from "../core/store";
import type { Session } from "../core/types";
import type { Answer } from "../api/answers";
import { text } from "../text";
import { Counts, DiffView } from "../ui/DiffView";
import { useClient } from "../ui/hooks";
import { later } from "../ui/later";
import { useAnswer } from "../ui/useAnswer";

/** Blame is loaded when it is shown. */
const Blame = later(async () => (await import("./Blame")).Blame);

type Counted = { path: string; kind: string; added: number; removed: number; alsoIn?: string[] };

const letters: Record<string, string> = { add: "A", added: "A", delete: "D", deleted: "D", renamed: "R" };

type FilesProps = { files: Counted[]; total: { added: number; removed: number }; label: string; shown: string; pick: (path: string) => void; cwd: string | undefined };

function Files({ files, total, label, shown, pick, cwd }: FilesProps) {
  return (
    <>
      <p className="line-row"><span className="dim grow">{label}</span><Counts file={total} /></p>
      <ul className="files">
        {files.map((file) => {
          const path = within(file.path, cwd).split("/");
          return (
            <li key={file.path}>
              <button type="button" className="menu-item" aria-pressed={file.path === shown} title={file.path} onClick={() => pick(file.path)}>
                <b className={`kind ${file.kind}`}>{letters[file.kind] ?? "M"}</b><span className="mono">{path.at(-1)}</span><span className="dim clip grow">{path.slice(0, -1).join("/")}</span>{file.alsoIn?.length ? <span className="dim small">{text.talk.alsoIn}</span> : null}<Counts file={file} />
              </button>
            </li>
          );
        })}
      </ul>
    </>
  );
}

/** Announced are the changes that the agent reported, for a folder that the server does not read; `why` says why. */
function Announced({ open, cwd, why }: { open: Open; cwd: string | undefined; why: string }) {
  const files = filesOf(open.transcript.ids.map((id) => open.transcript.rows.get(id)!.entry)).filter((file) => file.became === "");
  const [picked, pick] = useState<string | null>(null);
  if (files.length === 0) return <><p className="dim">{text.talk.noChanges}</p><p className="dim small">{why}</p></>;
  const diffs = files.map((file) => fileDiff(file.change));
  const total = { added: diffs.reduce((n, d) => n + d.added, 0), removed: diffs.reduce((n, d) => n + d.removed, 0) };
  const shown = files.find((file) => file.path === picked) ?? files[0]!;
  return (
    <>
      <Files files={diffs} total={total} label={text.talk.byAgent} shown={shown.path} pick={pick} cwd={cwd} />
      <DiffView key={shown.path} changes={[shown.change]} cwd={cwd} />
      <p className="dim small">{why}</p>
    </>
  );
}

/** Changes are what differs in the session's folder since its first turn, as the server reads the files. */
export function Changes({ open, session }: { open: Open; session: Session }) {
  const client = useClient();
  const at = `/api/sessions/${encodeURIComponent(session.sessionId)}/changes`;
  const moment = [session.sessionId, session.state, open.tree].join(); // the files differ, or a turn has ended
  const asked = useAnswer(() => client.api.get<Answer<"/api/sessions/{sessionId}/changes">>(at), [at, moment], { every: session.state === "running" ? 5_000 : 0 });
  const [picked, pick] = useState<string | null>(null);
  const [blames, blame] = useState(false);
  const files = asked.answer?.files ?? [];
  const shown = files.find((file) => file.path === picked) ?? files[0];
  const diff = useAnswer(
    async () => (shown ? client.api.get<Answer<"/api/sessions/{sessionId}/changes/diff">>(`${at}/diff?path=${encodeURIComponent(shown.path)}`) : null),
    [at, shown?.path, asked.answer?.tree],
  );
  if (asked.failure && !asked.answer) return <Announced open={open} cwd={session.cwd} why={asked.failure} />;
  if (!asked.answer) return <p className="dim">{text.session.loading}</p>;
  if (!shown) return <p className="dim">{text.talk.noChanges}</p>;
  const change: Change = { path: shown.path, kind: shown.kind, diff: diff.answer?.patch ?? "" };
  return (
    <>
      <Files files={files} total={asked.answer} label={text.talk.sinceStart} shown={shown.path} pick={pick} cwd={undefined} />
      {diff.failure && <p className="bad small" role="alert">{diff.failure}</p>}
      {diff.answer && change.diff && <DiffView key={`${shown.path}${asked.answer.tree}`} changes={[change]} />}
      {!shown.binary && shown.kind !== "deleted" && <button type="button" className="quiet" aria-expanded={blames} onClick={() => blame(!blames)}>{text.talk.whoWrote}</button>}
      {blames && !shown.binary && shown.kind !== "deleted" && <Blame sessionId={session.sessionId} path={shown.path} tree={asked.answer.tree ?? ""} />}
      {shown.binary && <p className="dim small">{text.talk.binary}</p>}
      {asked.answer.skipped.length > 0 && <p className="dim small" title={asked.answer.skipped.join("\n")}>{text.talk.skipped(asked.answer.skipped.length)}</p>}
    </>
  );
}

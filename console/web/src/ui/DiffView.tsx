import { memo, useMemo, useState } from "react";
import { Virtualizer } from "virtua";
import { fileDiff, pairs, type Change, type DiffPair, type DiffRow, type FileDiff } from "../core/diff";
import { within } from "../core/names";
import { text } from "../text";
import { Icon } from "./Icon";
import { usePreferences } from "./preferences";

const folded = 500;
const signs = { add: "+", del: "−", same: " ", hunk: "" } as const;

export function Counts({ file }: { file: Pick<FileDiff, "added" | "removed"> }) {
  return <span className="counts">{(file.added > 0 || file.removed === 0) && <ins>+{file.added}</ins>} {file.removed > 0 && <del>−{file.removed}</del>}</span>;
}

const unified = (row: DiffRow, i: number) => (
  <div key={i} className={`dl ${row.kind}`}>
    <span className="no">{row.old ?? ""}</span>
    <span className="no">{row.new ?? ""}</span>
    <span className="sign">{signs[row.kind]}</span>
    <span className="line">{row.text}</span>
  </div>
);

function Half({ row, no }: { row: DiffRow | undefined; no: number | undefined }) {
  return (
    <div className={`half ${row?.kind ?? "none"}`}>
      <span className="no">{no ?? ""}</span>
      <span className="sign">{row ? signs[row.kind] : ""}</span>
      <span className="line">{row?.text}</span>
    </div>
  );
}

const beside = (pair: DiffPair, i: number) =>
  pair.hunk !== undefined ? <div key={i} className="dl hunk"><span className="line">{pair.hunk}</span></div> : (
    <div key={i} className="pair"><Half row={pair.left} no={pair.left?.old} /><Half row={pair.right} no={pair.right?.new} /></div>
  );

const Lines = memo(function Lines({ file, split }: { file: FileDiff; split: boolean }) {
  const rows = useMemo(() => (split ? pairs(file.rows).map(beside) : file.rows.map(unified)), [file, split]);
  return <div className="diff-lines" data-split={split || undefined} tabIndex={0}>{rows.length > 200 ? <Virtualizer>{rows}</Virtualizer> : rows}</div>;
});

type FileProps = { file: FileDiff; path: string; split: boolean; opened: boolean; state: string; bad: boolean };

function File({ file, path, split, opened, state, bad }: FileProps) {
  const [open, setOpen] = useState(opened && file.rows.length <= folded);
  return (
    <details className="file" open={open} onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>
        {bad ? <span className="mark bad"><Icon name="circle-x" /></span> : <Icon name={open ? "chevron-down" : "chevron-right"} />}
        <span className="mono clip" title={file.path}>{path}</span>
        {!bad && <Counts file={file} />}
        <span className="card-end">{state}</span>
      </summary>
      {open && <Lines file={file} split={split} />}
    </details>
  );
}

type DiffProps = {
  changes: Change[];
  /** The session's folder: paths are shown from there. */
  cwd?: string | undefined;
  /** What became of the changes, in a word; those that were not made are `bad`, and folded. */
  state?: string;
  bad?: boolean;
};

/** DiffView shows changes of files, each with one head; all are listed, large ones are opened on demand. */
export function DiffView({ changes, cwd, state = "", bad = false }: DiffProps) {
  const files = useMemo(() => changes.map(fileDiff), [changes]);
  const [{ split }, change] = usePreferences();
  const replaces = !bad && files.some((file) => file.added > 0 && file.removed > 0);
  return (
    <div className="diff">
      {files.map((file) => <File key={file.path} file={file} path={within(file.path, cwd)} split={split} opened={!bad} state={state} bad={bad} />)}
      {replaces && <button type="button" className="quiet side-by-side" aria-pressed={split} onClick={() => change({ split: !split })}>{split ? text.diff.unified : text.diff.split}</button>}
    </div>
  );
}
